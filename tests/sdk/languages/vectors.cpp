// Reads commands of one line each, and prints a line of JSON for each: see tests/sdk/test_vectors_in_languages.py.
#include <iostream>

#include "getstep.hpp"

using namespace getstep;
using namespace getstep::detail;

static std::string unhex(const std::string& digits) {
    std::string bytes;
    for (std::size_t n = 0; n + 1 < digits.size(); n += 2)
        bytes += static_cast<char>(std::stoi(digits.substr(n, 2), nullptr, 16));
    return bytes;
}

static std::string hexed(const std::string& bytes) {
    return hex(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

static std::string quoted(const std::string& text) {
    std::string made = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') made += '\\';
        if (static_cast<unsigned char>(c) < 0x20) made += format("\\u%04x", static_cast<unsigned>(c));
        else made += c;
    }
    return made + '"';
}

static std::string json(const Value& value) {
    std::string made;
    switch (value.kind()) {
        case Value::Kind::nil: return "null";
        case Value::Kind::boolean: return value.as_boolean() ? "true" : "false";
        case Value::Kind::integer: return std::to_string(value.as_integer());
        case Value::Kind::big: return std::to_string(value.as_big());
        case Value::Kind::real:
            made = std::isfinite(value.as_real()) ? format("%.17g", value.as_real()) : "0";
            return made.find_first_of(".e") == std::string::npos ? made + ".0" : made;
        case Value::Kind::text: return quoted(value.as_text());
        case Value::Kind::array:
            for (const Value& item : value.items()) made += (made.empty() ? "" : ",") + json(item);
            return "[" + made + "]";
        case Value::Kind::map:
            for (std::size_t n = 0; n < value.items().size(); ++n)
                made += (n ? "," : "") + quoted(value.keys()[n]) + ":" + json(value.items()[n]);
    }
    return "{" + made + "}";
}

static std::string field(const Value& map, const char* name) { return map.find(name)->as_text(); }

static std::string type_of(const Message& message) {
    static const char* names[] = {"hello", "welcome", "start", "get_step", "penalty", "end", "notice", "goodbye"};
    return names[message.index()];
}

static std::string stream(const std::string& bytes) {
    FrameReader reader;
    reader.feed(bytes.data(), bytes.size());
    std::string bodies, body, code = "null";
    try {
        while (reader.next_body(body)) bodies += (bodies.empty() ? "" : ",") + quoted(hexed(body));
    } catch (const ProtocolError& error) {
        code = quoted(error.code);
    }
    const bool partial = code == "null" && reader.partial();
    return "{\"bodies\":[" + bodies + "],\"code\":" + code + ",\"partial\":" + (partial ? "true" : "false") + "}";
}

static std::string conversation(const Value& frames) {
    Conversation client;
    std::string types;
    for (const Value& frame : frames.items()) {
        const std::string bytes = unhex(field(frame, "bytes"));
        if (field(frame, "from") == "server") {
            for (const char byte : bytes) {
                client.feed(&byte, 1);
                while (const std::optional<Message> message = client.next())
                    types += (types.empty() ? "" : ",") + quoted(type_of(*message));
            }
        } else if (client.state() == Conversation::State::login) {
            client.joined();
        } else if (bytes.substr(4, 1) != "T") {  // "GET / HTTP", which no client of ours sends
            const std::int64_t id = decode_body(bytes.substr(4)).find("id")->as_integer();
            if (id != client.question() && !client.may_answer_late(id)) throw std::runtime_error("out of turn");
            client.answered(id);
        }
    }
    return "{\"messages\":[" + types + "]}";
}

static int number(const Value& value) { return static_cast<int>(value.as_integer()); }

/// Return the frame of an answer with the notes of some calls, and what the author reads.
static std::string noted(const Value& given) {
    std::string lines;
    Notes collected([&](const std::string& line) { lines += (lines.empty() ? "" : ",") + quoted(line); });
    getstep::Board board;
    for (const Value& row : given.find("board")->items()) board.emplace_back(row.items().size());
    collected.begin(board);
    for (const Value& call : given.find("calls")->items()) {
        const std::vector<Value>& values = call.items();
        const std::string& name = values[0].as_text();
        if (name == "say") collected.say(values[1].as_text());
        else if (name == "estimate") collected.estimate(values[1].is(Value::Kind::real) ? values[1].as_real() : number(values[1]));
        else if (name == "tag") collected.tag(values[1].as_text());
        else if (name == "end") collected.end();
        else {
            getstep::Board squares;
            for (const Value& square : values[1].items()) {
                if (square.is(Value::Kind::integer)) {
                    squares = {{number(square), number(values[1].items()[1])}};
                    break;
                }
                squares.emplace_back();
                for (const Value& place : square.items()) squares.back().push_back(number(place));
            }
            const Value& label = values[2];
            collected.draw(squares,
                           label.is(Value::Kind::real)      ? getstep::detail::label_value(label.as_real())
                           : label.is(Value::Kind::integer) ? getstep::detail::label_value(label.as_integer())
                                                            : label,
                           values[3].as_text(), values[4].as_text());
        }
    }
    const Value& move = *given.find("move");
    const std::size_t room = max_client_frame - (step_frame(31, move).size() - header_bytes) - 6;
    const std::string frame = collected.end() ? step_frame(31, move, collected.take(room)) : step_frame(31, move);
    return "{\"frame\":" + quoted(hexed(frame)) + ",\"lines\":[" + lines + "]}";
}

static std::string answer(const std::string& command, const std::string& argument) {
    if (command == "body") return "{\"value\":" + json(decode_body(unhex(argument))) + "}";
    if (command == "message") {
        const Value map = decode_body(unhex(argument));
        const Value* type = map.find("type");
        // A conversation that allows this message: it was given what comes before.
        static const std::map<std::string, int> known = {{"hello", 0}, {"welcome", 0}, {"start", 0}, {"get_step", 0},
                                                         {"penalty", 0}, {"end", 0}, {"notice", 0}, {"goodbye", 0}};
        if (!type || !type->is(Value::Kind::text) || !known.count(type->as_text()))
            throw ProtocolError("unknown_type", "");
        if (type_of(message_of(map, type->as_text())) != type->as_text()) throw std::runtime_error("another message");
        return "{\"message\":" + json(map) + "}";
    }
    if (command == "stream") return stream(unhex(argument));
    const Value data = command == "sha256" ? Value() : Json::parse(argument);
    if (command == "sent") {
        try {
            return "{\"frame\":" + quoted(hexed(encode_frame(data))) + "}";
        } catch (const Unsendable&) {
            return "{\"refused\":true}";
        }
    }
    if (command == "signature") {
        const std::string token = canonical_token(field(data, "typed")), nonce = field(data, "nonce");
        const std::string own = field(data, "client_nonce"), dialled = field(data, "dialled");
        return "{\"token\":" + quoted(token) + ",\"mac\":" + quoted(sign(token, nonce, "")) +
               ",\"proof\":" + quoted(server_proof(token, nonce, own, "")) +
               ",\"dialled_mac\":" + quoted(sign(token, nonce, dialled)) +
               ",\"dialled_proof\":" + quoted(server_proof(token, nonce, own, dialled)) + "}";
    }
    if (command == "nonce") return Fields::hex("nonce", data, nonce_digits), "{}";
    if (command == "sha256") {
        const Digest digest = sha256(unhex(argument));
        return "{\"digest\":" + quoted(hex(digest.data(), digest.size())) + "}";
    }
    if (command == "conversation") return conversation(data);
    if (command == "notes") return noted(data);
    if (command == "escaped") return "{\"text\":" + quoted(escaped(data.as_text())) + "}";
    if (command == "trace") return "{\"text\":" + quoted(trace_text(data.as_text())) + "}";
    if (command == "duration") return "{\"text\":" + quoted(duration(data.is(Value::Kind::real) ? data.as_real() : static_cast<double>(data.as_integer()))) + "}";
    return "{\"unknown\":true}";
}

int main() {
    for (std::string line; std::getline(std::cin, line);) {
        const std::size_t space = std::min(line.find(' '), line.size());
        const std::string argument = space < line.size() ? line.substr(space + 1) : "";
        try {
            std::cout << answer(line.substr(0, space), argument) << '\n';
        } catch (const ProtocolError& error) {
            std::cout << "{\"code\":" << quoted(error.code) << "}\n";
        } catch (const std::exception& error) {
            std::cout << "{\"failed\":" << quoted(error.what()) << "}\n";
        }
    }
    return 0;
}
