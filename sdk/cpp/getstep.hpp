// getstep for C++: play in a getstep bot contest. You write one function, which returns a move.
//
//     #include "getstep.hpp"
//
//     std::vector<std::vector<int>> GetStep(std::vector<std::vector<int>>& board, bool is_black) {
//         return {{4, 2}, {4, 3}};
//     }
//
//     int main(int argc, char** argv) { return getstep::play(argc, argv, GetStep); }
//
// This file is all you need: C++17; Linux, macOS, Windows. To build and to play:
//
//     Linux    g++ -std=c++17 -O2 -pthread -o my_bot my_bot.cpp
//     macOS    clang++ -std=c++17 -O2 -pthread -o my_bot my_bot.cpp
//     Windows  cl /std:c++17 /O2 /EHsc my_bot.cpp
//              g++ -std=c++17 -O2 -static -o my_bot.exe my_bot.cpp -lws2_32
//
// For a contest with TLS (--tls, --tls-pin), the bot takes OpenSSL: its development files (sudo apt install libssl-dev),
// and a build with -DGETSTEP_TLS before the bot's file, and -lssl -lcrypto after it.
//
//     ./my_bot --host 192.168.1.10 --team 7 --token kq3m-x7fd-29pt
//
// The first part of the file is for you. Everything in the namespace getstep::detail may change.
//
// SPDX-License-Identifier: MIT
#ifndef GETSTEP_HPP
#define GETSTEP_HPP

#define GETSTEP_VERSION "0.1.0"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

#ifdef _WIN32
#ifndef NOMINMAX
#define NOMINMAX
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <winsock2.h>  // before windows.h: include getstep.hpp first
#include <ws2tcpip.h>
#include <mstcpip.h>
#include <tlhelp32.h>
#ifdef _MSC_VER
#pragma comment(lib, "ws2_32.lib")
#pragma warning(push)
#pragma warning(disable : 4996)  // getenv, fopen, localtime: standard C++, which Visual Studio advises against
#endif
#else
#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#endif
#ifdef GETSTEP_TLS
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#endif
#ifdef __APPLE__
#include <crt_externs.h>
#include <mach-o/dyld.h>
#include <sys/sysctl.h>
#endif
#if defined(__GNUC__) || defined(__clang__)
#include <cxxabi.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define GETSTEP_SANITIZED  // the sanitizer reports crashes, with the line
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GETSTEP_SANITIZED
#endif
#endif

namespace getstep {

/// board[row][column], row 0 at the top. It is a copy, which your function may change.
using Board = std::vector<std::vector<int>>;

/// A row and a column, counted from 0.
using Square = std::pair<int, int>;

/// A value of the wire: nil, a boolean, a number, a text, an array or a map with texts as keys.
class Value {
public:
    enum class Kind { nil, boolean, integer, big, real, text, array, map };

    Value() = default;
    static Value boolean(bool value) {
        Value made(Kind::boolean);
        made.integer_ = value ? 1 : 0;
        return made;
    }
    static Value integer(std::int64_t value) {
        Value made(Kind::integer);
        made.integer_ = value;
        return made;
    }
    /// An integer from 2^63 to 2^64 - 1; smaller ones become `integer`.
    static Value big(std::uint64_t value) {
        if (value <= static_cast<std::uint64_t>((std::numeric_limits<std::int64_t>::max)()))
            return integer(static_cast<std::int64_t>(value));
        Value made(Kind::big);
        std::memcpy(&made.integer_, &value, sizeof value);
        return made;
    }
    static Value real(double value) {
        Value made(Kind::real);
        made.real_ = value;
        return made;
    }
    static Value text(std::string value) {
        Value made(Kind::text);
        made.text_ = std::move(value);
        return made;
    }
    static Value array(std::vector<Value> items = {}) {
        Value made(Kind::array);
        made.items_ = std::move(items);
        return made;
    }
    static Value map() { return Value(Kind::map); }

    Kind kind() const { return kind_; }
    bool is(Kind kind) const { return kind_ == kind; }
    bool as_boolean() const { return integer_ != 0; }
    std::int64_t as_integer() const { return integer_; }
    std::uint64_t as_big() const { return static_cast<std::uint64_t>(integer_); }
    double as_real() const { return real_; }
    const std::string& as_text() const { return text_; }
    /// The elements of an array, or the values of a map.
    const std::vector<Value>& items() const { return items_; }
    std::vector<Value>& items() { return items_; }
    /// The keys of a map, in the order of `items`.
    const std::vector<std::string>& keys() const { return keys_; }

    /// Add an entry to a map.
    void add(std::string key, Value value) {
        keys_.push_back(std::move(key));
        items_.push_back(std::move(value));
    }
    /// Return the value of a key of a map, or nullptr.
    const Value* find(const std::string& key) const {
        for (std::size_t n = 0; n < keys_.size(); ++n)
            if (keys_[n] == key) return &items_[n];
        return nullptr;
    }
    friend bool operator==(const Value& a, const Value& b) {
        return a.kind_ == b.kind_ && a.integer_ == b.integer_ && !(a.real_ < b.real_) && !(b.real_ < a.real_) &&
               a.text_ == b.text_ && a.keys_ == b.keys_ && a.items_ == b.items_;
    }
    friend bool operator!=(const Value& a, const Value& b) { return !(a == b); }

private:
    explicit Value(Kind kind) : kind_(kind) {}

    Kind kind_ = Kind::nil;
    std::int64_t integer_ = 0;
    double real_ = 0;
    std::string text_;
    std::vector<std::string> keys_;
    std::vector<Value> items_;
};

/// More about the turn: the third parameter of your function, if it has one.
struct Turn {
    std::string game;                    ///< such as "hop"
    std::int64_t match = 0;              ///< the match number
    std::int64_t move_number = 0;        ///< 1 for the match's first turn; both players' turns count
    std::string opponent;                ///< the other team's name
    Value last_move;                     ///< the opponent's last move as it was sent; nil if there was none
    Board last_squares;                  ///< the squares in it, in order: {{row, column}, ...}
    std::string last_colour;             ///< the colour in it, for linkage: "R", "B", "G" or "Y"
    std::int64_t time_left_ms = 0;       ///< for this move; if the limit is for the whole match, the rest of it
    std::map<std::string, std::int64_t> options;  ///< the game's options, such as {"size", 8}
    std::int64_t increment_ms = 0;       ///< is added to a limit for the whole match after each answer in time
    std::vector<Value> opening;          ///< the moves that the server has played from the start of the game, as sent
    std::vector<Board> opening_squares;  ///< the squares in each of them, in order
};

namespace detail {

template <class T, class = void>
struct is_tuple : std::false_type {};
template <class T>
struct is_tuple<T, std::void_t<decltype(std::tuple_size<T>::value)>> : std::true_type {};

template <class T, class = void>
struct is_range : std::false_type {};
template <class T>
struct is_range<T, std::void_t<decltype(std::begin(std::declval<const T&>()), std::end(std::declval<const T&>()))>>
    : std::true_type {};

}  // namespace detail

/// A move. It is made of whatever your function returns: vectors, pairs, tuples, arrays, numbers, texts.
///
///     std::vector<int>{3, 4}                           a square
///     std::vector<std::vector<int>>{{4, 2}, {4, 3}}    a path
///     getstep::domino("R", {0, 0}, {0, 1})             a domino of linkage
class Move {
public:
    template <class T, class = std::enable_if_t<!std::is_same_v<std::decay_t<T>, Move>>>
    Move(const T& value) : value_(of(value)) {}  // not explicit: a function may return any of these types

    const Value& value() const { return value_; }

private:
    template <class T>
    static Value of(const T& value) {
        if constexpr (std::is_same_v<T, Value>) {
            return value;
        } else if constexpr (std::is_same_v<T, Move>) {
            return value.value();
        } else if constexpr (std::is_same_v<T, std::nullptr_t>) {
            return Value();
        } else if constexpr (std::is_same_v<T, bool>) {
            return Value::boolean(value);
        } else if constexpr (std::is_same_v<T, char>) {
            return Value::text(std::string(1, value));
        } else if constexpr (std::is_enum_v<T>) {
            return of(static_cast<std::underlying_type_t<T>>(value));
        } else if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T>) {
            return Value::big(value);
        } else if constexpr (std::is_integral_v<T>) {
            return Value::integer(value);
        } else if constexpr (std::is_floating_point_v<T>) {
            return Value::real(static_cast<double>(value));
        } else if constexpr (std::is_convertible_v<const T&, std::string>) {
            return Value::text(value);
        } else if constexpr (detail::is_tuple<T>::value) {
            return std::apply(
                [](const auto&... parts) {
                    return Value::array({of(parts)...});
                },
                value);
        } else {
            static_assert(detail::is_range<T>::value, "a move is made of vectors, pairs, tuples, numbers and texts");
            Value made = Value::array();
            for (const auto& item : value) made.items().push_back(of(static_cast<std::decay_t<decltype(item)>>(item)));
            return made;
        }
    }

    Value value_;
};

/// Return a move of linkage: a colour, "R", "B", "G" or "Y", and two squares.
inline Move domino(const std::string& colour, Square first, Square second) {
    return std::make_tuple(colour, first, second);
}

namespace detail {

// --- limits: protocol.md, "Limits" -----------------------------------------------------------------------------

constexpr int protocol_version = 1;
constexpr std::size_t header_bytes = 4;
constexpr std::size_t max_client_frame = 4096;
constexpr std::size_t max_server_frame = 16384;
constexpr std::size_t max_depth = 8;
constexpr std::size_t max_array = 128;
constexpr std::size_t max_map = 32;
constexpr std::size_t max_text = 500;
constexpr std::size_t max_name = 64;
constexpr std::size_t max_opening = 20;
constexpr std::size_t max_text_bytes = 2000;
constexpr std::int64_t max_id = 2147483647;
constexpr std::int64_t max_ms = 86400000;
constexpr std::int64_t max_cell = 2147483647;
constexpr std::size_t nonce_digits = 32;
constexpr std::size_t mac_digits = 64;
constexpr std::size_t notes_bytes = 3584;  // of 4,096 of a frame: the longest move of a game takes 400
constexpr std::size_t max_said = 1000;     // characters
constexpr std::size_t max_drawings = 64;
constexpr std::size_t max_squares = 64;
constexpr std::size_t max_arrow = 16;  // squares
constexpr int max_side = 128;          // rows and columns
constexpr std::size_t max_label = 8;
constexpr std::size_t max_tags = 8;  // of a move
constexpr std::size_t max_tag = 24;

// --- times, as those of the Python SDK ---------------------------------------------------------------------------

constexpr double connect_seconds = 5;   // for each address of the host's name
constexpr double hello_seconds = 5;     // from the open connection to `hello`
constexpr double welcome_seconds = 10;  // a wrong login is answered after up to 8 s
constexpr double send_seconds = 5;      // for one answer, which fits into every network buffer
constexpr double tick_seconds = 0.2;    // the longest single wait
constexpr double first_pause_seconds = 0.2;
constexpr double longest_pause_seconds = 5;
constexpr double shortest_retry_seconds = 1;
constexpr double longest_retry_seconds = 60;
constexpr double steady_seconds = 10;  // an unproved connection makes pauses short again only if it lasted that long
constexpr double jitter = 0.1;
constexpr double last_call_seconds = 1;  // after the contest, for a function that is still running
constexpr double restart_seconds = 10;   // after the limit of a question: the function is taken for hung
constexpr double longest_restart_seconds = 86400;
constexpr int stalled_misses = 3;
constexpr int boards_drawn = 3;

// --- errors ------------------------------------------------------------------------------------------------------

/// What the server sent is against the protocol. `code` is a hostile code of protocol.md.
struct ProtocolError : std::runtime_error {
    ProtocolError(std::string code_, const std::string& detail)
        : std::runtime_error(code_ + ": " + detail), code(std::move(code_)) {}
    std::string code;
};

/// A move cannot be sent.
struct Unsendable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The program ends with `exit_code`, after a message to its author.
struct Stop : std::runtime_error {
    Stop(int code, const std::string& message) : std::runtime_error(message), exit_code(code) {}
    int exit_code;
};

/// A connection has failed; the message says why, for the bot's author.
struct ConnectionFailed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The name of the host does not resolve.
struct Unreachable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// --- text --------------------------------------------------------------------------------------------------------

/// Return the length of the UTF-8 sequence at `at`, and its code point; 0 if it is none.
inline std::size_t utf8_at(const std::string& text, std::size_t at, std::uint32_t& point) {
    const auto byte = [&](std::size_t n) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[n])); };
    const std::uint32_t first = byte(at);
    if (first < 0x80) {
        point = first;
        return 1;
    }
    const std::size_t length = first >= 0xF5 ? 0 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
    if (length == 0 || text.size() - at < length) return 0;
    point = first & (0xFFu >> (length + 1));
    for (std::size_t n = 1; n < length; ++n) {
        if ((byte(at + n) & 0xC0u) != 0x80u) return 0;
        point = (point << 6) | (byte(at + n) & 0x3Fu);
    }
    const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
    const bool impossible = point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF);
    return overlong || impossible ? 0 : length;
}

/// Return the number of code points; -1 if the text is not UTF-8.
inline std::int64_t count_characters(const std::string& text) {
    std::int64_t count = 0;
    std::uint32_t point = 0;
    for (std::size_t at = 0; at < text.size(); ++count) {
        const std::size_t length = utf8_at(text, at, point);
        if (length == 0) return -1;
        at += length;
    }
    return count;
}

inline void append_utf8(std::string& text, std::uint32_t point) {
    const auto put = [&](std::uint32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
    if (point < 0x80) {
        put(point);
    } else if (point < 0x800) {
        put(0xC0 | (point >> 6));
        put(0x80 | (point & 0x3F));
    } else if (point < 0x10000) {
        put(0xE0 | (point >> 12));
        put(0x80 | ((point >> 6) & 0x3F));
        put(0x80 | (point & 0x3F));
    } else {
        put(0xF0 | (point >> 18));
        put(0x80 | ((point >> 12) & 0x3F));
        put(0x80 | ((point >> 6) & 0x3F));
        put(0x80 | (point & 0x3F));
    }
}

template <class... Arguments>
std::string format(const char* pattern, Arguments... arguments) {
    char buffer[512];
    std::snprintf(buffer, sizeof buffer, pattern, arguments...);
    return buffer;
}

/// Return true for control, bidi and other invisible characters, which a terminal must not get from a server.
inline bool is_invisible(std::uint32_t point) {
    static const std::uint32_t ranges[][2] = {
        {0x00, 0x1F},     {0x7F, 0xA0},     {0xAD, 0xAD},     {0x600, 0x605},   {0x61C, 0x61C},
        {0x6DD, 0x6DD},   {0x70F, 0x70F},   {0x1680, 0x1680}, {0x180E, 0x180E}, {0x2000, 0x200F},
        {0x2028, 0x202F}, {0x205F, 0x206F}, {0x3000, 0x3000}, {0xE000, 0xF8FF}, {0xFEFF, 0xFEFF},
        {0xFFF0, 0xFFFB}, {0xFFFE, 0xFFFF}, {0x1D173, 0x1D17A}, {0xE0000, 0x10FFFF}};
    for (const auto& range : ranges)
        if (point >= range[0] && point <= range[1]) return true;
    return false;
}

/// Return `text` with invisible characters and bytes that are not UTF-8 escaped, so that it is safe to print.
inline std::string escaped(const std::string& text) {
    std::string safe;
    std::uint32_t point = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_at(text, at, point);
        if (length == 0) {
            safe += format("\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(text[at])));
            ++at;
            continue;
        }
        if (!is_invisible(point)) safe.append(text, at, length);
        else if (point == '\n') safe += "\\n";
        else if (point == '\t') safe += "\\t";
        else if (point == '\r') safe += "\\r";
        else if (point < 0x100) safe += format("\\x%02x", static_cast<unsigned>(point));
        else if (point < 0x10000) safe += format("\\u%04x", static_cast<unsigned>(point));
        else safe += format("\\U%08x", static_cast<unsigned>(point));
        at += length;
    }
    return safe;
}

/// Return the first `most` characters as valid UTF-8, for a text field on the wire.
inline std::string sendable_text(const std::string& text, std::size_t most = max_text) {
    std::string made;
    std::size_t count = 0;
    std::uint32_t point = 0;
    for (std::size_t at = 0; at < text.size() && count < most;) {
        const std::size_t length = utf8_at(text, at, point);
        if (length == 0) {
            if (count + 4 > most) break;
            made += format("\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(text[at])));
            count += 4;
            ++at;
            continue;
        }
        made.append(text, at, length);
        at += length;
        ++count;
    }
    return made;
}

/// Return the start of a text: at most so many characters and bytes, of which the last may be cut.
inline std::string cut_text(const std::string& text, std::size_t characters, std::size_t bytes) {
    if (text.size() <= characters && text.size() <= bytes) return text;
    std::size_t end = 0;
    std::uint32_t point = 0;
    for (std::size_t n = 0; n < characters && end < text.size(); ++n) {
        const std::size_t length = (std::max)(utf8_at(text, end, point), std::size_t{1});
        if (end + length > bytes) break;
        end += length;
    }
    return text.substr(0, end);
}

inline void append_repr(std::string& text, const Value& value, std::size_t depth) {
    if (text.size() > 200) return;
    switch (value.kind()) {
        case Value::Kind::nil: text += "nil"; break;
        case Value::Kind::boolean: text += value.as_boolean() ? "true" : "false"; break;
        case Value::Kind::integer: text += std::to_string(value.as_integer()); break;
        case Value::Kind::big: text += std::to_string(value.as_big()); break;
        case Value::Kind::real: text += format("%g", value.as_real()); break;
        case Value::Kind::text: text += '"' + escaped(sendable_text(value.as_text(), 120)) + '"'; break;
        case Value::Kind::array:
        case Value::Kind::map: {
            const bool is_map = value.is(Value::Kind::map);
            text += is_map ? '{' : '[';
            for (std::size_t n = 0; n < value.items().size(); ++n) {
                if (n > 0) text += ", ";
                if (n == 12 || depth == 0) {
                    text += "...";
                    break;
                }
                if (is_map) text += '"' + escaped(sendable_text(value.keys()[n], 120)) + "\": ";
                append_repr(text, value.items()[n], depth - 1);
            }
            text += is_map ? '}' : ']';
        }
    }
}

/// Return a value on one line and shortened.
inline std::string short_repr(const Value& value) {
    std::string text;
    append_repr(text, value, 4);
    if (text.size() <= 200) return text;
    std::size_t end = 200;  // not inside a character
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u) --end;
    return text.substr(0, end) + "...";
}

inline std::string short_repr(const std::string& text) { return short_repr(Value::text(text)); }

/// Return a time in milliseconds for people: "0.8 ms", "35 ms", "0.35 s", "20 s".
inline std::string duration(double ms) {
    if (ms > 0 && ms < 0.1) return "under 0.1 ms";
    if (ms > 0 && ms < 100) return format(ms < 10 ? "%.1f ms" : "%.0f ms", ms);
    std::string text = format("%.2f", ms / 1000);
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
    return text + " s";
}

inline std::string without_last_point(std::string text) {
    while (!text.empty() && text.back() == '.') text.pop_back();
    return text;
}

inline std::string trimmed(const std::string& text) {
    const char* blanks = " \t\r\n\f\v";
    const std::size_t from = text.find_first_not_of(blanks);
    return from == std::string::npos ? "" : text.substr(from, text.find_last_not_of(blanks) - from + 1);
}

// --- SHA-256 and HMAC (FIPS 180-4, RFC 2104) -----------------------------------------------------------------------

using Digest = std::array<unsigned char, 32>;

inline Digest sha256(const std::string& message) {
    static const std::uint32_t k[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    std::uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::string data = message;
    data += '\x80';
    while (data.size() % 64 != 56) data += '\0';
    const std::uint64_t bits = static_cast<std::uint64_t>(message.size()) * 8;
    for (int shift = 56; shift >= 0; shift -= 8) data += static_cast<char>(static_cast<unsigned char>(bits >> shift));
    const auto rotated = [](std::uint32_t x, int n) { return (x >> n) | (x << (32 - n)); };
    for (std::size_t block = 0; block < data.size(); block += 64) {
        std::uint32_t w[64];
        for (std::size_t n = 0; n < 16; ++n) {
            w[n] = 0;
            for (std::size_t b = 0; b < 4; ++b)
                w[n] = (w[n] << 8) | static_cast<unsigned char>(data[block + 4 * n + b]);
        }
        for (std::size_t n = 16; n < 64; ++n) {
            const std::uint32_t s0 = rotated(w[n - 15], 7) ^ rotated(w[n - 15], 18) ^ (w[n - 15] >> 3);
            const std::uint32_t s1 = rotated(w[n - 2], 17) ^ rotated(w[n - 2], 19) ^ (w[n - 2] >> 10);
            w[n] = w[n - 16] + s0 + w[n - 7] + s1;
        }
        std::uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], last = h[7];
        for (std::size_t n = 0; n < 64; ++n) {
            const std::uint32_t s1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
            const std::uint32_t t1 = last + s1 + ((e & f) ^ (~e & g)) + k[n] + w[n];
            const std::uint32_t s0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
            const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
            last = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
        }
        h[0] += a, h[1] += b, h[2] += c, h[3] += d, h[4] += e, h[5] += f, h[6] += g, h[7] += last;
    }
    Digest digest{};
    for (std::size_t n = 0; n < 32; ++n) digest[n] = static_cast<unsigned char>(h[n / 4] >> (24 - 8 * (n % 4)));
    return digest;
}

inline std::string hex(const unsigned char* data, std::size_t size) {
    std::string text;
    for (std::size_t n = 0; n < size; ++n) text += format("%02x", static_cast<unsigned>(data[n]));
    return text;
}

/// Return HMAC-SHA256 as hexadecimal digits.
inline std::string hmac(const std::string& key, const std::string& message) {
    const auto bytes = [](const Digest& digest) { return std::string(digest.begin(), digest.end()); };
    std::string block = key.size() > 64 ? bytes(sha256(key)) : key;
    block.resize(64, '\0');
    std::string inner = block, outer = block;
    for (char& byte : inner) byte = static_cast<char>(byte ^ 0x36);
    for (char& byte : outer) byte = static_cast<char>(byte ^ 0x5c);
    const Digest digest = sha256(outer + bytes(sha256(inner + message)));
    return hex(digest.data(), digest.size());
}

/// Return the client's signature; `dialled` is empty if `join` has no address.
inline std::string sign(const std::string& token, const std::string& nonce, const std::string& dialled) {
    return hmac(token, dialled.empty() ? nonce : "getstep login v2:" + nonce + dialled);
}

/// Return the server's proof that it knows the token. The text before the nonces is no hexadecimal digits, so that a
/// client's signature can never be passed off as a proof.
inline std::string server_proof(const std::string& token, const std::string& hello, const std::string& join,
                                const std::string& dialled) {
    if (dialled.empty()) return hmac(token, "getstep server proof v1:" + hello + join);
    return hmac(token, "getstep server proof v2:" + hello + join + dialled);
}

/// The fencing number that a server has proved, and the certificate with it; 0 if no computer has taken over.
struct Fence {
    std::int64_t number = 0;
    std::string certificate;
};

inline std::string fence_proof(const std::string& token, const std::string& hello, const std::string& join, const Fence& fence) {
    return hmac(token, "getstep fence v1:" + hello + join + std::to_string(fence.number) + ":" + fence.certificate);
}

/// Compare in a time that does not depend on where the texts differ.
inline bool same_secret(const std::string& a, const std::string& b) {
    if (a.size() != b.size()) return false;
    unsigned difference = 0;
    for (std::size_t n = 0; n < a.size(); ++n) difference |= static_cast<unsigned char>(a[n] ^ b[n]);
    return difference == 0;
}

inline std::string new_nonce() {
    std::random_device device;
    std::string nonce;
    for (int n = 0; n < 4; ++n) nonce += format("%08x", static_cast<unsigned>(device() & 0xFFFFFFFFu));
    return nonce;
}

/// Return a token that a server has made in lower case with two dashes; any other token unchanged.
inline std::string canonical_token(const std::string& token) {
    std::string letters;
    for (const char c : token) {
        if (c == '-' || std::strchr(" \t\r\n\f\v", c)) continue;
        letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    if (letters.size() != 12 || letters.find_first_not_of("abcdefghjkmnpqrstuvwxyz23456789") != std::string::npos)
        return token;
    return letters.substr(0, 4) + "-" + letters.substr(4, 4) + "-" + letters.substr(8);
}

// --- msgpack, as far as protocol.md uses it ------------------------------------------------------------------------

inline void append_big_endian(std::string& data, std::uint64_t number, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
        data += static_cast<char>(static_cast<unsigned char>(number >> shift));
}

inline void encode_length(std::string& data, std::size_t size, unsigned small, std::size_t below, unsigned wide) {
    if (size < below) {
        data += static_cast<char>(static_cast<unsigned char>(small | size));
    } else {
        data += static_cast<char>(static_cast<unsigned char>(wide));
        append_big_endian(data, size, 2);
    }
}

inline void encode_integer(std::string& data, std::int64_t number) {
    const auto put = [&](unsigned type, int bytes) {
        data += static_cast<char>(static_cast<unsigned char>(type));
        append_big_endian(data, static_cast<std::uint64_t>(number), bytes);
    };
    if (number >= -32 && number < 128) data += static_cast<char>(static_cast<unsigned char>(number & 0xFF));
    else if (number >= 0 && number <= 0xFF) put(0xCC, 1);
    else if (number >= 0 && number <= 0xFFFF) put(0xCD, 2);
    else if (number >= 0 && number <= 0xFFFFFFFF) put(0xCE, 4);
    else if (number >= 0) put(0xCF, 8);
    else if (number >= -0x80) put(0xD0, 1);
    else if (number >= -0x8000) put(0xD1, 2);
    else if (number >= -2147483648LL) put(0xD2, 4);
    else put(0xD3, 8);
}

inline void encode_text(std::string& data, const std::string& text) {
    if (text.size() > max_text_bytes)
        throw Unsendable("a text of " + std::to_string(text.size()) + " bytes, expected at most " +
                         std::to_string(max_text_bytes));
    if (count_characters(text) < 0) throw Unsendable("a text that is not UTF-8");
    if (text.size() >= 32 && text.size() < 256) {
        data += '\xD9';
        append_big_endian(data, text.size(), 1);
    } else {
        encode_length(data, text.size(), 0xA0, 32, 0xDA);
    }
    data += text;
}

/// Append the bytes of `value`, inside `depth` containers. Throws Unsendable for what the server would refuse.
inline void encode_value(std::string& data, const Value& value, std::size_t depth) {
    switch (value.kind()) {
        case Value::Kind::nil: data += '\xC0'; return;
        case Value::Kind::boolean: data += value.as_boolean() ? '\xC3' : '\xC2'; return;
        case Value::Kind::integer: encode_integer(data, value.as_integer()); return;
        case Value::Kind::big:
            data += '\xCF';
            append_big_endian(data, value.as_big(), 8);
            return;
        case Value::Kind::real: {
            std::uint64_t bits = 0;
            const double number = value.as_real();
            std::memcpy(&bits, &number, sizeof bits);
            data += '\xCB';
            append_big_endian(data, bits, 8);
            return;
        }
        case Value::Kind::text: encode_text(data, value.as_text()); return;
        case Value::Kind::array:
        case Value::Kind::map: break;
    }
    if (depth >= max_depth) throw Unsendable("more than " + std::to_string(max_depth) + " containers inside each other");
    const bool is_map = value.is(Value::Kind::map);
    const std::size_t size = value.items().size(), most = is_map ? max_map : max_array;
    if (size > most)
        throw Unsendable((is_map ? "a map of " : "an array of ") + std::to_string(size) + " elements, expected at most " +
                         std::to_string(most));
    encode_length(data, size, is_map ? 0x80 : 0x90, 16, is_map ? 0xDE : 0xDC);
    for (std::size_t n = 0; n < size; ++n) {
        if (is_map) encode_text(data, value.keys()[n]);
        encode_value(data, value.items()[n], depth + 1);
    }
}

/// Return one frame with its header.
inline std::string encode_frame(const Value& message) {
    std::string body, frame;
    encode_value(body, message, 0);
    if (body.size() > max_client_frame)
        throw Unsendable("a frame of " + std::to_string(body.size()) + " bytes, expected at most " +
                         std::to_string(max_client_frame));
    append_big_endian(frame, body.size(), header_bytes);
    return frame + body;
}

/// Decodes one body. First the headers alone are walked, without recursion: after that, the depth and all claimed
/// lengths are known to be small, and decoding may recurse and reserve.
class Decoder {
public:
    explicit Decoder(const std::string& body) : body_(body) {}

    Value decode() {
        walk();
        at_ = 0;
        Value value = next(0);
        if (at_ != body_.size()) throw ProtocolError("bad_msgpack", "bytes after the end of the map");
        if (!value.is(Value::Kind::map)) throw ProtocolError("not_a_map", "something else, expected a map");
        return value;
    }

private:
    struct Header {
        Value::Kind kind = Value::Kind::nil;
        std::uint64_t number = 0;  // bytes of a scalar or text, elements of an array, entries of a map
        unsigned type = 0;
    };

    std::uint64_t take(std::size_t bytes) {
        if (body_.size() - at_ < bytes) throw ProtocolError("bad_msgpack", "the value is cut short");
        std::uint64_t number = 0;
        for (std::size_t n = 0; n < bytes; ++n) number = (number << 8) | static_cast<unsigned char>(body_[at_++]);
        return number;
    }

    /// Read the header at the position: the type byte, and the length if there is one.
    Header header() {
        Header found;
        const unsigned type = found.type = static_cast<unsigned>(take(1));
        const auto with = [&](Value::Kind kind, std::uint64_t number) {
            found.kind = kind;
            found.number = number;
            return found;
        };
        if (type < 0x80 || type >= 0xE0) return with(Value::Kind::integer, 0);
        if (type < 0x90) return claim(with(Value::Kind::map, type & 0x0Fu));
        if (type < 0xA0) return claim(with(Value::Kind::array, type & 0x0Fu));
        if (type < 0xC0) return with(Value::Kind::text, type & 0x1Fu);
        switch (type) {
            case 0xC0: return with(Value::Kind::nil, 0);
            case 0xC2:
            case 0xC3: return with(Value::Kind::boolean, 0);
            case 0xCA: return with(Value::Kind::real, 4);
            case 0xCB: return with(Value::Kind::real, 8);
            case 0xCC:
            case 0xD0: return with(Value::Kind::integer, 1);
            case 0xCD:
            case 0xD1: return with(Value::Kind::integer, 2);
            case 0xCE:
            case 0xD2: return with(Value::Kind::integer, 4);
            case 0xCF:
            case 0xD3: return with(Value::Kind::integer, 8);
            case 0xD9: return claim(with(Value::Kind::text, take(1)));
            case 0xDA: return claim(with(Value::Kind::text, take(2)));
            case 0xDB: return claim(with(Value::Kind::text, take(4)));
            case 0xDC: return claim(with(Value::Kind::array, take(2)));
            case 0xDD: return claim(with(Value::Kind::array, take(4)));
            case 0xDE: return claim(with(Value::Kind::map, take(2)));
            case 0xDF: return claim(with(Value::Kind::map, take(4)));
            default: throw ProtocolError("bad_msgpack", format("type byte 0x%02x: bin and ext are not used here", type));
        }
    }

    static Header claim(const Header& header) {
        const bool is_text = header.kind == Value::Kind::text, is_map = header.kind == Value::Kind::map;
        const std::uint64_t most = is_text ? max_text_bytes : is_map ? max_map : max_array;
        if (header.number > most)
            throw ProtocolError("too_large", std::string(is_text ? "a string" : is_map ? "a map" : "an array") +
                                                 " that claims a length of " + std::to_string(header.number) +
                                                 ", expected at most " + std::to_string(most));
        return header;
    }

    void walk() {
        std::vector<std::uint64_t> above;  // values still to come, of the containers around the innermost
        std::uint64_t left = 1;
        at_ = 0;
        while (at_ < body_.size()) {
            const unsigned type = static_cast<unsigned char>(body_[at_]);
            const bool is_container = (type >= 0x80 && type < 0xA0) || (type >= 0xDC && type <= 0xDF);
            if (is_container && above.size() >= max_depth)
                throw ProtocolError("too_deep", "more than " + std::to_string(max_depth) + " containers inside each other");
            const Header found = header();
            --left;
            if (is_container) {
                const std::uint64_t children = found.kind == Value::Kind::map ? 2 * found.number : found.number;
                if (children > 0) {
                    above.push_back(left);
                    left = children;
                }
            } else {
                at_ += (std::min<std::size_t>)(static_cast<std::size_t>(found.number), body_.size() - at_);
            }
            while (left == 0) {
                if (above.empty()) return;
                left = above.back();
                above.pop_back();
            }
        }
    }

    Value next(std::size_t depth) {
        const Header found = header();
        const unsigned type = found.type;
        switch (found.kind) {
            case Value::Kind::nil: return Value();
            case Value::Kind::boolean: return Value::boolean(type == 0xC3);
            case Value::Kind::big:
            case Value::Kind::integer: return integer(found);
            case Value::Kind::real: return real(found);
            case Value::Kind::text: return Value::text(text(found));
            case Value::Kind::array:
            case Value::Kind::map: break;
        }
        if (depth >= max_depth) throw ProtocolError("too_deep", "too many containers inside each other");
        return found.kind == Value::Kind::array ? array(found, depth) : map(found, depth);
    }

    Value integer(const Header& found) {
        if (found.number == 0) return Value::integer(found.type < 0x80 ? static_cast<int>(found.type) : static_cast<int>(found.type) - 256);
        const std::uint64_t bits = take(static_cast<std::size_t>(found.number));
        switch (found.type) {
            case 0xD0: return Value::integer(static_cast<std::int8_t>(static_cast<std::uint8_t>(bits)));
            case 0xD1: return Value::integer(static_cast<std::int16_t>(static_cast<std::uint16_t>(bits)));
            case 0xD2: return Value::integer(static_cast<std::int32_t>(static_cast<std::uint32_t>(bits)));
            case 0xD3: return Value::integer(static_cast<std::int64_t>(bits));
            default: return Value::big(bits);
        }
    }

    Value real(const Header& found) {
        const std::uint64_t bits = take(static_cast<std::size_t>(found.number));
        if (found.number == 4) {
            const std::uint32_t narrow = static_cast<std::uint32_t>(bits);
            float number = 0;
            std::memcpy(&number, &narrow, sizeof number);
            return Value::real(static_cast<double>(number));
        }
        double number = 0;
        std::memcpy(&number, &bits, sizeof number);
        return Value::real(number);
    }

    std::string text(const Header& found) {
        const std::size_t size = static_cast<std::size_t>(found.number);
        if (body_.size() - at_ < size) throw ProtocolError("bad_msgpack", "a string is cut short");
        std::string made = body_.substr(at_, size);
        at_ += size;
        if (count_characters(made) < 0) throw ProtocolError("bad_msgpack", "a string that is not UTF-8");
        return made;
    }

    Value array(const Header& found, std::size_t depth) {
        Value made = Value::array();
        for (std::uint64_t n = 0; n < found.number; ++n) made.items().push_back(next(depth + 1));
        return made;
    }

    Value map(const Header& found, std::size_t depth) {
        Value made = Value::map();
        std::string problem, code;
        for (std::uint64_t n = 0; n < found.number; ++n) {
            Value key = next(depth + 1);
            Value value = next(depth + 1);
            if (!problem.empty()) continue;  // an error inside the rest comes first, as it does in the Python SDK
            if (!key.is(Value::Kind::text)) {
                code = "bad_key";
                problem = "a key " + short_repr(key) + ", expected a string";
            } else if (made.find(key.as_text())) {
                code = "duplicate_key";
                problem = "the key " + short_repr(key) + " twice";
            } else {
                made.add(key.as_text(), std::move(value));
            }
        }
        if (!problem.empty()) throw ProtocolError(code, problem);
        return made;
    }

    const std::string& body_;
    std::size_t at_ = 0;
};

inline Value decode_body(const std::string& body) { return Decoder(body).decode(); }

/// Splits a stream of bytes into the bodies of frames.
class FrameReader {
public:
    void feed(const char* data, std::size_t size) { buffer_.append(data, size); }

    /// Put the next complete body into `body`; return false if more bytes are needed.
    bool next_body(std::string& body) {
        if (buffer_.size() - at_ < header_bytes) return compact();
        std::size_t length = 0;
        for (std::size_t n = 0; n < header_bytes; ++n)
            length = (length << 8) | static_cast<unsigned char>(buffer_[at_ + n]);
        if (length == 0) throw ProtocolError("empty_frame", "a frame of 0 bytes, expected at least 1");
        if (length > max_server_frame)
            throw ProtocolError("oversize_frame", "a frame of " + std::to_string(length) +
                                                      " bytes, expected at most " + std::to_string(max_server_frame));
        if (buffer_.size() - at_ - header_bytes < length) return compact();
        body = buffer_.substr(at_ + header_bytes, length);
        at_ += header_bytes + length;
        return true;
    }

    bool partial() const { return buffer_.size() > at_; }

private:
    bool compact() {
        buffer_.erase(0, at_);
        at_ = 0;
        return false;
    }

    std::string buffer_;
    std::size_t at_ = 0;  // the beginning of the next frame
};

// --- messages of the server ---------------------------------------------------------------------------------------

struct Hello {
    std::vector<std::int64_t> versions;
    std::string nonce, contest, server;
    bool friendly = false, dialled = false;
};
struct Welcome {
    std::int64_t team = 0;
    std::string name;
    std::optional<std::string> proof, fence_proof;
    Fence fence;
};
struct Start {
    std::int64_t match = 0;
    std::string game, opponent, time_kind;
    std::map<std::string, std::int64_t> options;
    bool is_black = false, resumed = false, friendly = false;
    std::int64_t time_ms = 0, lag_ms = 0, increment_ms = 0;
    std::vector<Value> opening;
};
struct Ask {
    std::int64_t id = 0, move_number = 0, time_left_ms = 0;
    Board board;
    bool is_black = false;
    Value last_move;

    /// Return true if this repeats `other` after a reconnect; only the time left may differ.
    bool repeats(const Ask& other) const {
        return id == other.id && move_number == other.move_number && board == other.board &&
               is_black == other.is_black && last_move == other.last_move;
    }
};
struct Penalty {
    std::int64_t id = 0;
    std::string reason, detail;
};
struct End {
    std::int64_t match = 0;
    std::string result, reason, detail;
    Value scores;
};
struct Notice {
    std::string kind, text;
    std::int64_t match = 0;  // 0: about no match
};
struct Goodbye {
    std::string reason, detail;
    std::optional<std::int64_t> retry_ms;
};
using Message = std::variant<Hello, Welcome, Start, Ask, Penalty, End, Notice, Goodbye>;

/// Reads the fields of one map, and throws a ProtocolError for a missing or wrong one.
class Fields {
public:
    explicit Fields(const Value& map) : map_(map) {}

    const Value& any(const char* name) const {
        const Value* found = map_.find(name);
        if (!found) throw ProtocolError("bad_field", std::string(name) + " is missing");
        return *found;
    }
    /// Return the value of an optional key; nullptr if it is missing or nil.
    const Value* optional(const char* name) const {
        const Value* found = map_.find(name);
        return found && !found->is(Value::Kind::nil) ? found : nullptr;
    }
    std::int64_t integer(const char* name, std::int64_t lowest, std::int64_t highest) const {
        return integer(name, any(name), lowest, highest);
    }
    bool boolean(const char* name) const { return boolean(name, any(name)); }
    std::string text(const char* name, std::size_t most) const { return text(name, any(name), most); }
    std::string hex(const char* name, std::size_t digits) const { return hex(name, any(name), digits); }
    const Value& array(const char* name) const {
        const Value& value = any(name);
        if (!value.is(Value::Kind::array)) wrong(name, value, "an array");
        return value;
    }

    static std::int64_t integer(const std::string& name, const Value& value, std::int64_t lowest, std::int64_t highest) {
        if (!value.is(Value::Kind::integer) || value.as_integer() < lowest || value.as_integer() > highest)
            wrong(name, value, "a whole number from " + std::to_string(lowest) + " to " + std::to_string(highest));
        return value.as_integer();
    }
    static bool boolean(const std::string& name, const Value& value) {
        if (!value.is(Value::Kind::boolean)) wrong(name, value, "true or false");
        return value.as_boolean();
    }
    static std::string text(const std::string& name, const Value& value, std::size_t most) {
        if (!value.is(Value::Kind::text) || count_characters(value.as_text()) > static_cast<std::int64_t>(most))
            wrong(name, value, "text of at most " + std::to_string(most) + " characters");
        return value.as_text();
    }
    static std::string hex(const std::string& name, const Value& value, std::size_t digits) {
        const bool good = value.is(Value::Kind::text) && value.as_text().size() == digits &&
                          value.as_text().find_first_not_of("0123456789abcdef") == std::string::npos;
        if (!good) wrong(name, value, std::to_string(digits) + " lower-case hexadecimal digits");
        return value.as_text();
    }
    std::map<std::string, std::int64_t> options() const {
        const Value& value = any("options");
        if (!value.is(Value::Kind::map)) wrong("options", value, "a map");
        std::map<std::string, std::int64_t> found;
        for (std::size_t n = 0; n < value.items().size(); ++n)
            found[value.keys()[n]] = integer("an option", value.items()[n], -max_id, max_id);
        return found;
    }
    /// Check time_kind and time_ms, and return increment_ms.
    std::int64_t times() const {
        const std::string kind = text("time_kind", max_name);
        if (kind != "move" && kind != "budget") wrong("time_kind", any("time_kind"), "move or budget");
        integer("time_ms", 1, max_ms);
        const Value* increment = optional("increment_ms");
        return increment ? integer("increment_ms", *increment, 0, max_ms) : 0;
    }
    bool flag(const char* name) const {
        const Value* value = optional(name);
        return value && boolean(name, *value);
    }
    Board board() const {
        Board made;
        for (const Value& row : array("board").items()) {
            if (!row.is(Value::Kind::array)) wrong("board", row, "rows");
            made.emplace_back();
            for (const Value& cell : row.items()) {
                made.back().push_back(static_cast<int>(integer("board", cell, -max_cell - 1, max_cell)));
            }
        }
        return made;
    }

    [[noreturn]] static void wrong(const std::string& name, const Value& value, const std::string& expected) {
        throw ProtocolError("bad_field", name + " is " + short_repr(value) + ", expected " + expected);
    }

private:
    const Value& map_;
};

inline Message message_of(const Value& map, const std::string& type) {
    const Fields fields(map);
    if (type == "hello") {
        Hello hello;
        for (const Value& version : fields.array("versions").items())
            hello.versions.push_back(Fields::integer("versions", version, 1, max_id));
        hello.nonce = fields.hex("nonce", nonce_digits);
        hello.contest = fields.text("contest", max_name);
        hello.server = fields.text("server", max_name);
        hello.friendly = fields.flag("friendly");
        hello.dialled = fields.flag("dialled");
        return hello;
    }
    if (type == "welcome") {
        Welcome welcome;
        welcome.team = fields.integer("team", 0, max_id);
        welcome.name = fields.text("name", max_name);
        fields.integer("lag_ms", 0, max_ms);
        for (const Value& game : fields.array("games").items()) {
            if (!game.is(Value::Kind::map)) Fields::wrong("games", game, "a map");
            const Fields about(game);
            about.text("game", max_name);
            about.options();
            about.times();
        }
        if (const Value* proof = fields.optional("proof")) welcome.proof = Fields::hex("proof", *proof, mac_digits);
        if (const Value* number = fields.optional("fence")) welcome.fence.number = Fields::integer("fence", *number, 1, max_id);
        if (const Value* shown = fields.optional("fence_certificate"))
            welcome.fence.certificate = Fields::hex("fence_certificate", *shown, mac_digits);
        if (const Value* proof = fields.optional("fence_proof"))
            welcome.fence_proof = Fields::hex("fence_proof", *proof, mac_digits);
        return welcome;
    }
    if (type == "start") {
        Start start;
        start.match = fields.integer("match", 1, max_id);
        start.game = fields.text("game", max_name);
        start.options = fields.options();
        start.is_black = fields.boolean("is_black");
        start.opponent = fields.text("opponent", max_name);
        start.increment_ms = fields.times();
        start.time_kind = fields.text("time_kind", max_name);
        start.time_ms = fields.integer("time_ms", 1, max_ms);
        start.lag_ms = fields.integer("lag_ms", 0, max_ms);
        start.resumed = fields.boolean("resumed");
        start.friendly = fields.flag("friendly");
        if (fields.optional("opening")) {
            start.opening = fields.array("opening").items();
            if (start.opening.empty() || start.opening.size() > max_opening)
                Fields::wrong("opening", fields.any("opening"), "1 to " + std::to_string(max_opening) + " moves");
        }
        return start;
    }
    if (type == "get_step") {
        Ask ask;
        ask.id = fields.integer("id", 1, max_id);
        ask.move_number = fields.integer("move_number", 1, max_id);
        ask.board = fields.board();
        ask.is_black = fields.boolean("is_black");
        ask.time_left_ms = fields.integer("time_left_ms", 0, max_ms);
        ask.last_move = fields.any("last_move");
        return ask;
    }
    if (type == "penalty") {
        return Penalty{fields.integer("id", 1, max_id), fields.text("reason", max_name), fields.text("detail", max_text)};
    }
    if (type == "end") {
        End end;
        end.match = fields.integer("match", 1, max_id);
        end.result = fields.text("result", max_name);
        if (end.result != "win" && end.result != "draw" && end.result != "loss" && end.result != "void")
            Fields::wrong("result", Value::text(end.result), "win, draw, loss or void");
        end.reason = fields.text("reason", max_name);
        end.detail = fields.text("detail", max_text);
        end.scores = fields.any("scores");
        if (!end.scores.is(Value::Kind::nil) && (!end.scores.is(Value::Kind::array) || end.scores.items().size() != 2))
            Fields::wrong("scores", end.scores, "one for each player");
        return end;
    }
    if (type == "notice") {
        Notice notice;
        notice.kind = fields.text("kind", max_name);
        if (!fields.any("match").is(Value::Kind::nil)) notice.match = fields.integer("match", 1, max_id);
        notice.text = fields.text("text", max_text);
        return notice;
    }
    Goodbye goodbye;
    goodbye.reason = fields.text("reason", max_name);
    goodbye.detail = fields.text("detail", max_text);
    if (!fields.any("retry_ms").is(Value::Kind::nil)) goodbye.retry_ms = fields.integer("retry_ms", 0, max_ms);
    return goodbye;
}

/// The client's side of one conversation, without a socket: protocol.md, "The conversation".
class Conversation {
public:
    enum class State { greeting, login, deciding, lobby, match, turn, closed };

    void feed(const char* data, std::size_t size) { reader_.feed(data, size); }

    /// Return the next message; nothing if more bytes are needed. Throws a ProtocolError.
    std::optional<Message> next() {
        std::string body;
        if (state_ == State::closed || !reader_.next_body(body)) return std::nullopt;
        const Value map = decode_body(body);
        const Value* name = map.find("type");
        const std::string type = name && name->is(Value::Kind::text) ? name->as_text() : "";
        if (!is_known(type))
            throw ProtocolError("unknown_type", "type is " + (name ? short_repr(*name) : std::string("missing")));
        if (!allowed(type)) throw ProtocolError("out_of_order", type + " in a state that does not allow it");
        Message message = message_of(map, type);
        advance(message);
        return message;
    }

    State state() const { return state_; }
    /// Return true if the stream must not end here: a frame is begun.
    bool partial() const { return state_ != State::closed && reader_.partial(); }
    /// The id of the open question, 0 if none is open.
    std::int64_t question() const { return question_; }
    void joined() { state_ = State::deciding; }

    /// Return true if an answer to a closed question may still be sent, as a sign of life.
    bool may_answer_late(std::int64_t id) const {
        return (state_ == State::match || state_ == State::turn) && id != question_ && unanswered_.count(id) > 0;
    }
    /// Note that an answer is sent, to the open question or late.
    void answered(std::int64_t id) {
        if (id == question_) {
            question_ = 0;
            state_ = State::match;
        } else {
            unanswered_.erase(id);
        }
    }

private:
    static bool is_known(const std::string& type) {
        for (const char* known : {"hello", "welcome", "start", "get_step", "penalty", "end", "notice", "goodbye"})
            if (type == known) return true;
        return false;
    }
    bool allowed(const std::string& type) const {
        if (type == "goodbye") return true;
        if (type == "notice") return state_ == State::lobby || state_ == State::match || state_ == State::turn;
        switch (state_) {
            case State::greeting: return type == "hello";
            case State::deciding: return type == "welcome";
            case State::lobby: return type == "start";
            case State::match: return type == "get_step" || type == "penalty" || type == "end";
            case State::turn: return type == "penalty" || type == "end";
            case State::login:
            case State::closed: break;
        }
        return false;
    }
    void advance(const Message& message) {
        if (std::holds_alternative<Notice>(message)) return;
        if (const Ask* ask = std::get_if<Ask>(&message)) {
            question_ = ask->id;
            state_ = State::turn;
            return;
        }
        if (question_ != 0) {
            unanswered_.insert(question_);
            if (unanswered_.size() > 1000) unanswered_.erase(unanswered_.begin());  // no server closes as many
            question_ = 0;
        }
        state_ = std::holds_alternative<Hello>(message)     ? State::login
                 : std::holds_alternative<Goodbye>(message) ? State::closed
                 : std::holds_alternative<Start>(message) || std::holds_alternative<Penalty>(message) ? State::match
                                                                                                      : State::lobby;
    }

    FrameReader reader_;
    State state_ = State::greeting;
    std::int64_t question_ = 0;
    std::set<std::int64_t> unanswered_;  // closed without an answer; one late answer to each is allowed
};

inline std::string join_frame(std::int64_t team, const std::string& mac, const std::string& nonce,
                              const std::string& dialled, const Fence& fence) {
    Value join = Value::map();
    join.add("type", Value::text("join"));
    join.add("version", Value::integer(protocol_version));
    join.add("team", Value::integer(team));
    join.add("mac", Value::text(mac));
    join.add("client", Value::text("getstep C++ " GETSTEP_VERSION));
    join.add("purpose", Value::text("play"));
    join.add("nonce", Value::text(nonce));
    if (!dialled.empty()) join.add("dialled", Value::text(dialled));
    join.add("notices", Value::boolean(true));
    if (fence.number > 0) {
        join.add("fence", Value::integer(fence.number));
        join.add("fence_certificate", Value::text(fence.certificate));
    }
    return encode_frame(join);
}

/// Return an answer's frame; `notes` are the notes of its move, or nil.
inline std::string answer_frame(const char* type, std::int64_t id, const char* key, const Value& value, const Value& notes) {
    Value answer = Value::map();
    answer.add("type", Value::text(type));
    answer.add("id", Value::integer(id));
    if (key != nullptr) answer.add(key, value);
    if (!notes.is(Value::Kind::nil)) answer.add("notes", notes);
    return encode_frame(answer);
}

inline std::string step_frame(std::int64_t id, const Value& move, const Value& notes = Value()) {
    return answer_frame("step", id, "move", move, notes);
}

inline std::string resign_frame(std::int64_t id) { return answer_frame("resign", id, nullptr, Value(), Value()); }

inline std::string raised_frame(std::int64_t id, const std::string& error, const Value& notes = Value()) {
    return answer_frame("raised", id, "error", Value::text(sendable_text(error)), notes);
}

// --- notes of a move: protocol.md, "Notes of a move" ---------------------------------------------------------------------

/// Return a number as "%.3g", with fewer digits if it is longer than a label.
inline std::string number_text(double number) {
    std::string text;
    for (int digits = 3; digits > 0; --digits) {
        text = format("%.*g", digits, number);
        if (text.size() <= max_label) break;
    }
    return text;
}

/// Return the bytes that a value takes on the wire.
inline std::size_t packed_size(const Value& value) {
    std::string data;
    encode_value(data, value, 2);  // in a message, in its notes
    return data.size();
}

/// Collects what a bot notes while it computes a move, from any thread. What is wrong or too much is dropped, and the
/// author reads so once for each kind of mistake.
class Notes {
public:
    explicit Notes(std::function<void(const std::string&)> warn) : warn_(std::move(warn)) {}

    /// Begin a move.
    void begin(const Board& board) {
        const std::lock_guard<std::mutex> lock(mutex_);
        rows_ = static_cast<int>(board.size());
        columns_ = 0;
        for (const auto& row : board) columns_ = (std::max)(columns_, static_cast<int>(row.size()));
    }

    void say(const std::string& text) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!open() || text.empty()) return;
        const std::string line = sendable_text(cut_text(text, max_said + 1, max_text_bytes + 4), 4 * max_said);
        const std::string all = said_.empty() ? line : said_ + "\n" + line;
        if (cut_text(all, max_said, max_text_bytes) == all) said_ = all;
        else mistake("said", "say takes 1,000 characters and 2,000 bytes for a move, longer texts are dropped");
    }

    void estimate(double value) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!open()) return;
        if (value >= -1 && value <= 1) estimate_ = value;
        else mistake("estimate", "estimate takes a number from -1 (you lose) to 1 (you win), others are dropped: " + number_text(value));
    }

    void draw(const Board& squares, const Value& label, const std::string& color, const std::string& shape) {
        static const std::vector<std::string> shapes = {"mark", "arrow", "region", "domino"};
        static const std::vector<std::string> colors = {"black", "white", "blue",   "orange", "red",
                                                        "green", "yellow", "purple", "grey"};
        const auto has = [](const std::vector<std::string>& all, const std::string& one) {
            return std::find(all.begin(), all.end(), one) != all.end();
        };
        const auto listed = [](const std::vector<std::string>& all) {
            std::string line;
            for (const std::string& one : all) line += (line.empty() ? "" : ", ") + one;
            return line;
        };
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!open()) return;
        if (!has(shapes, shape)) {
            mistake("shape", "draw takes the shapes " + listed(shapes) + ", others are dropped: " + short_repr(shape));
        } else if (!color.empty() && !has(colors, color)) {
            mistake("color", "draw takes the colours " + listed(colors) + ", others are dropped: " + short_repr(color));
        } else if (drawings_.size() == max_drawings) {
            mistake("drawings", "draw takes " + std::to_string(max_drawings) + " drawings for a move, more are dropped");
        } else if (cut_text(sendable_text(label.as_text()), max_label, max_text_bytes) != label.as_text()) {
            mistake("long label", "draw takes a label of " + std::to_string(max_label) + " characters, others are dropped: " +
                                      short_repr(label));
        } else if (check(squares, shape)) {
            Value flat = Value::array();
            for (const auto& square : squares)
                for (const int number : square) flat.items().push_back(Value::integer(number));
            drawings_.push_back(Value::array({Value::text(shape), std::move(flat),
                                              label.is(Value::Kind::text) && label.as_text().empty() ? Value() : label,
                                              color.empty() ? Value() : Value::text(color)}));
        }
    }

    void tag(const std::string& word) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!open()) return;
        const bool is_word = !word.empty() && word.size() <= 4 * max_tag && count_characters(word) > 0 &&
                             count_characters(word) <= static_cast<std::int64_t>(max_tag) &&
                             word.find(' ') == std::string::npos && escaped(word) == word;
        if (!is_word) {
            mistake("tag", "tag takes a word of 1 to " + std::to_string(max_tag) + " characters, others are dropped: " + short_repr(word));
        } else if (std::find(tags_.begin(), tags_.end(), Value::text(word)) == tags_.end()) {
            if (tags_.size() < max_tags) tags_.push_back(Value::text(word));
            else mistake("tags", "tag takes " + std::to_string(max_tags) + " words for a move, more are dropped");
        }
    }

    /// End the move. Returns true if it has notes.
    bool end() {
        const std::lock_guard<std::mutex> lock(mutex_);
        rows_ = -1;
        return !said_.empty() || estimate_ || !drawings_.empty() || !tags_.empty();
    }

    /// Return the notes of the move, in at most `most` bytes, or nil if none of them fit. There are none after it.
    Value take(std::size_t most) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto bytes_of = [](const std::string& text) {
            return static_cast<std::int64_t>(text.empty() ? 0 : 4 + packed_size(Value::text(text)));  // with the key "say"
        };
        auto left = static_cast<std::int64_t>((std::min)(most, notes_bytes)) - bytes_of(said_) -
                    static_cast<std::int64_t>(packed_size(map("", 0)));
        std::size_t drawn = 0;
        std::int64_t bytes = 8;  // the key "draw" and the longest header of its array
        for (const Value& drawing : drawings_) {
            bytes += static_cast<std::int64_t>(packed_size(drawing));
            if (bytes > left) break;
            ++drawn;
        }
        std::string text = said_;
        if (!said_.empty() && left < 0) {
            const std::int64_t room = static_cast<std::int64_t>(said_.size()) + left;
            text = room > 0 ? cut_text(said_, max_said, static_cast<std::size_t>(room)) : "";
            left += bytes_of(said_) - bytes_of(text);
        }
        if (drawn < drawings_.size() || text != said_)
            mistake("room", "the notes of a move have " + std::to_string(notes_bytes) +
                                " bytes, and less beside a long move; what does not fit is dropped");
        Value notes = map(text, drawn);
        said_.clear();
        estimate_.reset();
        drawings_.clear();
        tags_.clear();
        return left < 0 || notes.items().empty() ? Value() : notes;
    }

private:
    Value map(const std::string& text, std::size_t drawn) const {
        Value notes = Value::map();
        if (!text.empty()) notes.add("say", Value::text(text));
        if (estimate_) notes.add("estimate", Value::real(*estimate_));
        if (drawn > 0)
            notes.add("draw", Value::array({drawings_.begin(), drawings_.begin() + static_cast<std::ptrdiff_t>(drawn)}));
        if (!tags_.empty()) notes.add("tags", Value::array(tags_));
        return notes;
    }

    bool check(const Board& squares, const std::string& shape) {
        const std::size_t least = shape == "arrow" || shape == "domino" ? 2 : 1;
        const std::size_t most = shape == "arrow" ? max_arrow : shape == "domino" ? 2 : max_squares;
        const auto is_square = [](const std::vector<int>& square) { return square.size() == 2; };
        if (squares.size() < least || squares.size() > most || !std::all_of(squares.begin(), squares.end(), is_square)) {
            mistake(shape, "draw takes {row, column} or several of them, " + (least == most ? "" : std::to_string(least) + " to ") +
                               std::to_string(most) + " for the shape " + shape + ", others are dropped: " +
                               std::to_string(squares.size()) + " squares");
            return false;
        }
        for (const auto& square : squares) {
            if (square[0] >= 0 && square[0] < (std::min)(rows_, max_side) && square[1] >= 0 &&
                square[1] < (std::min)(columns_, max_side))
                continue;
            mistake("board", "draw takes squares of the board, which has " + std::to_string(rows_) + " rows and " +
                                 std::to_string(columns_) + " columns, others are dropped: " + std::to_string(square[0]) +
                                 ", " + std::to_string(square[1]));
            return false;
        }
        return true;
    }

    bool open() {
        if (rows_ < 0)
            mistake("outside", "say, estimate, draw and tag belong to a move that is computed; calls before and after are dropped");
        return rows_ >= 0;
    }

    void mistake(const std::string& kind, const std::string& line) {
        if (mistakes_.insert(kind).second) warn_("getstep: " + line + ". This is said once.");
    }

    std::function<void(const std::string&)> warn_;
    std::mutex mutex_;
    std::set<std::string> mistakes_;
    int rows_ = -1;  // of the board of the open question; -1: no move is computed
    int columns_ = 0;
    std::string said_;
    std::optional<double> estimate_;
    std::vector<Value> drawings_;
    std::vector<Value> tags_;
};

inline Notes& notes() {
    static Notes collected([](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); });
    return collected;
}

/// Call one of these; a note never costs a turn, not even if there is no memory for it.
template <class Call>
void harmless(const Call& call) noexcept {
    try {
        call();
    } catch (...) {
    }
}

// --- the saved login and the settings --------------------------------------------------------------------------------

/// Reads JSON of at most a few thousand bytes: the saved login.
class Json {
public:
    /// Throws std::runtime_error for text that is not JSON.
    static Value parse(const std::string& text) {
        Json json(text);
        Value value = json.value(0);
        json.blanks();
        if (json.at_ != text.size()) json.fail();
        return value;
    }

private:
    explicit Json(const std::string& text) : text_(text) {}
    [[noreturn]] void fail() const { throw std::runtime_error("not JSON at byte " + std::to_string(at_)); }
    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    void blanks() {
        while (at_ < text_.size() && std::strchr(" \t\r\n", text_[at_])) ++at_;
    }
    void expect(const char* word) {
        for (; *word; ++word, ++at_)
            if (peek() != *word) fail();
    }
    Value value(int depth) {
        if (depth > 32) fail();
        blanks();
        switch (peek()) {
            case '{': return object(depth);
            case '[': return array(depth);
            case '"': return Value::text(string());
            case 't': return expect("true"), Value::boolean(true);
            case 'f': return expect("false"), Value::boolean(false);
            case 'n': return expect("null"), Value();
            default: return number();
        }
    }
    Value object(int depth) {
        Value made = Value::map();
        expect("{");
        for (blanks(); peek() != '}'; blanks()) {
            if (!made.items().empty()) expect(",");
            blanks();
            std::string key = string();
            blanks();
            expect(":");
            made.add(std::move(key), value(depth + 1));
        }
        expect("}");
        return made;
    }
    Value array(int depth) {
        Value made = Value::array();
        expect("[");
        for (blanks(); peek() != ']'; blanks()) {
            if (!made.items().empty()) expect(",");
            made.items().push_back(value(depth + 1));
        }
        expect("]");
        return made;
    }
    std::uint32_t hex4() {
        std::uint32_t point = 0;
        for (int n = 0; n < 4; ++n, ++at_) {
            const char* digits = "0123456789abcdef";
            const char c = peek() >= 'A' && peek() <= 'F' ? static_cast<char>(peek() - 'A' + 'a') : peek();
            const char* found = c ? std::strchr(digits, c) : nullptr;
            if (!found) fail();
            point = 16 * point + static_cast<std::uint32_t>(found - digits);
        }
        return point;
    }
    std::string string() {
        std::string made;
        expect("\"");
        while (peek() != '"') {
            if (at_ >= text_.size()) fail();
            if (peek() != '\\') {
                made += text_[at_++];
                continue;
            }
            ++at_;
            const char c = peek();
            ++at_;
            if (c == 'u') {
                std::uint32_t point = hex4();
                if (point >= 0xD800 && point < 0xDC00 && text_.compare(at_, 2, "\\u") == 0) {
                    at_ += 2;
                    point = 0x10000 + ((point - 0xD800) << 10) + ((hex4() - 0xDC00) & 0x3FF);
                }
                append_utf8(made, point);
                continue;
            }
            const char *names = "\"\\/bfnrt", *values = "\"\\/\b\f\n\r\t";
            const char* found = c ? std::strchr(names, c) : nullptr;
            if (!found) fail();
            made += values[found - names];
        }
        expect("\"");
        return made;
    }
    Value number() {
        const std::size_t from = at_;
        while (peek() && std::strchr("+-.0123456789eE", peek())) ++at_;
        const std::string digits = text_.substr(from, at_ - from);
        char* end = nullptr;
        errno = 0;
        if (digits.find_first_of(".eE") == std::string::npos) {
            const long long whole = std::strtoll(digits.c_str(), &end, 10);
            if (digits.empty() || *end || errno) fail();
            return Value::integer(whole);
        }
        const double real = std::strtod(digits.c_str(), &end);
        if (*end) fail();
        return Value::real(real);
    }

    const std::string& text_;
    std::size_t at_ = 0;
};

#ifdef _WIN32
inline std::string utf8_of(const wchar_t* wide) {
    const int size = WideCharToMultiByte(CP_UTF8, 0, wide, -1, nullptr, 0, nullptr, nullptr);
    std::string text(size > 0 ? static_cast<std::size_t>(size) : 1, '\0');
    WideCharToMultiByte(CP_UTF8, 0, wide, -1, &text[0], size, nullptr, nullptr);
    text.pop_back();  // the 0 at the end
    return text;
}

inline std::wstring wide_of(const char* text, unsigned code_page) {
    const int size = MultiByteToWideChar(code_page, 0, text, -1, nullptr, 0);
    std::wstring wide(size > 0 ? static_cast<std::size_t>(size) : 1, L'\0');
    MultiByteToWideChar(code_page, 0, text, -1, &wide[0], size);
    wide.pop_back();
    return wide;
}
#endif

/// Return an environment variable as UTF-8; empty if it is not set.
inline std::string variable(const char* name) {
#ifdef _WIN32
    const wchar_t* found = _wgetenv(wide_of(name, CP_UTF8).c_str());
    return found ? utf8_of(found) : "";
#else
    const char* found = std::getenv(name);
    return found ? found : "";
#endif
}

/// Return an argument of the command line as UTF-8.
inline std::string argument(const char* text) {
#ifdef _WIN32
    return utf8_of(wide_of(text, CP_ACP).c_str());
#else
    return text;
#endif
}

/// Return the first bytes of a file; nothing if it cannot be opened.
inline std::optional<std::string> read_file(const std::string& path, std::size_t most) {
#ifdef _WIN32
    std::FILE* file = _wfopen(wide_of(path.c_str(), CP_UTF8).c_str(), L"rb");
#else
    std::FILE* file = std::fopen(path.c_str(), "rb");
#endif
    if (!file) return std::nullopt;
    std::string content(most, '\0');
    content.resize(std::fread(&content[0], 1, most, file));
    std::fclose(file);
    return content;
}

struct Address {
    std::string host;
    int port = 7777;
    std::string tls{};  // "" without TLS, "roots" to have the certificate checked, or the pin of its key

    std::string text() const {
        const bool is_v6 = host.find(':') != std::string::npos;
        return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
    }
    bool operator==(const Address& other) const { return host == other.host && port == other.port; }
};

struct Login {
    std::int64_t team = -1;
    std::string token;
};

/// The login that `getstep login` keeps, and what was last seen of that host.
struct SavedLogin {
    Address address;
    Login login;
    std::string contest, seen_at;  // the Unix time as local time; empty if nothing was seen
    bool over = false;
};

inline std::string login_file() {
    const std::string given = variable("GETSTEP_LOGIN_FILE");
    if (!given.empty()) return given;
#ifdef _WIN32
    const std::string base = variable("APPDATA");
    const std::string folder = base.empty() ? variable("USERPROFILE") + "\\AppData\\Roaming" : base;
    return folder + "\\getstep\\login.json";
#elif defined(__APPLE__)
    return variable("HOME") + "/Library/Application Support/getstep/login.json";
#else
    const std::string base = variable("XDG_CONFIG_HOME");
    return (base.empty() ? variable("HOME") + "/.config" : base) + "/getstep/login.json";
#endif
}

/// Return how to connect: "" without TLS, "roots" to have the certificate checked, or the pin of its key.
inline std::string parse_tls(const std::string& text) {
    std::string way;
    for (const char c : trimmed(text))
        if (c != ':') way += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (way.empty() || way == "0") return "";
    if (way == "1" || way == "roots") return "roots";
    if (way.size() == 64 && way.find_first_not_of("0123456789abcdef") == std::string::npos) return way;
    throw Stop(2, "The TLS setting is " + short_repr(text) +
                      ", expected roots, or a pin: the 64 hexadecimal digits on the slip from the host.");
}

/// Return the saved login; nothing if there is none. Throws Stop if there is a file that is none.
inline std::optional<SavedLogin> saved_login() {
    const std::string path = login_file();
    const std::optional<std::string> content = read_file(path, 10000);
    if (!content) return std::nullopt;
    try {
        const Value map = Json::parse(*content);
        const Fields fields(map);
        SavedLogin saved;
        saved.address.host = fields.text("host", 1000);
        saved.address.port = static_cast<int>(fields.integer("port", 1, 65535));
        saved.login.team = fields.integer("team", 0, max_id);
        saved.login.token = fields.text("token", 1000);
        if (saved.address.host.empty() || saved.login.token.empty()) throw std::runtime_error("an empty value");
        const Value* tls = fields.optional("tls");
        if (tls) saved.address.tls = parse_tls(fields.text("tls", 1000));
        const Value* seen = fields.optional("seen");
        if (seen && seen->is(Value::Kind::map)) {
            const Fields about(*seen);
            saved.contest = about.text("contest", 1000);
            saved.over = about.boolean("over");
            const Value& at = about.any("at");
            const double unix_time = at.is(Value::Kind::real) ? at.as_real() : static_cast<double>(at.as_integer());
            if (unix_time > 0 && unix_time < 4e9) {
                const std::time_t time = static_cast<std::time_t>(unix_time);
                char text[40] = "";
                if (const std::tm* local = std::localtime(&time)) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", local);
                saved.seen_at = text;
            }
        }
        return saved;
    } catch (const std::exception& error) {
        throw Stop(2, escaped(path) + ": not a saved login (" + error.what() +
                          ").\nType getstep login again, or remove the file.");
    }
}

/// What the command line said; everything else comes from variables, the saved login and defaults.
struct Options {
    std::string host, port, tls, team, token, token_file, restart_after;
    bool has_token = false, quiet = false, friendly = false;
};

inline std::int64_t parse_integer(const std::string& name, const std::string& text, std::int64_t lowest,
                                  std::int64_t highest) {
    const std::string digits = trimmed(text);
    const bool good = !digits.empty() && digits.size() <= 12 && digits.find_first_not_of("0123456789") == std::string::npos;
    const std::int64_t number = good ? std::strtoll(digits.c_str(), nullptr, 10) : -1;
    if (number < lowest || number > highest)
        throw Stop(2, "The " + name + " is " + short_repr(text) + ", expected a whole number from " +
                          std::to_string(lowest) + " to " + std::to_string(highest) + ".");
    return number;
}

inline std::string checked_token(const std::string& token, const std::string& what) {
    const std::string text = canonical_token(trimmed(token));
    if (text.empty() || text.find_first_of(" \t\r\n") != std::string::npos || escaped(text) != text)
        throw Stop(2, what + " should be one word such as kq3m-x7fd-29pt, as it is on the slip from the host.");
    return text;
}

/// Return the one word in a text file, also if a Windows editor or shell has written it.
inline std::string token_from_file(const std::string& path) {
    const std::optional<std::string> content = read_file(path, 10000);
    if (!content)
        throw Stop(2, "The token file " + short_repr(path) +
                          " cannot be read.\nPut the token from the host's slip into it, alone, as plain text.");
    std::string text = *content;
    if (text.size() >= 2 && (text.compare(0, 2, "\xFF\xFE") == 0 || text.compare(0, 2, "\xFE\xFF") == 0)) {
        const bool little = text[0] == '\xFF';
        std::string narrow;
        for (std::size_t n = 2; n + 1 < text.size(); n += 2) {
            const std::uint32_t low = static_cast<unsigned char>(text[little ? n : n + 1]);
            append_utf8(narrow, low | (static_cast<std::uint32_t>(static_cast<unsigned char>(text[little ? n + 1 : n])) << 8));
        }
        text = narrow;
    } else if (text.compare(0, 3, "\xEF\xBB\xBF") == 0) {
        text.erase(0, 3);
    }
    return checked_token(text, "The content of the token file " + short_repr(path));
}

inline std::optional<std::int64_t> given_port(const Options& options) {
    // The contest's port in GETSTEP_PORT is not the one for friendly matches.
    const std::string port = !options.port.empty() || options.friendly ? options.port : variable("GETSTEP_PORT");
    if (port.empty()) return std::nullopt;
    return parse_integer("port", port, 1, 65535);
}

inline Address find_address(const Options& options) {
    Address address{!options.host.empty() ? options.host : variable("GETSTEP_HOST"), 7777};
    if (address.host.empty()) {
        const std::optional<SavedLogin> saved = saved_login();
        address = saved ? saved->address : Address{"127.0.0.1", 7777};
    }
    const std::string host = address.host = trimmed(address.host);
    const bool with_port = std::count(host.begin(), host.end(), ':') == 1;
    if (host.empty() || with_port || host.find('/') != std::string::npos || escaped(host) != host)
        throw Stop(2, "The host is " + short_repr(host) +
                          ", expected a name or an address alone, such as 192.168.1.10.\n"
                          "The port goes into --port or GETSTEP_PORT.");
    if (options.friendly) address.port = 7780;
    if (const std::optional<std::int64_t> port = given_port(options)) address.port = static_cast<int>(*port);
    const std::string way = !options.tls.empty() ? options.tls : variable("GETSTEP_TLS");
    if (!way.empty()) address.tls = parse_tls(way);
    if (options.friendly) address.tls.clear();  // the port for friendly matches speaks no TLS
#ifndef GETSTEP_TLS
    if (!address.tls.empty())
        throw Stop(2, "This bot was built without TLS, which the contest uses. Build it again with OpenSSL: add\n"
                      "-DGETSTEP_TLS before the bot's file, and -lssl -lcrypto after it (Debian: sudo apt install libssl-dev).");
#endif
    return address;
}

inline Login find_login(const Options& options) {
    const auto where = [](const std::string& name, const std::string& capitals) {
        return "Give it as --" + name + " on the command line, or in the variable GETSTEP_" + capitals +
               ".\nTo save host, team and token permanently: getstep login";
    };
    Login login;
    const std::string team = !options.team.empty() ? options.team : variable("GETSTEP_TEAM");
    if (!team.empty()) login.team = parse_integer("team", team, 0, max_id);
    if (options.has_token) login.token = checked_token(options.token, "The token");
    else if (!options.token_file.empty()) login.token = token_from_file(options.token_file);
    else if (!variable("GETSTEP_TOKEN").empty())
        login.token = checked_token(variable("GETSTEP_TOKEN"), "The token in the variable GETSTEP_TOKEN");
    else if (!variable("GETSTEP_TOKEN_FILE").empty()) login.token = token_from_file(variable("GETSTEP_TOKEN_FILE"));
    if (login.team < 0 || login.token.empty()) {
        const std::optional<SavedLogin> saved = saved_login();
        if (saved && login.team < 0) login.team = saved->login.team;
        if (saved && login.token.empty() && login.team == saved->login.team) login.token = saved->login.token;
    }
    if (login.team < 0)
        throw Stop(2, "The team id is missing; the host gave your team one, a number such as 7.\n" + where("team", "TEAM"));
    if (login.token.empty())
        throw Stop(2, "The token of team " + std::to_string(login.team) + " is missing; it is on the slip from the host.\n" +
                          where("token", "TOKEN"));
    return login;
}

/// Return how many seconds after its limit a function that has not returned is given up; 0: never.
inline double find_restart_after(const Options& options) {
    const std::string text =
        trimmed(options.restart_after.empty() ? variable("GETSTEP_RESTART_AFTER") : options.restart_after);
    if (text.empty()) return restart_seconds;
    char* end = nullptr;
    const double seconds = std::strtod(text.c_str(), &end);
    if (*end == '\0' && seconds >= 0 && seconds <= longest_restart_seconds) return seconds;
    throw Stop(2, "The restart-after is " + short_repr(text) + ", expected a number of seconds from 0 to 86400; 0 is never.");
}

/// Return the factor for all pauses before a new connection: GETSTEP_TIME_SCALE, for tests of clients.
inline double time_scale() {
    const std::string text = variable("GETSTEP_TIME_SCALE");
    char* end = nullptr;
    const double scale = std::strtod(text.c_str(), &end);
    return !text.empty() && *end == '\0' && scale >= 0.01 && scale <= 1 ? scale : 1;
}

inline std::string usage(const std::string& program) {
    return "usage: " + program +
           " [--host HOST] [--port PORT] [--team TEAM] [--tls | --tls-pin PIN]\n"
           "       [--token TOKEN | --token-file FILE] [--friendly] [--quiet] [--restart-after SECONDS]\n\n"
           "Play in a getstep bot contest until it is over. You can start it before the contest: it waits\n"
           "for the server. If the connection is lost, it reconnects automatically. Ctrl-C stops it.\n\n"
           "  --host HOST        the host's name or address (default: the saved one, else 127.0.0.1)\n"
           "  --port PORT        the host's port (default 7777; with --friendly 7780)\n"
           "  --tls              connect with TLS; check the certificate of the host\n"
           "  --tls-pin PIN      connect with TLS; the certificate has this key: 64 digits on the slip\n"
           "  --team TEAM        your team's id, a number\n"
           "  --token TOKEN      your team's token\n"
           "  --token-file FILE  a text file that holds the token alone\n"
           "  --friendly         play against people on the live page; these matches count nowhere\n"
           "  --quiet            print problems only\n"
           "  --restart-after SECONDS\n"
           "                     start the program again if GetStep has not returned so long after its limit\n"
           "                     (default 10; 0: never)\n\n"
           "Missing values are taken from GETSTEP_HOST, GETSTEP_PORT, GETSTEP_TLS, GETSTEP_TEAM,\n"
           "GETSTEP_TOKEN, GETSTEP_TOKEN_FILE and GETSTEP_RESTART_AFTER, then from what getstep login has saved.\n\n"
           "exit codes: 0 the contest is over, 1 refused or failed, 2 wrong usage, 130 stopped by Ctrl-C";
}

/// Return the options of a command line. Throws Stop: with code 0 and the help, or with code 2 and the mistake.
inline Options parse_arguments(int argc, const char* const* argv) {
    Options options;
    const std::string program = argc > 0 && argv[0] ? argv[0] : "my_bot";
    for (int n = 1; n < argc; ++n) {
        std::string name = argument(argv[n]), value;
        const std::size_t equals = name.find('=');
        const bool joined = name.compare(0, 2, "--") == 0 && equals != std::string::npos;
        if (joined) {
            value = name.substr(equals + 1);
            name.resize(equals);
        }
        if (!joined && (name == "--help" || name == "-h")) throw Stop(0, usage(program));
        if (!joined && name == "--version") throw Stop(0, "getstep C++ " GETSTEP_VERSION);
        if (!joined && name == "--quiet") {
            options.quiet = true;
            continue;
        }
        if (!joined && name == "--tls") {
            if (options.tls.empty()) options.tls = "roots";
            continue;
        }
        if (!joined && name == "--friendly") {
            options.friendly = true;
            continue;
        }
        std::string* target = name == "--host"            ? &options.host
                              : name == "--port"          ? &options.port
                              : name == "--tls-pin"       ? &options.tls
                              : name == "--team"          ? &options.team
                              : name == "--token"         ? &options.token
                              : name == "--token-file"    ? &options.token_file
                              : name == "--restart-after" ? &options.restart_after
                                                          : nullptr;
        if (!target) throw Stop(2, "unknown argument " + short_repr(argument(argv[n])) + "; --help lists all");
        if (!joined && ++n == argc) throw Stop(2, name + " needs a value; --help lists all");
        *target = joined ? value : argument(argv[n]);
        options.has_token = options.has_token || target == &options.token;
    }
    if (options.has_token && !options.token_file.empty()) throw Stop(2, "give --token or --token-file, not both");
    return options;
}

// --- lines for the bot's author -----------------------------------------------------------------------------------

class Console {
public:
    explicit Console(bool quiet) : quiet_(quiet) {}
    bool quiet() const { return quiet_; }

    /// Print a line of progress.
    void say(const std::string& line) {
        if (!quiet_) write(stdout, line);
    }
    /// Print a problem.
    void warn(const std::string& text) { write(stderr, text); }

private:
    void write(std::FILE* stream, const std::string& text) {
        const std::lock_guard<std::mutex> lock(mutex_);
        std::fwrite((text + "\n").data(), 1, text.size() + 1, stream);
        std::fflush(stream);
    }

    bool quiet_;
    std::mutex mutex_;
};

inline std::string move_text(const std::string& game) {
    if (game == "hop") return "a list of squares, the piece's own first, for example {{0, 0}, {0, 1}}";
    if (game == "linkage") return "(colour, square, square), for example getstep::domino(\"R\", {0, 0}, {0, 1})";
    if (game == "longest_path" || game == "chain_reaction" || game == "pseudo_tonga")
        return "(row, column), for example {0, 0}";
    return "as the contest's rules say";
}

/// Append the squares in a move, each an array of two ints.
inline void collect_squares(const Value& move, Board& squares) {
    if (!move.is(Value::Kind::array)) return;
    const std::vector<Value>& items = move.items();
    const auto fits = [](const Value& item) {
        return item.is(Value::Kind::integer) && item.as_integer() >= -1000000 && item.as_integer() <= 1000000;
    };
    if (items.size() == 2 && fits(items[0]) && fits(items[1]))
        squares.push_back({static_cast<int>(items[0].as_integer()), static_cast<int>(items[1].as_integer())});
    else
        for (const Value& item : items) collect_squares(item, squares);
}

/// How a number on a board is drawn. The legend has one piece of each kind.
struct Piece {
    std::string text, name, kind;
};

/// Return the piece of a number, in the words of the Python SDK; nothing for an empty square.
inline std::optional<Piece> piece_of(const std::string& game, int value) {
    static const std::map<std::pair<std::string, int>, std::pair<std::string, std::string>> pieces = {
        {{"hop", 1}, {"B", "black piece"}},
        {{"hop", 2}, {"W", "white piece"}},
        {{"pseudo_tonga", 1}, {"B", "black stone"}},
        {{"pseudo_tonga", 2}, {"W", "white stone"}},
        {{"longest_path", 1}, {"1", "piece of Player 1"}},
        {{"longest_path", 2}, {"2", "piece of Player 2"}},
        {{"linkage", -1}, {"#", "blocked centre"}},
        {{"linkage", -2}, {"x", "empty, next to the last domino"}},
        {{"linkage", 1}, {"R", "red half-domino"}},
        {{"linkage", 2}, {"B", "blue half-domino"}},
        {{"linkage", 3}, {"G", "green half-domino"}},
        {{"linkage", 4}, {"Y", "yellow half-domino"}}};
    if (value == 0) return std::nullopt;
    const std::string number = std::to_string(value), size = std::to_string(value > 0 ? value : -static_cast<std::int64_t>(value));
    const auto found = pieces.find({game, value});
    if (found != pieces.end()) return Piece{found->second.first, found->second.second, found->second.second};
    if (game == "chain_reaction" && value >= -7 && value <= 7) {
        const std::string player = value > 0 ? "Red" : "Green";
        return Piece{player.substr(0, 1) + size, size + (size == "1" ? " orb of " : " orbs of ") + player, player};
    }
    const bool is_known = game == "chain_reaction" || pieces.count({game, 1}) > 0;
    if (!is_known && value == 1) return Piece{"1", "piece of the first player", "first"};
    if (!is_known && value == 2) return Piece{"2", "piece of the second player", "second"};
    if (!is_known && value >= -9 && value < 0) return Piece{number, size + " of the second player", "second"};
    return Piece{number.substr(0, 2), (!is_known && value > 0 && value <= 9 ? "tile " : "value ") + number, "tile"};
}

/// Return a board as text, with the squares of an illegal move between exclamation marks, and what its signs mean: the
/// drawing of the Python SDK. Empty if it has no rows of one length.
inline std::string board_text(const std::string& game, const Board& board, const Value* move) {
    const std::size_t columns = board.empty() ? 0 : board[0].size();
    Board named;
    if (move) collect_squares(*move, named);
    const auto is_marked = [&](std::size_t row, std::size_t column) {
        return std::find(named.begin(), named.end(), std::vector<int>{static_cast<int>(row), static_cast<int>(column)}) != named.end();
    };
    const bool is_hop = game == "hop";
    std::size_t width = is_hop || game == "pseudo_tonga" || game == "longest_path" || game == "linkage" ? 1 : 2;  // of texts
    std::vector<std::string> kinds;
    std::string pieces;
    bool any_marked = false;
    for (std::size_t row = 0; row < board.size(); ++row) {
        if (board[row].size() != columns) return "";
        for (std::size_t column = 0; column < columns; ++column) {
            any_marked = any_marked || is_marked(row, column);
            const std::optional<Piece> piece = piece_of(game, board[row][column]);
            if (!piece) continue;
            width = (std::max)(width, piece->text.size());
            if (std::find(kinds.begin(), kinds.end(), piece->kind) != kinds.end()) continue;
            kinds.push_back(piece->kind);
            pieces += ", " + piece->text + " " + piece->name;
        }
    }
    if (columns == 0) return "";
    const auto padded = [](const std::string& text, std::size_t most) { return std::string(most > text.size() ? most - text.size() : 0, ' '); };
    const auto trimmed_right = [](const std::string& text) { return text.substr(0, text.find_last_not_of(' ') + 1); };
    std::string head = "        ";
    for (std::size_t column = 0; column < columns; ++column) {
        const std::string number = std::to_string(column);
        head += padded(number, width + 1) + number + " ";
    }
    std::string text = trimmed_right(head);
    for (std::size_t row = 0; row < board.size(); ++row) {
        const std::string number = std::to_string(row);
        std::string line = "    " + padded(number, 2) + number + "  ";
        for (std::size_t column = 0; column < columns; ++column) {
            const std::string frame = is_marked(row, column) ? "!" : " ";
            const bool is_target = is_hop && row < 8 && (column < 2 || column == 6 || column == 7);
            const std::optional<Piece> piece = piece_of(game, board[row][column]);
            const std::string cell = piece ? piece->text : is_target ? ":" : ".";
            line += frame + cell + padded(cell, width) + frame;
        }
        text += "\n" + trimmed_right(line);
    }
    const std::string legend = (any_marked ? ", ! ! the squares that you returned" : "") + pieces +
                               (is_hop ? ", : Black's target region or White's target region" : "");
    return legend.empty() ? text : text + "\n    " + legend.substr(2);
}

/// The result of calling the bot once. `move` is sent, unless there is an `error`; the author reads `problem`.
struct CallResult {
    Value move;
    std::optional<std::string> error;
    Value notes;  // of the move; nil if there are none
    std::string problem;
    double ms = 0;
    bool resigns = false;  // the bot gives up the match
};

/// A match in progress, and its lines.
struct Match {
    explicit Match(const Start& start_) : start(start_) {}

    Start start;
    std::set<std::int64_t> answered;  // ids: an answer may be sent again after a reconnect, and counts once
    double longest_ms = 0, total_ms = 0;
    int boards_left = boards_drawn;

    std::string start_text() const {
        std::string options, limit = duration(static_cast<double>(start.time_ms));
        for (const auto& option : start.options)
            options += (options.empty() ? " (" : ", ") + escaped(option.first) + " " + std::to_string(option.second);
        if (!options.empty()) options += ")";
        if (start.time_kind == "move") limit += " a move";
        else {
            limit += " for all your moves together";
            if (start.increment_ms > 0)
                limit += " and " + duration(static_cast<double>(start.increment_ms)) + " more after each answer";
        }
        return std::string(start.friendly ? "Friendly match " : "Match ") + std::to_string(start.match) +
               (start.resumed ? " continues" : "") + ": " + escaped(start.game) + options + " against " +
               escaped(start.opponent) + ", you are " +
               (start.is_black ? "the first player (is_black is true)" : "the second player (is_black is false)") + "; " +
               limit + ", plus " + duration(static_cast<double>(start.lag_ms)) + " for network delay" +
               (start.friendly ? ". It counts nowhere" : "");
    }

    Turn turn(const Ask& ask) const {
        Turn made;
        made.game = start.game;
        made.match = start.match;
        made.move_number = ask.move_number;
        made.opponent = start.opponent;
        made.last_move = ask.last_move;
        collect_squares(ask.last_move, made.last_squares);
        if (ask.last_move.is(Value::Kind::array) && !ask.last_move.items().empty() &&
            ask.last_move.items()[0].is(Value::Kind::text))
            made.last_colour = ask.last_move.items()[0].as_text();
        made.time_left_ms = ask.time_left_ms;
        made.options = start.options;
        made.increment_ms = start.increment_ms;
        made.opening = start.opening;
        for (const Value& move : start.opening) {
            made.opening_squares.emplace_back();
            collect_squares(move, made.opening_squares.back());
        }
        return made;
    }

    /// Return after how many milliseconds the server begins to skip turns; infinity if one limit takes all.
    double stalled_after_ms(const Ask& ask) const {
        if (start.time_kind != "move") return (std::numeric_limits<double>::infinity)();
        return static_cast<double>(ask.time_left_ms + start.lag_ms) +
               (stalled_misses - 1) * static_cast<double>(start.time_ms + start.lag_ms);
    }

    std::string line(const Ask& ask) const {
        return "Match " + std::to_string(start.match) + ", move " + std::to_string(ask.move_number) + ": ";
    }

    std::string lateness_text(const Ask& ask, double ms) const {
        const double limit = static_cast<double>(ask.time_left_ms);
        const std::string took = line(ask) + "GetStep took " + duration(ms);
        if (ms <= limit) return took + " of " + duration(limit);
        return took + ", " + duration(ms - limit) + " over the limit of " + duration(limit);
    }

    std::string end_text(const End& end) const {
        static const std::map<std::string, std::string> outcomes = {
            {"win", "won"}, {"draw", "a draw"}, {"loss", "lost"}, {"void", "void"}};
        std::string text = "Match " + std::to_string(start.match) + ": " + outcomes.at(end.result) + " (" +
                           escaped(end.reason) + "): " + without_last_point(escaped(end.detail)) + ".";
        if (end.scores.is(Value::Kind::array)) {
            const Value& mine = end.scores.items()[start.is_black ? 0 : 1];
            const Value& theirs = end.scores.items()[start.is_black ? 1 : 0];
            text += " Score: you " + short_repr(mine) + ", they " + short_repr(theirs) + ".";
        }
        return text + " Your moves: " + std::to_string(answered.size()) + ", longest " + duration(longest_ms) +
               ", together " + duration(total_ms) + ".";
    }
};

/// A question, the bot's answer to it, and whether that was sent.
struct Question {
    Question(const Ask& ask_, std::shared_ptr<Match> match_) : ask(ask_), match(std::move(match_)) {}
    Ask ask;
    std::shared_ptr<Match> match;
    std::optional<CallResult> call;
    bool answered = false;
};

/// Problems of the bot by their text: each is shown once, and then counted.
class RepeatedProblems {
public:
    bool is_new(const std::string& problem) {
        if (shown_.count(problem)) {
            ++again_[problem];
            return false;
        }
        if (shown_.size() < 100) shown_.insert(problem);
        return true;
    }
    std::vector<std::string> end_match() {
        std::vector<std::string> lines;
        for (const auto& problem : again_) {
            const std::size_t last = problem.first.find_last_of('\n');
            lines.push_back("the same problem as before occurred " + std::to_string(problem.second) + " more time" +
                            (problem.second > 1 ? "s" : "") + ": " +
                            escaped(trimmed(last == std::string::npos ? problem.first : problem.first.substr(last + 1))));
        }
        again_.clear();
        return lines;
    }

private:
    std::set<std::string> shown_;
    std::map<std::string, int> again_;
};

// --- the pauses between connections: protocol.md, "Reconnecting", and docs/proofs.md, "Trust" ------------------------------------------

class Backoff {
public:
    Backoff() : random_(std::random_device()()) {}
    void reset() { next_ = first_pause_seconds; }
    /// Return the next pause, in seconds.
    double next() {
        const double pause = next_;
        next_ = (std::min)(2 * pause, longest_pause_seconds);
        return pause * between(1 - jitter, 1);
    }
    /// Return true once several attempts in a row have failed: a server that was restarted would be back.
    bool is_long() const { return next_ >= longest_pause_seconds / 2; }
    /// Return how long to wait after a goodbye.
    double after(const Goodbye& goodbye, bool proved) {
        if (!goodbye.retry_ms) return (std::max)(next(), shortest_retry_seconds);  // a goodbye that is not believed
        const double seconds = static_cast<double>(*goodbye.retry_ms) / 1000;
        if (proved) return seconds * between(1, 1 + jitter);
        return (std::min)((std::max)(seconds, shortest_retry_seconds) * between(1, 1 + jitter), longest_retry_seconds);
    }

private:
    double between(double lowest, double highest) {
        return std::uniform_real_distribution<double>(lowest, highest)(random_);
    }

    double next_ = first_pause_seconds;
    std::minstd_rand random_;
};

/// Return true if the bot stops after `goodbye`: the table in docs/proofs.md, "Trust".
inline bool ends_the_run(const Goodbye& goodbye, bool proved, bool welcomed, bool ever_proved) {
    if (goodbye.retry_ms) return false;
    if (proved) return true;
    if (ever_proved || goodbye.reason == "contest_over") return false;
    return !welcomed || goodbye.reason == "replaced";
}

// --- the socket ---------------------------------------------------------------------------------------------------

#ifdef _WIN32
using SocketHandle = SOCKET;
constexpr SocketHandle no_socket = INVALID_SOCKET;
inline int last_socket_error() { return WSAGetLastError(); }
inline void close_socket(SocketHandle handle) { closesocket(handle); }
inline bool would_block(int code) { return code == WSAEWOULDBLOCK || code == WSAEINTR; }
inline bool is_connecting(int code) { return code == WSAEWOULDBLOCK || code == WSAEINPROGRESS; }
inline bool is_refused(int code) { return code == WSAECONNREFUSED; }
inline bool is_no_way(int code) { return code == WSAEHOSTUNREACH || code == WSAENETUNREACH || code == WSAENETDOWN; }
inline bool is_timeout(int code) { return code == WSAETIMEDOUT; }
constexpr int timed_out = WSAETIMEDOUT;
#else
using SocketHandle = int;
constexpr SocketHandle no_socket = -1;
inline int last_socket_error() { return errno; }
inline void close_socket(SocketHandle handle) { ::close(handle); }
inline bool would_block(int code) { return code == EWOULDBLOCK || code == EAGAIN || code == EINTR; }
inline bool is_connecting(int code) { return code == EINPROGRESS || code == EWOULDBLOCK; }
inline bool is_refused(int code) { return code == ECONNREFUSED; }
inline bool is_no_way(int code) { return code == EHOSTUNREACH || code == ENETUNREACH || code == ENETDOWN; }
inline bool is_timeout(int code) { return code == ETIMEDOUT; }
constexpr int timed_out = ETIMEDOUT;
#endif

/// Return why a name does not resolve.
inline std::string resolver_text(int code) {
#ifdef _WIN32
    return gai_strerrorA(code);
#else
    return gai_strerror(code);
#endif
}

inline std::string system_text(int code) {
#ifdef _WIN32
    return code == WSAECONNRESET ? "the connection was reset" : "Windows error " + std::to_string(code);
#else
    return std::strerror(code);
#endif
}

/// Return why there is no connection, in words for the bot's author.
inline std::string explain(int code, const Address& address) {
    if (is_refused(code)) {
        std::optional<SavedLogin> saved;
        try {
            saved = saved_login();
        } catch (const Stop&) {  // it is not needed here
        }
        if (!saved || !(saved->address == address) || saved->seen_at.empty())
            return "nothing listens there; the server is not running yet, or the port is wrong";
        const std::string contest = short_repr(saved->contest);
        if (saved->over)
            return "nothing listens there any more; " + contest + " was over when it was last seen, " + saved->seen_at;
        return "nothing listens there now; " + contest + " was there on " + saved->seen_at +
               " and was not over. The host has stopped it for now, or has a new address";
    }
    if (is_timeout(code)) return "no answer; the address is wrong, or a firewall or another network is between";
    if (is_no_way(code)) return "no way to that address; is this computer in the host's network?";
    return escaped(system_text(code));
}

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

#ifdef GETSTEP_TLS
/// TLS over a socket that does not block, with OpenSSL. A pin stands for the name, the dates and the authority of the
/// certificate.
class Tls {
public:
    /// Throws ConnectionFailed.
    explicit Tls(const Address& address)
        : by_pin_(address.tls != "roots"), pin_(address.tls), context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free) {
        if (!context_) throw ConnectionFailed(text());
        SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
        SSL_CTX_set_mode(context_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        if (!by_pin_) {
            SSL_CTX_set_default_verify_paths(context_.get());
            SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
        }
        ssl_.reset(SSL_new(context_.get()));
        if (!ssl_) throw ConnectionFailed(text());
        X509_VERIFY_PARAM* const wanted = SSL_get0_param(ssl_.get());
        // an address in numbers is in another field of the certificate than a name
        if (X509_VERIFY_PARAM_set1_ip_asc(wanted, address.host.c_str()) != 1) {
            ERR_clear_error();
            X509_VERIFY_PARAM_set1_host(wanted, address.host.c_str(), 0);
            SSL_set_tlsext_host_name(ssl_.get(), address.host.c_str());
        }
    }

    /// Go on with the handshake. Return 1 when it is complete, 0 to wait for the server, -1 after a failure (`text`).
    int shake_hands(SocketHandle handle) {
        if (SSL_get_fd(ssl_.get()) < 0) SSL_set_fd(ssl_.get(), static_cast<int>(handle));
        ERR_clear_error();
        const int result = SSL_connect(ssl_.get());
        if (result != 1) return again(result) ? 0 : -1;
        return by_pin_ && found_pin() != pin_ ? -1 : 1;
    }

    bool has_text() const { return SSL_pending(ssl_.get()) > 0; }

    /// As recv: the number of bytes, 0 at the end, -1 after a failure; `blocked` is true if it has to be tried again.
    int receive(char* buffer, std::size_t size, bool& blocked) const {
        ERR_clear_error();
        const int count = SSL_read(ssl_.get(), buffer, static_cast<int>(size));
        blocked = count <= 0 && again(count);
        return count > 0 ? count : SSL_get_error(ssl_.get(), count) == SSL_ERROR_ZERO_RETURN ? 0 : -1;
    }

    /// As send.
    int send(const char* data, std::size_t size, bool& blocked) const {
        ERR_clear_error();
        const int count = SSL_write(ssl_.get(), data, static_cast<int>(size));
        blocked = count <= 0 && again(count);
        return count;
    }

    /// Return why the handshake has failed.
    std::string text() const {
        const std::string found = ssl_ ? found_pin() : "";
        if (by_pin_ && !found.empty() && found != pin_)
            return "the server's certificate has another key than the pin says, so it is not your host, or the host has a"
                   " new key (pin " + found + ")";
        const long problem = ssl_ ? SSL_get_verify_result(ssl_.get()) : X509_V_OK;
        if (!by_pin_ && problem != X509_V_OK)
            return std::string("the certificate of the host is not to be trusted: ") +
                   X509_verify_cert_error_string(problem) + ". If the slip from the host has a pin, give it with --tls-pin";
        const unsigned long code = ERR_peek_last_error();
        if (ERR_GET_REASON(code) == SSL_R_WRONG_VERSION_NUMBER || ERR_GET_REASON(code) == SSL_R_PACKET_LENGTH_TOO_LONG)
            return "what answers there does not speak TLS; without --tls, the bot connects without it";
        const char* const reason = ERR_reason_error_string(code);
        return std::string("TLS: ") + (reason ? reason : "the server closed the connection during the handshake");
    }

private:
    bool again(int result) const {
        const int code = SSL_get_error(ssl_.get(), result);
        return code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE;
    }

    std::string found_pin() const {
        const std::unique_ptr<X509, void (*)(X509*)> certificate(SSL_get_peer_certificate(ssl_.get()), X509_free);
        if (!certificate) return "";
        unsigned char* key = nullptr;
        const int length = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate.get()), &key);
        if (length <= 0) return "";
        unsigned char digest[EVP_MAX_MD_SIZE];
        unsigned int size = 0;
        EVP_Digest(key, static_cast<std::size_t>(length), digest, &size, EVP_sha256(), nullptr);
        OPENSSL_free(key);
        std::string digits;
        for (unsigned int n = 0; n < size; ++n) {
            digits += "0123456789abcdef"[digest[n] >> 4];
            digits += "0123456789abcdef"[digest[n] & 15];
        }
        return digits;
    }

    bool by_pin_;
    std::string pin_;
    std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
    std::unique_ptr<SSL, void (*)(SSL*)> ssl_{nullptr, SSL_free};
};
#endif

/// A TCP connection. Waits are in ticks, between which the given function is called.
class Socket {
public:
    Socket() = default;
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket() { close(); }

    bool is_open() const { return handle_ != no_socket; }

    void close() {
        if (is_open()) close_socket(handle_);
        handle_ = no_socket;
#ifdef GETSTEP_TLS
        tls_.reset();
#endif
    }

    /// Take over the connection of another.
    void take(Socket& other) {
        close();
        std::swap(handle_, other.handle_);
#ifdef GETSTEP_TLS
        std::swap(tls_, other.tls_);
#endif
    }

    /// Connect to the first of the host's addresses that accepts. Throws Unreachable or ConnectionFailed.
    void connect(const Address& address, const std::function<void()>& at_tick) {
        struct addrinfo hints;
        std::memset(&hints, 0, sizeof hints);
        hints.ai_family = AF_UNSPEC;
        hints.ai_socktype = SOCK_STREAM;
        struct addrinfo* found = nullptr;
        const std::string port = std::to_string(address.port);
        const int problem = ::getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found);
        if (problem != 0 || !found)
            throw Unreachable("No computer is called " + short_repr(address.host) + " in this network (" +
                              resolver_text(problem) +
                              ").\nCheck the spelling, or ask the host for the address in numbers, such as 192.168.1.10.");
        const std::unique_ptr<struct addrinfo, void (*)(struct addrinfo*)> owner(found, [](struct addrinfo* list) { ::freeaddrinfo(list); });
        int code = timed_out;
        for (const struct addrinfo* one = found; one; one = one->ai_next) {
            code = connect_to(*one, at_tick);
            if (code == 0) {
#ifdef GETSTEP_TLS
                if (!address.tls.empty()) shake_hands(address, at_tick);
#endif
                return;
            }
            close();
        }
        throw ConnectionFailed(explain(code, address));
    }

    /// Wait until there is something to read. Return false after `seconds`.
    bool wait_readable(double seconds) const {
#ifdef GETSTEP_TLS
        if (tls_ && tls_->has_text()) return true;
#endif
        return wait(handle_, false, seconds);
    }

    /// Return the address and the port of the peer as in `join`: without the zone, which only this computer knows.
    std::string peer() const {
        struct sockaddr_storage address = {};
        socklen_t length = sizeof address;
        char host[256] = "", port[16] = "";
        struct sockaddr* const any = reinterpret_cast<struct sockaddr*>(&address);
        if (::getpeername(handle_, any, &length) != 0 ||
            ::getnameinfo(any, length, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
            throw ConnectionFailed("the server closed the connection");
        std::string text = host;
        text = text.substr(0, text.find('%'));
        return (text.find(':') == std::string::npos ? text : "[" + text + "]") + ":" + port;
    }

    /// Read what has arrived. Return the number of bytes, 0 if nothing has, -1 if the connection has ended: `why` says
    /// why, and is empty if the server has closed it.
    int receive(char* buffer, std::size_t size, std::string& why) const {
#ifdef GETSTEP_TLS
        if (tls_) {
            bool blocked = false;
            const int length = tls_->receive(buffer, size, blocked);
            why = "";
            return length > 0 ? length : blocked ? 0 : -1;
        }
#endif
#ifdef _WIN32
        const int count = ::recv(handle_, buffer, static_cast<int>(size), 0);
#else
        const int count = static_cast<int>(::recv(handle_, buffer, size, 0));
#endif
        if (count > 0) return count;
        if (count < 0 && would_block(last_socket_error())) return 0;
        why = count == 0 ? "" : escaped(system_text(last_socket_error()));
        return -1;
    }

    /// Send all bytes. Return false if the connection has ended, or does not take them within `send_seconds`.
    bool send(const std::string& data) const {
        const Clock::time_point since = Clock::now();
        std::size_t sent = 0;
        while (sent < data.size()) {
#ifdef GETSTEP_TLS
            if (tls_) {
                bool blocked = false;
                const int length = tls_->send(data.data() + sent, data.size() - sent, blocked);
                const double time = send_seconds - seconds_since(since);
                if (length > 0) sent += static_cast<std::size_t>(length);
                if (length <= 0 && (!blocked || time <= 0)) return false;
                if (length <= 0) wait(handle_, true, (std::min)(time, tick_seconds));
                continue;
            }
#endif
#ifdef _WIN32
            const int count = ::send(handle_, data.data() + sent, static_cast<int>(data.size() - sent), 0);
#elif defined(MSG_NOSIGNAL)
            const ssize_t count = ::send(handle_, data.data() + sent, data.size() - sent, MSG_NOSIGNAL);
#else
            const ssize_t count = ::send(handle_, data.data() + sent, data.size() - sent, 0);
#endif
            if (count > 0) {
                sent += static_cast<std::size_t>(count);
                continue;
            }
            const double left = send_seconds - seconds_since(since);
            if (count == 0 || !would_block(last_socket_error()) || left <= 0) return false;
            wait(handle_, true, (std::min)(left, tick_seconds));
        }
        return true;
    }

private:
    static bool wait(SocketHandle handle, bool for_writing, double seconds) {
        const int ms = static_cast<int>((std::max)(0.0, std::ceil(seconds * 1000)));
#ifdef _WIN32
        fd_set watched, failed;
        FD_ZERO(&watched);
        FD_SET(handle, &watched);
        failed = watched;  // a connection that fails is reported here
        struct timeval limit = {ms / 1000, (ms % 1000) * 1000};
        return ::select(0, for_writing ? nullptr : &watched, for_writing ? &watched : nullptr, &failed, &limit) > 0;
#else
        struct pollfd watched = {handle, static_cast<short>(for_writing ? POLLOUT : POLLIN), 0};
        return ::poll(&watched, 1, ms) > 0;
#endif
    }

    int connect_to(const struct addrinfo& one, const std::function<void()>& at_tick) {
        handle_ = ::socket(one.ai_family, one.ai_socktype, one.ai_protocol);
        if (!is_open()) return last_socket_error();
        if (!set_non_blocking()) return last_socket_error();
#ifdef _WIN32
        const int size = static_cast<int>(one.ai_addrlen);
#else
        const socklen_t size = one.ai_addrlen;
#endif
        if (::connect(handle_, one.ai_addr, size) != 0) {
            const int code = last_socket_error();
            if (!is_connecting(code)) return code;
            const Clock::time_point since = Clock::now();
            while (!wait(handle_, true, tick_seconds)) {
                at_tick();
                if (seconds_since(since) > connect_seconds) return timed_out;
            }
            int result = 0;
            socklen_t length = sizeof result;
            if (::getsockopt(handle_, SOL_SOCKET, SO_ERROR, reinterpret_cast<char*>(&result), &length) != 0)
                return last_socket_error();
            if (result != 0) return result;
        }
        set_options();
        return 0;
    }

    bool set_non_blocking() const {
#ifdef _WIN32
        SetHandleInformation(reinterpret_cast<HANDLE>(handle_), HANDLE_FLAG_INHERIT, 0);
        u_long on = 1;
        return ::ioctlsocket(handle_, FIONBIO, &on) == 0;
#else
        ::fcntl(handle_, F_SETFD, FD_CLOEXEC);  // a program that the bot starts does not keep the connection
        return ::fcntl(handle_, F_SETFL, ::fcntl(handle_, F_GETFL, 0) | O_NONBLOCK) == 0;
#endif
    }

    /// Send without delay, and detect a dead peer within 20 s: 5 s + 3 x 5 s. Old systems ignore that. Another computer
    /// may have taken over by then. While an answer is not acknowledged, there is no keep-alive.
    void set_options() const {
        const auto set = [this](int level, int option, int value) {
            ::setsockopt(handle_, level, option, reinterpret_cast<const char*>(&value), sizeof value);
        };
        set(IPPROTO_TCP, TCP_NODELAY, 1);
        set(SOL_SOCKET, SO_KEEPALIVE, 1);
#ifdef SO_NOSIGPIPE
        set(SOL_SOCKET, SO_NOSIGPIPE, 1);
#endif
#ifdef _WIN32
        struct tcp_keepalive times = {1, 5000, 1500};  // Windows sends 10 probes
        DWORD written = 0;
        WSAIoctl(handle_, SIO_KEEPALIVE_VALS, &times, sizeof times, nullptr, 0, &written, nullptr, nullptr);
#elif defined(TCP_KEEPIDLE)
        set(IPPROTO_TCP, TCP_KEEPIDLE, 5);
#elif defined(TCP_KEEPALIVE)
        set(IPPROTO_TCP, TCP_KEEPALIVE, 5);
#endif
#if defined(TCP_KEEPINTVL) && !defined(_WIN32)
        set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
#endif
#if defined(TCP_KEEPCNT) && !defined(_WIN32)
        set(IPPROTO_TCP, TCP_KEEPCNT, 3);
#endif
#ifdef TCP_USER_TIMEOUT
        set(IPPROTO_TCP, TCP_USER_TIMEOUT, 20000);
#endif
    }

#ifdef GETSTEP_TLS
    void shake_hands(const Address& address, const std::function<void()>& at_tick) {
        tls_ = std::make_unique<Tls>(address);
        const Clock::time_point since = Clock::now();
        int done = 0;
        while ((done = tls_->shake_hands(handle_)) == 0) {
            if (!wait(handle_, false, tick_seconds)) at_tick();
            if (seconds_since(since) > connect_seconds) throw ConnectionFailed("no TLS handshake within 5 s");
        }
        if (done < 0) throw ConnectionFailed(escaped(tls_->text()));
    }

    std::unique_ptr<Tls> tls_;
#endif
    SocketHandle handle_ = no_socket;
};

// --- finding the host on the network (docs/standby.md) --------------------------------------------------------------

/// A server that has answered by multicast DNS. Any computer can announce anything: only a proof counts.
struct FoundServer {
    std::string instance, contest;
    int port = 0;
    std::int64_t fence = 0;
    std::vector<std::string> hosts;
};

/// An answer of multicast DNS (RFC 6762, section 5.1). Reading throws std::out_of_range if it ends too early or is wrong.
class DnsAnswer {
public:
    explicit DnsAnswer(std::string packet) : packet_(std::move(packet)) {}

    static std::string question(unsigned number) {
        const unsigned char head[] = {static_cast<unsigned char>(number >> 8), static_cast<unsigned char>(number), 0, 0, 0, 1,
                                      0, 0, 0, 0, 0, 0};
        return std::string(head, head + sizeof head) + std::string("\x08_getstep\x04_tcp\x05local\0\0\x0c\0\x01", 25);
    }

    std::vector<FoundServer> servers(unsigned asked) {
        std::vector<FoundServer> found;
        const unsigned records = number(6) + number(8) + number(10);
        if (number(0) != asked || (number(2) & 0xf80fu) != 0x8000u || number(4) > 4 || records > 64) return found;
        for (unsigned n = number(4); n > 0; --n) {
            name();
            at_ += 4;
        }
        std::map<std::string, std::pair<int, std::string>> places;
        std::map<std::string, std::string> texts;
        std::map<std::string, std::vector<std::string>> addresses;
        std::set<std::string> instances;
        for (unsigned n = 0; n < records; ++n) {
            const std::string owner = name();
            const unsigned kind = number(at_);
            const bool counts = (number(at_ + 2) & 0x7fffu) == 1 && (number(at_ + 4) | number(at_ + 6)) != 0;
            const std::size_t start = at_ + 10, end = start + number(at_ + 8);
            if (end > packet_.size()) throw std::out_of_range("a record");
            at_ = start;
            if (counts && kind == 12 && owner == "_getstep._tcp.local.") instances.insert(name());
            if (counts && kind == 33 && places.count(owner) == 0) {
                const int port = static_cast<int>(number(start + 4));
                at_ = start + 6;
                places[owner] = {port, name()};
            }
            if (counts && kind == 16) texts.emplace(owner, packet_.substr(start, end - start));
            if (counts && kind == 1 && end == start + 4) {
                std::string host;
                for (std::size_t k = start; k < end; ++k) host += (host.empty() ? "" : ".") + std::to_string(byte(k));
                addresses[owner].push_back(host);
            }
            at_ = end;
        }
        for (const std::string& instance : instances) {
            FoundServer server{instance, escaped(value(texts[instance], "contest")), places[instance].first, 0,
                               addresses[places[instance].second]};
            const std::string fence = value(texts[instance], "fence");
            if (!fence.empty() && fence.size() <= 10 && fence.find_first_not_of("0123456789") == std::string::npos)
                server.fence = std::strtoll(fence.c_str(), nullptr, 10);
            if (server.hosts.size() > 8) server.hosts.resize(8);
            if (server.port > 0) found.push_back(server);
        }
        return found;
    }

private:
    unsigned byte(std::size_t place) const { return static_cast<unsigned char>(packet_.at(place)); }
    unsigned number(std::size_t place) const { return byte(place) << 8 | byte(place + 1); }

    std::string name() {
        std::string text;
        std::size_t here = at_, lowest = at_, after = 0;
        for (int pointers = 0; byte(here) != 0;) {
            const unsigned length = byte(here);
            if (length >= 0xc0) {
                if (after == 0) after = here + 2;
                here = number(here) & 0x3fffu;
                if (here >= lowest || ++pointers > 8) throw std::out_of_range("a name");  // only backwards: no name is endless
                lowest = here;
                continue;
            }
            if (length >= 0x40 || here + 1 + length > packet_.size() || text.size() + length >= 255)
                throw std::out_of_range("a name");
            for (const char c : packet_.substr(here + 1, length)) text += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
            text += '.';
            here += 1 + length;
        }
        at_ = after == 0 ? here + 1 : after;
        return text;
    }

    /// Return a value of a TXT record; empty if it has none of that name.
    static std::string value(const std::string& data, const std::string& wanted) {
        for (std::size_t at = 0; at < data.size(); at += 1 + static_cast<unsigned char>(data[at])) {
            const std::string text = data.substr(at + 1, static_cast<unsigned char>(data[at]));
            if (text.compare(0, wanted.size() + 1, wanted + "=") == 0) return text.substr(wanted.size() + 1);
        }
        return "";
    }

    std::string packet_;
    std::size_t at_ = 12;
};

/// The addresses that a client tries while its own address does not answer. Without `on`, it finds none: the user has
/// named the host.
class Finder {
public:
    Finder() = default;
    Finder(Address own, const std::optional<SavedLogin>& saved, bool port_is_given)
        : on_(true), port_is_given_(port_is_given), own_(std::move(own)) {
        if (saved && !saved->seen_at.empty()) {
            contest_ = escaped(saved->contest);
            token_ = saved->login.token;
        }
    }

    bool on() const { return on_; }
    /// Return true if an address comes from the network, and nothing was proved there yet.
    bool is_found(const Address& address) const { return on_ && !(address == own_); }
    /// Return true if a server has proved before that it knows this token.
    bool knows(const std::string& token) const { return token == token_; }

    /// Return where to connect at once after a failure, or nothing: then to wait, and to connect to `own` again.
    std::optional<Address> next(const Address& failed, Console& console) {
        if (!is_found(failed) && tried_.size() < most_tried) {
            std::vector<FoundServer> found = search(), trying;
            for (const FoundServer& server : found)
                if (server.contest == contest_ && (!port_is_given_ || server.port == own_.port)) trying.push_back(server);
            if (trying.empty() && found.size() == 1 && (!port_is_given_ || found[0].port == own_.port)) trying = found;
            // a computer that was lost may still be announced
            std::stable_sort(trying.begin(), trying.end(),
                             [](const FoundServer& a, const FoundServer& b) { return a.fence > b.fence; });
            for (const FoundServer& server : trying) {
                for (const std::string& host : server.hosts) {
                    const Address address{host, server.port, own_.tls};
                    if (address == own_ || waiting_.size() >= most_tried) continue;
                    if (tried_.insert(address.text()).second)
                        console.say("Found " + short_repr(server.contest) + " at " + address.text() + " on this network.");
                    waiting_.push_back(address);
                }
            }
        }
        if (waiting_.empty()) return std::nullopt;
        const Address address = waiting_.front();
        waiting_.pop_front();
        return address;
    }

    const Address& own() const { return own_; }

    /// Stay at an address, whose server has proved itself.
    void settle(const Address& address, const std::string& contest) {
        own_ = address;
        contest_ = contest;
        waiting_.clear();
    }

private:
    static constexpr std::size_t most_tried = 20, most_interfaces = 16;
    static constexpr int most_packets = 256;
    static constexpr double search_seconds = 1, ask_again_seconds = 0.35;  // multicast on WLAN is not repeated if it is lost

    /// Return the addresses of this computer, one for each of its networks.
    static std::vector<std::uint32_t> locals() {
        std::vector<std::uint32_t> found;
        const auto add = [&found](const struct sockaddr* address) {
            if (address && address->sa_family == AF_INET && found.size() < most_interfaces)
                found.push_back(reinterpret_cast<const struct sockaddr_in*>(address)->sin_addr.s_addr);
        };
#ifdef _WIN32
        char name[256] = "";
        struct addrinfo* list = nullptr;
        if (::gethostname(name, sizeof name) == 0 && ::getaddrinfo(name, nullptr, nullptr, &list) == 0) {
            for (const struct addrinfo* one = list; one; one = one->ai_next) add(one->ai_addr);
            ::freeaddrinfo(list);
        }
        found.push_back(htonl(INADDR_LOOPBACK));
#else
        struct ifaddrs* list = nullptr;
        if (::getifaddrs(&list) == 0) {
            for (const struct ifaddrs* one = list; one; one = one->ifa_next) add(one->ifa_addr);
            ::freeifaddrs(list);
        }
#endif
        return found;
    }

    static std::vector<FoundServer> search() {
        const std::string test = variable("GETSTEP_DISCOVERY");  // docs/conformance.md
        const std::size_t colon = test.find(':');
        struct sockaddr_in to = {};
        to.sin_family = AF_INET;
        to.sin_port = htons(static_cast<std::uint16_t>(colon == std::string::npos ? 5353 : std::atoi(test.c_str() + colon + 1)));
        ::inet_pton(AF_INET, colon == std::string::npos ? "224.0.0.251" : test.substr(0, colon).c_str(), &to.sin_addr);
        const std::vector<std::uint32_t> here =
            colon == std::string::npos ? locals() : std::vector<std::uint32_t>{htonl(INADDR_LOOPBACK)};
        std::vector<SocketHandle> sockets;
        for (const std::uint32_t local : here) {
            const SocketHandle handle = ::socket(AF_INET, SOCK_DGRAM, 0);
            if (handle == no_socket) continue;
            struct sockaddr_in own = {};
            own.sin_family = AF_INET;
            own.sin_addr.s_addr = local;
            ::setsockopt(handle, IPPROTO_IP, IP_MULTICAST_IF, reinterpret_cast<const char*>(&own.sin_addr), sizeof own.sin_addr);
            if (::bind(handle, reinterpret_cast<const struct sockaddr*>(&own), sizeof own) == 0) sockets.push_back(handle);
            else close_socket(handle);
        }
        const unsigned number = std::random_device()() & 0xffffu;
        const std::string question = DnsAnswer::question(number);
        const Clock::time_point since = Clock::now();
        std::vector<FoundServer> found;
        int asked = 0, packets = 0;
        while (seconds_since(since) < search_seconds && packets < most_packets && !sockets.empty()) {
            if (asked == 0 || (asked == 1 && seconds_since(since) >= ask_again_seconds)) {
                ++asked;
                for (const SocketHandle handle : sockets)
                    ::sendto(handle, question.data(), static_cast<int>(question.size()), 0,
                             reinterpret_cast<const struct sockaddr*>(&to), sizeof to);
            }
            for (const SocketHandle handle : sockets)
                for (; packets < most_packets && is_readable(handle); ++packets) read(handle, to, number, found);
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        for (const SocketHandle handle : sockets) close_socket(handle);
        return found;
    }

    static bool is_readable(SocketHandle handle) {
#ifdef _WIN32
        fd_set watched;
        FD_ZERO(&watched);
        FD_SET(handle, &watched);
        struct timeval limit = {0, 0};
        return ::select(0, &watched, nullptr, nullptr, &limit) > 0;
#else
        struct pollfd watched = {handle, POLLIN, 0};
        return ::poll(&watched, 1, 0) > 0;
#endif
    }

    static void read(SocketHandle handle, const struct sockaddr_in& to, unsigned number, std::vector<FoundServer>& found) {
        static std::array<char, 9000> buffer;  // only the network's thread
        struct sockaddr_in from = {};
        socklen_t size = sizeof from;
        const auto count = ::recvfrom(handle, buffer.data(), static_cast<int>(buffer.size()), 0,
                                      reinterpret_cast<struct sockaddr*>(&from), &size);
        if (count <= 0 || from.sin_port != to.sin_port) return;
        const bool own = ntohl(from.sin_addr.s_addr) >> 24 == 127;
        try {
            for (FoundServer& server : DnsAnswer(std::string(buffer.data(), static_cast<std::size_t>(count))).servers(number)) {
                const auto unusable = [own](const std::string& host) {
                    const int first = std::atoi(host.c_str());
                    return first <= 0 || first >= 224 || (first == 127 && !own);
                };
                server.hosts.erase(std::remove_if(server.hosts.begin(), server.hosts.end(), unusable), server.hosts.end());
                const auto same = [&](const FoundServer& other) { return other.instance == server.instance && other.port == server.port; };
                const auto known = std::find_if(found.begin(), found.end(), same);
                if (known == found.end()) {
                    if (!server.hosts.empty()) found.push_back(server);
                    continue;
                }
                for (const std::string& host : server.hosts)
                    if (known->hosts.size() < 8 && std::find(known->hosts.begin(), known->hosts.end(), host) == known->hosts.end())
                        known->hosts.push_back(host);
            }
        } catch (const std::out_of_range&) {
            // any computer can send anything
        }
    }

    bool on_ = false, port_is_given_ = false;
    Address own_;
    std::string contest_, token_;
    std::deque<Address> waiting_;
    std::set<std::string> tried_;
};

// --- the end of the program by a signal ----------------------------------------------------------------------------

inline std::atomic<bool>& stopped_quietly() {
    static std::atomic<bool> quiet{false};
    return quiet;
}

/// The turn in which the bot is called; empty between calls. A crash prints it.
inline char* current_turn() {
    static char text[200] = "";
    return text;
}

/// Write without buffers: the only way that a signal handler may.
inline void write_raw(int stream, const char* text) {
#ifdef _WIN32
    DWORD written = 0;
    WriteFile(GetStdHandle(stream == 1 ? STD_OUTPUT_HANDLE : STD_ERROR_HANDLE), text,
              static_cast<DWORD>(std::strlen(text)), &written, nullptr);
#else
    const ssize_t written = ::write(stream, text, std::strlen(text));
    static_cast<void>(written);
#endif
}

extern "C" inline void getstep_on_interrupt(int) {
    if (!stopped_quietly()) write_raw(1, "Stopped.\n");
    std::_Exit(130);
}

/// Print in which turn the bot has crashed, if it was called.
inline void write_crash(const char* why) {
    if (!current_turn()[0]) return;
    write_raw(2, "getstep: the bot crashed in ");
    write_raw(2, current_turn());
    write_raw(2, why);
}

extern "C" inline void getstep_on_crash(int signal_number) {
    write_crash(signal_number == SIGSEGV   ? " (SIGSEGV: memory that is not there, or a recursion without end)\n"
                : signal_number == SIGFPE  ? " (SIGFPE: a division by zero)\n"
                : signal_number == SIGABRT ? " (SIGABRT: abort, or an exception in another thread)\n"
                                           : " (a signal)\n");
    std::signal(signal_number, SIG_DFL);
    std::raise(signal_number);
}

#ifdef _WIN32
/// What Windows calls before the handlers of the runtime library, which end the program without a word. An exception
/// of C++ is none of these.
inline LONG WINAPI getstep_on_exception(EXCEPTION_POINTERS* raised) {
    switch (raised->ExceptionRecord->ExceptionCode) {
        case EXCEPTION_ACCESS_VIOLATION: write_crash(" (access violation: memory that is not there)\n"); break;
        case EXCEPTION_STACK_OVERFLOW: write_crash(" (stack overflow: a recursion without end)\n"); break;
        case EXCEPTION_INT_DIVIDE_BY_ZERO: write_crash(" (a division by zero)\n"); break;
        case EXCEPTION_ILLEGAL_INSTRUCTION: write_crash(" (an illegal instruction)\n"); break;
        default: break;
    }
    return EXCEPTION_CONTINUE_SEARCH;
}
#endif

/// Print a line for Ctrl-C and, except under a sanitizer, for a crash. A handler of the bot's own stays.
inline void install_signal_handlers(bool quiet) {
    stopped_quietly() = quiet;
    const auto before = std::signal(SIGINT, getstep_on_interrupt);
    if (before != SIG_DFL) std::signal(SIGINT, before);
#ifndef _WIN32
    std::signal(SIGPIPE, SIG_IGN);  // a closed terminal or pipe does not end the bot
#endif
#if defined(_WIN32)
    ULONG reserve = 65536;  // of the stack, for the handler: the bot's calls may have used up the rest
    SetThreadStackGuarantee(&reserve);
    AddVectoredExceptionHandler(0, getstep_on_exception);
    const auto on_abort = std::signal(SIGABRT, getstep_on_crash);
    if (on_abort != SIG_DFL) std::signal(SIGABRT, on_abort);
#elif !defined(GETSTEP_SANITIZED)
    static std::vector<char> stack(65536);  // the handler's own: the bot's may be full
    stack_t alternative;
    std::memset(&alternative, 0, sizeof alternative);
    alternative.ss_sp = stack.data();
    alternative.ss_size = stack.size();
    ::sigaltstack(&alternative, nullptr);
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
        struct sigaction old, ours;
        std::memset(&ours, 0, sizeof ours);
        ours.sa_handler = getstep_on_crash;
        ours.sa_flags = SA_ONSTACK;
        if (::sigaction(number, nullptr, &old) == 0 && old.sa_handler == SIG_DFL) ::sigaction(number, &ours, nullptr);
    }
#endif
}

// --- starting the program again: a function that never returns cannot be ended in another way -------------------------

/// What a program that is started again has to know of what was before it: docs/proofs.md, "Trust".
struct Restarted {
    bool proved = false;   // a server has proved that it knows the token
    bool located = false;  // and at which address it is
    unsigned hangs = 0;    // since the latest answer
    Fence fence = {};      // the highest that was proved

    /// Return how long to wait before connecting: a function that hangs at its first call does so again.
    double pause() const {
        return hangs < 2 ? 0 : (std::min)(std::ldexp(1.0, static_cast<int>(hangs) - 1), longest_retry_seconds);
    }
    unsigned code() const { return (proved ? 1u : 0u) | (located ? 2u : 0u) | (hangs << 2); }
    /// Return the state in an exit code, which has no room for the fencing number.
    static Restarted of_code(unsigned code, const Fence& fence) {
        return {(code & 1u) != 0, (code & 2u) != 0, (code >> 2) & most_hangs, fence};
    }

    static constexpr unsigned most_hangs = 31;
};

constexpr const char* restarted_variable = "GETSTEP_RESTARTED";

/// Return true if a debugger is attached: a function that it has stopped does not hang.
inline bool is_debugged() {
#if defined(_WIN32)
    return IsDebuggerPresent() != 0;
#elif defined(__APPLE__)
    struct kinfo_proc about;
    std::memset(&about, 0, sizeof about);
    std::size_t size = sizeof about;
    int which[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, ::getpid()};
    return ::sysctl(which, 4, &about, &size, nullptr, 0) == 0 && (about.kp_proc.p_flag & P_TRACED) != 0;
#else
    const std::string status = read_file("/proc/self/status", 4096).value_or("");
    const std::size_t at = status.find("TracerPid:\t");
    return at != std::string::npos && status[at + 11] != '0';
#endif
}

/// Return the variables for a program that is started again: the login is not among its arguments, which every user of
/// this computer can read.
inline std::vector<std::pair<std::string, std::string>> handed_over(const Address& address, const Login& login,
                                                                    const Restarted& before) {
    return {{"GETSTEP_HOST", address.host},
            {"GETSTEP_PORT", std::to_string(address.port)},
            {"GETSTEP_TLS", address.tls.empty() ? "0" : address.tls},
            {"GETSTEP_TEAM", std::to_string(login.team)},
            {"GETSTEP_TOKEN", login.token},
            {restarted_variable,
             std::to_string(before.code()) + " " + std::to_string(before.fence.number) + " " + before.fence.certificate}};
}

/// Return what this program has to know if it was started again; nothing if a user has started it.
inline std::optional<Restarted> restarted() {
    const std::string code = variable(restarted_variable);
#ifdef _WIN32
    _wputenv_s(wide_of(restarted_variable, CP_UTF8).c_str(), L"");  // not for programs that the bot starts
#else
    ::unsetenv(restarted_variable);
#endif
    if (code.empty()) return std::nullopt;
    std::istringstream words(code);
    unsigned bits = 0;
    Fence fence;
    words >> bits >> fence.number >> fence.certificate;
    return Restarted::of_code(bits, fence);
}

#ifdef _WIN32

/// The exit code by which a program asks the one that has started it to do so again, with a `Restarted` in its lowest bits.
constexpr DWORD restart_code = 0x67730000;

/// Suspend or resume all threads but this one.
inline void for_other_threads(DWORD(WINAPI* suspend_or_resume)(HANDLE)) {
    const HANDLE list = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
    THREADENTRY32 entry;
    std::memset(&entry, 0, sizeof entry);
    entry.dwSize = sizeof entry;
    for (BOOL found = Thread32First(list, &entry); found; found = Thread32Next(list, &entry)) {
        if (entry.th32OwnerProcessID != GetCurrentProcessId() || entry.th32ThreadID == GetCurrentThreadId()) continue;
        const HANDLE thread = OpenThread(THREAD_SUSPEND_RESUME, FALSE, entry.th32ThreadID);
        if (!thread) continue;
        suspend_or_resume(thread);
        CloseHandle(thread);
    }
    CloseHandle(list);
}

/// Start this program, and return its exit code. It ends with this one. Return nothing if Windows refuses.
inline std::optional<DWORD> run_again() {
    std::wstring path(32768, L'\0'), words = GetCommandLineW();
    path.resize(GetModuleFileNameW(nullptr, &path[0], static_cast<DWORD>(path.size())));
    STARTUPINFOW about;
    std::memset(&about, 0, sizeof about);
    about.cb = sizeof about;
    about.dwFlags = STARTF_USESTDHANDLES;
    about.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
    about.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
    about.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    for (const HANDLE stream : {about.hStdInput, about.hStdOutput, about.hStdError})
        SetHandleInformation(stream, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
    PROCESS_INFORMATION started;
    if (!CreateProcessW(path.c_str(), &words[0], nullptr, nullptr, TRUE, CREATE_SUSPENDED, nullptr, nullptr, &about, &started))
        return std::nullopt;
    const HANDLE job = CreateJobObjectW(nullptr, nullptr);
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits;
    std::memset(&limits, 0, sizeof limits);
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits);
    AssignProcessToJobObject(job, started.hProcess);
    ResumeThread(started.hThread);
    for_other_threads(SuspendThread);  // an endless loop would take a core from the program that plays
    WaitForSingleObject(started.hProcess, INFINITE);
    DWORD code = 1;
    GetExitCodeProcess(started.hProcess, &code);
    for_other_threads(ResumeThread);  // one of them may hold the lock of the heap, which the next start needs
    for (const HANDLE handle : {started.hThread, started.hProcess, job}) CloseHandle(handle);
    return code;
}

/// End this program, and start it again with the same arguments. Return why not if that fails.
///
/// No program of Windows can put another in its place. So the first one waits for the second, and starts the third when
/// the second asks for it, so that there are never more than two.
inline std::string start_again(const Address& address, const Login& login, Restarted before, bool was_restarted) {
    if (was_restarted) TerminateProcess(GetCurrentProcess(), restart_code | before.code());
    std::signal(SIGINT, SIG_IGN);  // Ctrl-C is for all programs of the console; this one ends after the other
    while (true) {
        for (const auto& variable : handed_over(address, login, before))
            SetEnvironmentVariableW(wide_of(variable.first.c_str(), CP_UTF8).c_str(), wide_of(variable.second.c_str(), CP_UTF8).c_str());
        const std::optional<DWORD> code = run_again();
        if (!code) {
            const DWORD problem = GetLastError();
            std::signal(SIGINT, getstep_on_interrupt);
            return "Windows error " + std::to_string(problem);
        }
        if ((*code & 0xFFFF0000) != restart_code) TerminateProcess(GetCurrentProcess(), *code);
        before = Restarted::of_code(*code, before.fence);
    }
}

#else

/// Return the path of this program, and its arguments with its name.
inline std::pair<std::string, std::vector<std::string>> own_command() {
    std::string path;
    std::vector<std::string> words;
#ifdef __APPLE__
    std::uint32_t size = 0;
    ::_NSGetExecutablePath(nullptr, &size);
    path.resize(size);
    if (::_NSGetExecutablePath(&path[0], &size) == 0) path.resize(std::strlen(path.c_str()));
    for (int n = 0; n < *::_NSGetArgc(); ++n) words.emplace_back((*::_NSGetArgv())[n]);
#else
    char link[4096];
    const ssize_t length = ::readlink("/proc/self/exe", link, sizeof link);
    if (length > 0) path.assign(link, static_cast<std::size_t>(length));
    std::string word;
    for (const char c : read_file("/proc/self/cmdline", 1 << 21).value_or("")) {  // ARG_MAX of Linux
        if (c != '\0') {
            word += c;
            continue;
        }
        words.push_back(word);
        word.clear();
    }
#endif
    return {path, words};
}

/// Put this program, with the same arguments, in the place of itself. Return why not if that fails.
inline std::string start_again(const Address& address, const Login& login, Restarted before, bool) {
#ifdef __APPLE__
    char** const environment = *::_NSGetEnviron();
#else
    char** const environment = ::environ;
#endif
    std::vector<std::string> variables;
    const auto handed = handed_over(address, login, before);
    for (const auto& variable : handed) variables.push_back(variable.first + "=" + variable.second);
    for (char** entry = environment; entry && *entry; ++entry) {
        const std::string text = *entry, name = text.substr(0, text.find('='));
        if (std::none_of(handed.begin(), handed.end(), [&](const auto& one) { return one.first == name; })) variables.push_back(text);
    }
    std::pair<std::string, std::vector<std::string>> command = own_command();
    const auto pointers = [](std::vector<std::string>& texts) {
        std::vector<char*> list;
        for (std::string& text : texts) list.push_back(&text[0]);
        list.push_back(nullptr);
        return list;
    };
    const std::vector<char*> words = pointers(command.second), settings = pointers(variables);
    if (::ftrylockfile(stdout) == 0) {  // a function that hangs may be the one that has it
        std::fflush(stdout);
        ::funlockfile(stdout);
    }
    ::execve(command.first.c_str(), words.data(), settings.data());
#ifdef __linux__
    ::execve("/proc/self/exe", words.data(), settings.data());  // the file was removed, or is just being built
#endif
    return system_text(errno);
}

#endif

// --- the client ---------------------------------------------------------------------------------------------------

using Callback = std::function<Move(Board&, bool, const Turn&)>;

inline std::string type_name(const std::type_info& type) {
#if defined(__GNUC__) || defined(__clang__)
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status),
                                                      [](void* memory) { std::free(memory); });
    if (status == 0 && name) return name.get();
#endif
    return type.name();
}

/// Return the type and the text of an exception, and of those inside it (std::throw_with_nested).
inline std::string exception_text(const std::exception& error, int depth = 0) {
    std::string name = type_name(typeid(error));
    for (const std::string wrapper : {"std::_Nested_exception<", "std::__1::__nested<"}) {
        if (name.compare(0, wrapper.size(), wrapper) == 0 && name.back() == '>')
            name = name.substr(wrapper.size(), name.size() - wrapper.size() - 1);
    }
    std::string text = name + ": " + error.what();
    if (depth < 8) {
        try {
            std::rethrow_if_nested(error);
        } catch (const std::exception& inner) {
            text += "\nbecause of " + exception_text(inner, depth + 1);
        } catch (...) {
            text += "\nbecause of something that is not a std::exception";
        }
    }
    return text;
}

inline std::string indented(const std::string& text) {
    std::string made = "  ";
    for (const char c : text) made += c == '\n' ? "\n  " : std::string(1, c);
    return made;
}

/// Return text for a terminal: lines stay lines, and everything else that is invisible is escaped.
inline std::string escaped_lines(const std::string& text) {
    std::string made;
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t end = (std::min)(text.find('\n', from), text.size());
        made += (from ? "\n" : "") + escaped(text.substr(from, end - from));
        from = end + 1;
    }
    return made;
}

/// Return the text of an exception for a terminal, not longer than a screen.
inline std::string trace_text(const std::string& thrown) {
    return indented(escaped_lines(thrown.size() > 4000 ? thrown.substr(0, 4000) + "..." : thrown));
}

/// The match is of a game that the bot does not play.
struct NotPlayed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline CallResult result_of(const Callback& callback, const Ask& ask, const Turn& turn) {
    CallResult result;
    Board board = ask.board;
    const Clock::time_point since = Clock::now();
    std::optional<std::string> thrown;
    try {
        result.move = callback(board, ask.is_black, turn).value();
    } catch (const NotPlayed& why) {
        result.resigns = true;
        result.problem = why.what();
        return result;
    } catch (const std::exception& error) {
        thrown = exception_text(error);
    } catch (...) {
        thrown = "an exception that is not a std::exception";
    }
    result.ms = 1000 * seconds_since(since);
    if (thrown) {
        result.error = sendable_text(*thrown);
        result.problem = "GetStep threw:\n" + trace_text(*thrown);
        return result;
    }
    const bool is_nothing = result.move.is(Value::Kind::nil) || (result.move.is(Value::Kind::array) && result.move.items().empty());
    const std::string expected = "\nExpected for " + escaped(turn.game) + ": " + move_text(turn.game);
    if (is_nothing) result.problem = "GetStep returned nothing. It counts as an illegal move." + expected;
    try {
        step_frame(max_id, result.move);
    } catch (const Unsendable& error) {
        result.error = sendable_text("GetStep returned " + short_repr(result.move) + ", which cannot be sent: " + error.what());
        result.problem = *result.error + expected;
    }
    return result;
}

inline CallResult call_bot(const Callback& callback, const Ask& ask, const Turn& turn) {
    notes().begin(ask.board);
    CallResult result = result_of(callback, ask, turn);
    if (notes().end()) {
        const std::string frame = result.error ? raised_frame(max_id, *result.error) : step_frame(max_id, result.move);
        const std::size_t bytes = frame.size() - header_bytes + 6;  // with the key "notes"
        result.notes = notes().take(max_client_frame - (std::min)(bytes, max_client_frame));
    }
    return result;
}

/// A bot in a contest, over as many connections as it takes.
///
/// The bot is called in the thread that calls `run`. A second thread owns the connection: it reads while the bot
/// thinks, connects again, and prints. What both use is guarded by `mutex_`.
class Client {
public:
    Client(Callback callback, Address address, Login login, Console& console, bool friendly, double restart_after, Finder finder)
        : callback_(std::move(callback)),
          address_(std::move(address)),
          login_(std::move(login)),
          console_(console),
          friendly_(friendly),
          restart_after_ms_(1000 * restart_after),
          scale_(time_scale()),
          before_(restarted()),
          ever_proved_(before_ && before_->proved),
          ever_located_(before_ && before_->located),
          finder_(std::move(finder)),
          fence_(before_ ? before_->fence : Fence()),
          hangs_(before_ ? before_->hangs : 0) {}

    /// Play until the server says not to come back, and return the exit code.
    int run() {
        console_.say("Connecting to " + address_.text() + " as team " + std::to_string(login_.team) + " ...");
        std::thread network([this] { network_thread(); });
        answer_questions();
        network.join();
        return exit_code_;
    }

private:
    // --- the bot's thread ---

    void answer_questions() {
        std::unique_lock<std::mutex> lock(mutex_);
        while (true) {
            changed_.wait(lock, [this] { return waiting_ || finished_; });
            if (finished_) return;
            const std::shared_ptr<Question> question = std::move(waiting_);
            waiting_.reset();
            const Turn turn = question->match->turn(question->ask);
            thinking_ = question;
            begin_watch(*question);
            lock.unlock();
            std::snprintf(current_turn(), 200, "GetStep, match %lld, move %lld", static_cast<long long>(turn.match),
                          static_cast<long long>(turn.move_number));
            CallResult result = call_bot(callback_, question->ask, turn);
            current_turn()[0] = '\0';
            lock.lock();
            thinking_.reset();
            after_call(question, std::move(result));
            changed_.notify_all();
        }
    }

    void after_call(const std::shared_ptr<Question>& question, CallResult result) {
        Match& match = *question->match;
        match.longest_ms = (std::max)(match.longest_ms, result.ms);
        match.total_ms += result.ms;
        if (!result.problem.empty() && problems_.is_new(result.problem))
            console_.warn(match.line(question->ask) + result.problem);
        question->call = std::move(result);
        answer(question);
    }

    // --- what both threads do, with the mutex held ---

    /// Send the answer to a question if it is open, or late if its match still runs. Otherwise keep it.
    void answer(const std::shared_ptr<Question>& question) {
        const CallResult& call = *question->call;
        const std::int64_t id = question->ask.id;
        const bool is_open = question == question_ && conversation_.question() == id;
        if (socket_.is_open() && !goodbye_ && (is_open || (match_ == question->match && conversation_.may_answer_late(id)))) {
            if (!socket_.send(call.resigns ? resign_frame(id)
                              : call.error ? raised_frame(id, *call.error, call.notes)
                                           : step_frame(id, call.move, call.notes))) {
                broken_ = "the answer could not be sent";
                return;
            }
            conversation_.answered(id);
            hangs_ = 0;
            if (is_open) {
                question->answered = true;
                if (!call.error && !call.resigns) question->match->answered.insert(id);
            } else {
                console_.warn(question->match->lateness_text(question->ask, call.ms) +
                              "; the turn was already over, so the answer changes nothing");
            }
        } else if (match_ != question->match) {
            console_.warn(question->match->lateness_text(question->ask, call.ms) +
                          "; the match was already over, so the answer was not sent");
        }
    }

    // --- the network's thread ---

    void network_thread() {
        int code = 1;
        try {
            code = play_connections();
        } catch (const Stop& stop) {
            console_.warn("getstep: " + std::string(stop.what()));
            code = stop.exit_code;
        } catch (const std::exception& error) {
            console_.warn("getstep: " + type_name(typeid(error)) + ": " + error.what());
        }
        std::unique_lock<std::mutex> lock(mutex_);
        exit_code_ = code;
        finished_ = true;
        changed_.notify_all();
        const auto limit = std::chrono::duration<double>(last_call_seconds);
        if (!changed_.wait_for(lock, limit, [this] { return !thinking_; })) {
            console_.warn("getstep: GetStep is still running; the program ends without it");
            std::_Exit(code);
        }
    }

    int play_connections() {
        if (before_ && before_->pause() > 0) {
            console_.warn("GetStep has hung " + std::to_string(before_->hangs) + " times in a row without an answer in between; " +
                          "the client connects in " + duration(1000 * before_->pause()) + ".");
            sleep(before_->pause() * scale_);
        }
        while (true) {
            double pause = 0;
            bool ended = false;
            int code = 0;
            try {
                const Goodbye goodbye = one_connection();
                if (is_doubtful(goodbye)) throw ConnectionFailed(goodbye_text(goodbye));
                if (ends_the_run(goodbye, proved_, welcomed_, ever_proved_)) {
                    ended = true;
                    code = end_run(goodbye);
                } else {
                    const std::string text = goodbye_text(goodbye) + ". Connecting again.";
                    warn_once(goodbye.retry_ms ? text
                                               : text + " The server that said so has not proved that it is your host; "
                                                        "Ctrl-C stops the bot.");
                    pause = backoff_.after(goodbye, proved_);
                }
            } catch (const Unreachable& error) {
                if (!ever_welcomed_ && !finder_.on()) throw Stop(1, error.what());
                pause = after_failure(error.what());
            } catch (const ProtocolError& error) {
                pause = after_failure("the server broke the protocol (" + escaped(error.what()) + "); please tell the host");
            } catch (const ConnectionFailed& error) {
                pause = after_failure(error.what());
            }
            disconnect();
            if (ended) return code;
            sleep(pause * scale_);
        }
    }

    bool at_found() const { return finder_.is_found(address_); }

    /// Return true if a found server has refused the login: the token may be right, and the server not the host's.
    bool is_doubtful(const Goodbye& goodbye) const {
        if (!at_found() || welcomed_) return false;
        return goodbye.retry_ms || goodbye.reason == "wrong_address" || ever_proved_ || finder_.knows(login_.token);
    }

    /// Return true if no computer answers at an address any more, or its server says that another has taken over.
    static bool is_gone(const std::string& why) {
        return why == earlier_host() || why.compare(0, 22, "no answer; the address") == 0 ||
               why.compare(0, 22, "no way to that address") == 0 || why.find("timed out") != std::string::npos;
    }

    /// Report a failure, choose the next address, and return how long to wait. A server that was restarted is back at the
    /// same address, so the search starts after some attempts, or at once if the host's computer is gone.
    double after_failure(const std::string& why) {
        const std::string what = welcomed_ ? "Connection lost" : "No connection to " + address_.text();
        std::optional<Address> found;
        if (finder_.on() && (is_gone(why) || at_found() || !ever_welcomed_ || backoff_.is_long())) {
            found = finder_.next(address_, console_);
            address_ = found ? *found : finder_.own();
        }
        warn_once(what + ": " + why + ". Trying again until it works; Ctrl-C stops the bot.");
        const double pause = backoff_.next();
        return found ? 0 : pause;
    }

    void sleep(double seconds) {
        const Clock::time_point since = Clock::now();
        for (double left = seconds; left > 0; left = seconds - seconds_since(since)) {
            std::this_thread::sleep_for(std::chrono::duration<double>((std::min)(left, tick_seconds)));
            check_watch();
        }
    }

    void disconnect() {
        const std::lock_guard<std::mutex> lock(mutex_);
        socket_.close();
        waiting_.reset();
        if (match_ && match_->start.friendly) match_.reset();  // it has ended with its connection
    }

    Goodbye one_connection() {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            conversation_ = Conversation();
            goodbye_.reset();
            broken_.clear();
            pending_.clear();
            failure_ = nullptr;
        }
        welcomed_ = proved_ = false;
        {
            Socket connected;
            connected.connect(address_, [this] { check_watch(); });
            const std::lock_guard<std::mutex> lock(mutex_);
            socket_.take(connected);
        }
        const Message first = first_message();
        if (const Goodbye* goodbye = std::get_if<Goodbye>(&first)) return *goodbye;
        const Hello& hello = std::get<Hello>(first);
        if (std::find(hello.versions.begin(), hello.versions.end(), protocol_version) == hello.versions.end())
            return unsuitable("unsupported_version", version_text(hello.versions));
        if (hello.friendly != friendly_)
            return unsuitable("wrong_port",
                              friendly_ ? "This is the port of the contest, not the one for friendly matches.\n"
                                          "The page Play of the host's live page shows the command for friendly matches."
                                        : "This port is for friendly matches, which count nowhere: give --friendly.\n"
                                          "To play in the contest, give its port; it is 7777 unless the host says otherwise.");
        const std::string nonce = new_nonce();
        if (!hello.dialled && (ever_located_ || at_found()))
            throw ConnectionFailed("this server does not prove at which address it is, as it did before, so it is not your host");
        const std::string dialled = hello.dialled ? socket_.peer() : "";
        const bool joined = log_in(hello, nonce, dialled);
        const Message second = next_message(welcome_seconds);
        if (const Goodbye* goodbye = std::get_if<Goodbye>(&second)) return *goodbye;
        const Welcome& welcome = std::get<Welcome>(second);
        if (welcome.proof) {
            const std::string expected = server_proof(login_.token, hello.nonce, nonce, dialled);
            if (!joined || !same_secret(expected, *welcome.proof))
                throw ConnectionFailed("the server's proof that it knows your token is wrong, so it is not your host; "
                                       "check the address");
            proved_ = true;
            if (!dialled.empty()) ever_located_ = true;
            check_fence(hello, nonce, welcome);
        } else if (ever_proved_) {
            throw ConnectionFailed(std::string(not_proved()) + ", as it did before; to play there, start the bot again");
        } else if (at_found()) {
            throw ConnectionFailed(std::string(not_proved()) + "; to play there, give its address with --host");
        }
        on_welcome(hello, welcome);
        return play_until_goodbye();
    }

    /// Remember the highest fencing number. Throws ConnectionFailed if its proof is wrong, or a higher one is known.
    void check_fence(const Hello& hello, const std::string& nonce, const Welcome& welcome) {
        const Fence& fence = welcome.fence;
        if (fence.number > 0 && (fence.certificate.empty() || !welcome.fence_proof ||
                                 !same_secret(fence_proof(login_.token, hello.nonce, nonce, fence), *welcome.fence_proof)))
            throw ConnectionFailed("the server's proof of its fencing number is wrong, so it is not your host; check the address");
        if (fence.number < fence_.number)
            throw ConnectionFailed(earlier_host());
        fence_ = fence;
    }

    static const char* earlier_host() {
        return "another computer has taken over this contest from this server, so nothing counts here any more";
    }

    static const char* not_proved() {
        return "this server has not proved that it knows your token (an older getstep server, or not your host)";
    }

    /// Return a goodbye for a server that is not logged in to. Throws Stop if none has proved itself.
    Goodbye unsuitable(const std::string& reason, const std::string& text) const {
        if (!ever_proved_ && !at_found()) throw Stop(1, text);
        return Goodbye{reason, text, std::nullopt};
    }

    static std::string version_text(const std::vector<std::int64_t>& versions) {
        std::string theirs;
        for (const std::int64_t version : versions) theirs += (theirs.empty() ? "" : ", ") + std::to_string(version);
        return "The server speaks version " + (theirs.empty() ? "none" : theirs) +
               " of the protocol, this getstep " GETSTEP_VERSION " speaks " + std::to_string(protocol_version) +
               ".\nGet a newer getstep.hpp from the host's live page.";
    }

    Message first_message() {
        try {
            return next_message(hello_seconds);
        } catch (const ProtocolError&) {
            throw ConnectionFailed("what answers there is no getstep server: it speaks another protocol; the port may be wrong");
        } catch (const ConnectionFailed&) {
            throw ConnectionFailed(std::string("what answers there is no getstep server: ") +
                                   (timed_out_ ? "it sends nothing" : "it closes the connection at once") +
                                   "; the port may be wrong");
        }
    }

    bool log_in(const Hello& hello, const std::string& nonce, const std::string& dialled) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (conversation_.state() != Conversation::State::login) return false;  // a goodbye came along with hello
        if (!socket_.send(join_frame(login_.team, sign(login_.token, hello.nonce, dialled), nonce, dialled, fence_)))
            throw ConnectionFailed("the login could not be sent");
        conversation_.joined();
        return true;
    }

    void on_welcome(const Hello& hello, const Welcome& welcome) {
        if (ever_welcomed_) {
            console_.say("Reconnected.");
        } else {
            console_.say("Connected to " + escaped(hello.contest) + " as " + escaped(welcome.name) + " (team " +
                         std::to_string(welcome.team) + ").");
            if (friendly_)
                console_.say("People can play friendly matches against this bot now, on the page Play of the host's live "
                             "page. They count nowhere.\nYour seat in the contest is not touched. Ctrl-C stops the bot.");
        }
        welcomed_ = ever_welcomed_ = true;
        if (proved_) {
            ever_proved_ = true;
            if (finder_.on()) finder_.settle(address_, escaped(hello.contest));
            reset_problems();
        } else {
            warn_once(std::string("Careful: ") + not_proved() +
                      ". The bot plays, but does not stop when this server says that the contest is over; Ctrl-C stops it.");
        }
    }

    void reset_problems() {
        warned_.clear();
        backoff_.reset();
    }

    void warn_once(const std::string& line) {
        if (warned_.insert(line).second) console_.warn(line);
        if (warned_.size() > 100) warned_.clear();  // a server whose every goodbye differs takes no more memory
    }

    static std::string goodbye_text(const Goodbye& goodbye) {
        return escaped(goodbye.reason) + ": " + without_last_point(escaped(goodbye.detail));
    }

    int end_run(const Goodbye& goodbye) {
        static const std::map<std::string, std::string> advice = {
            {"bad_token", "Copy the token again from the slip from the host, and check the host's address."},
            {"unknown_team", "Ask the host for your team's id, or look at the slip; check the host's address, too."},
            {"replaced", "Is a second copy of your bot running? The newest one plays, this one stops."},
            {"unsupported_version", "Get a newer getstep.hpp from the host's live page."}};
        const auto found = advice.find(goodbye.reason);
        if (found != advice.end() || !welcomed_)
            throw Stop(1, "Team " + std::to_string(login_.team) + " may not play: " + goodbye_text(goodbye) + "." +
                              (found == advice.end() ? "" : "\n" + found->second));
        console_.say(escaped(goodbye.detail.empty() ? goodbye.reason : goodbye.detail));
        return 0;
    }

    // --- reading ---

    /// Read all that has arrived, and put its messages into `pending_`. With the mutex held.
    void read_available() {
        static thread_local std::vector<char> buffer(65536);
        std::string why;
        for (int n = 0; n < 64 && !failure_; ++n) {  // at most 4 MiB, so that a server that never stops cannot block us
            const int count = socket_.receive(buffer.data(), buffer.size(), why);
            if (count == 0) break;
            if (count < 0) {
                failure_ = why.empty() && conversation_.partial()
                               ? std::make_exception_ptr(ProtocolError("truncated_frame", "the connection closed inside a frame"))
                               : std::make_exception_ptr(ConnectionFailed(why.empty() ? "the server closed the connection" : why));
                break;
            }
            conversation_.feed(buffer.data(), static_cast<std::size_t>(count));
            try {
                while (std::optional<Message> message = conversation_.next()) pending_.push_back(std::move(*message));
            } catch (const ProtocolError&) {
                failure_ = std::current_exception();
            }
        }
        if (!failure_ && !broken_.empty()) failure_ = std::make_exception_ptr(ConnectionFailed(broken_));
    }

    /// Return the next message alone; for the login.
    Message next_message(double limit_seconds) {
        const Clock::time_point since = Clock::now();
        timed_out_ = false;
        while (true) {
            {
                const std::lock_guard<std::mutex> lock(mutex_);
                if (pending_.empty()) read_available();
                if (!pending_.empty()) {
                    Message message = std::move(pending_.front());
                    pending_.pop_front();
                    return message;
                }
                if (failure_) std::rethrow_exception(failure_);
            }
            const double left = limit_seconds - seconds_since(since);
            if (left <= 0) {
                timed_out_ = true;
                throw ConnectionFailed(format("no answer within %g s", limit_seconds));
            }
            socket_.wait_readable((std::min)(left, tick_seconds));
            check_watch();
        }
    }

    Goodbye play_until_goodbye() {
        const Clock::time_point since = Clock::now();
        const auto steady = [&] {
            if (seconds_since(since) >= steady_seconds) reset_problems();
        };
        while (true) {
            {
                const std::lock_guard<std::mutex> lock(mutex_);
                read_available();
                for (const Message& message : pending_) handle(message);
                pending_.clear();
                if (waiting_ && conversation_.question() != waiting_->ask.id) waiting_.reset();  // it is closed already
                if (waiting_) changed_.notify_all();
                if (goodbye_) {
                    steady();
                    return *goodbye_;
                }
                if (failure_) {
                    steady();
                    std::rethrow_exception(failure_);
                }
            }
            socket_.wait_readable(tick_seconds);
            check_watch();
        }
    }

    void handle(const Message& message) {
        if (const Start* start = std::get_if<Start>(&message)) on_start(*start);
        else if (const Ask* ask = std::get_if<Ask>(&message)) on_get_step(*ask);
        else if (const Penalty* penalty = std::get_if<Penalty>(&message)) on_penalty(*penalty);
        else if (const End* end = std::get_if<End>(&message)) on_end(*end);
        else if (const Notice* notice = std::get_if<Notice>(&message)) on_notice(*notice);
        else if (const Goodbye* goodbye = std::get_if<Goodbye>(&message)) goodbye_ = *goodbye;
    }

    void on_notice(const Notice& notice) {
        const std::string about = notice.match == 0 ? "" : "match " + std::to_string(notice.match) + ", ";
        console_.warn("From the host (" + about + escaped(notice.kind) + "): " + escaped(notice.text));
    }

    void on_start(const Start& start) {
        if (match_ && match_->start.match == start.match) {
            console_.say("Match " + std::to_string(start.match) + " continues.");
            return;
        }
        if (match_)
            console_.warn("Match " + std::to_string(match_->start.match) +
                          " ended while this bot was not connected; ask the host how.");
        match_ = std::make_shared<Match>(start);
        question_.reset();
        console_.say(match_->start_text());
    }

    /// Note the question. If it is repeated on a new connection, the bot's answer is kept, or its call goes on.
    void on_get_step(const Ask& ask) {
        if (!question_ || !ask.repeats(question_->ask)) question_ = std::make_shared<Question>(ask, match_);
        if (question_->call) answer(question_);
        else if (thinking_ != question_) waiting_ = question_;
    }

    void on_penalty(const Penalty& penalty) {
        const std::string why = "penalty for " + escaped(penalty.reason) + ": " + escaped(penalty.detail);
        if (!match_ || !question_ || question_->ask.id != penalty.id) {
            console_.warn("Match " + (match_ ? std::to_string(match_->start.match) : "?") + ", question " +
                          std::to_string(penalty.id) + ": " + why);
            return;
        }
        const Ask& ask = question_->ask;
        const std::optional<CallResult>& call = question_->call;
        const bool illegal = penalty.reason == "illegal_move";
        console_.warn(match_->line(ask) + why + (illegal && call ? " (you returned " + short_repr(call->move) + ")" : ""));
        if ((illegal || penalty.reason == "raised" || penalty.reason == "malformed_answer") && match_->boards_left > 0) {
            --match_->boards_left;
            const std::string drawn = board_text(match_->start.game, ask.board, call && !call->error ? &call->move : nullptr);
            if (!drawn.empty()) console_.warn(drawn);
        }
        if ((penalty.reason == "missed_limit" || penalty.reason == "stalled") && question_->answered && call)
            console_.warn(match_->lateness_text(ask, call->ms) + "; the answer arrived too late");
    }

    void on_end(const End& end) {
        if (!match_) return;
        for (const std::string& line : problems_.end_match())
            console_.warn("Match " + std::to_string(match_->start.match) + ": " + line);
        console_.say(match_->end_text(end));
        match_.reset();
    }

    // --- the watchdog: it reports a call that does not return in time ---

    void begin_watch(const Question& question) {
        since_ = Clock::now();
        late_ms_ = static_cast<double>(question.ask.time_left_ms + question.match->start.lag_ms);
        stalled_ms_ = question.match->stalled_after_ms(question.ask);
        restart_ms_ = restart_after_ms_ > 0 ? static_cast<double>(question.ask.time_left_ms) + restart_after_ms_
                                            : (std::numeric_limits<double>::infinity)();
    }

    void check_watch() {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!thinking_) return;
        const double ms = 1000 * seconds_since(since_);
        const Question& question = *thinking_;
        if (ms >= late_ms_) {
            console_.warn(question.match->line(question.ask) + "GetStep has taken " + duration(late_ms_) +
                          ", over the limit of " + duration(static_cast<double>(question.ask.time_left_ms)) +
                          ", and is still running");
            late_ms_ = (std::numeric_limits<double>::infinity)();
        }
        if (ms >= stalled_ms_) {
            console_.warn(question.match->line(question.ask) + "GetStep has taken " + duration(stalled_ms_) + ", " +
                          std::to_string(stalled_misses) +
                          " limits; your bot is stalled: unless the match is over, the server skips its turns until "
                          "GetStep returns\n" +
                          (std::isfinite(restart_ms_) && !is_debugged()
                               ? "In " + duration((std::max)(0.0, restart_ms_ - stalled_ms_)) + " the client starts your program again."
                               : "Stop it with Ctrl-C, correct it and start it again: it goes on with this match."));
            stalled_ms_ = (std::numeric_limits<double>::infinity)();
        }
        if (ms >= restart_ms_) {
            restart_ms_ = (std::numeric_limits<double>::infinity)();
            if (!is_debugged()) restart(question);
        }
    }

    /// Start the program again, because the function has not returned for long.
    void restart(const Question& question) {
        const Match& match = *question.match;
        console_.warn("GetStep has not returned, " + duration(restart_after_ms_) + " after its limit of " +
                      duration(static_cast<double>(question.ask.time_left_ms)) + " (match " + std::to_string(match.start.match) +
                      ", move " + std::to_string(question.ask.move_number) + " of " + escaped(match.start.game) +
                      "). The client starts your program again; the contest goes on.");
        socket_.close();  // the server hears of it before the new login
        const std::string why = start_again(address_, login_, {ever_proved_, ever_located_, (std::min)(hangs_ + 1, Restarted::most_hangs), fence_},
                                            before_.has_value());
        console_.warn("Your program cannot be started again: " + why + ". Stop it with Ctrl-C, and start it yourself.");
    }

    const Callback callback_;
    Address address_;
    const Login login_;
    Console& console_;
    const bool friendly_;
    const double restart_after_ms_;
    const double scale_;
    const std::optional<Restarted> before_;

    // only the network's thread
    Backoff backoff_;
    std::set<std::string> warned_;  // the problems reported since the last good connection
    bool welcomed_ = false, ever_welcomed_ = false, proved_ = false, ever_proved_;
    bool ever_located_;  // a server has proved at which address it is
    Finder finder_;
    Fence fence_;        // the highest that was proved
    bool timed_out_ = false;

    // guarded by the mutex
    std::mutex mutex_;
    std::condition_variable changed_;
    Socket socket_;
    Conversation conversation_;
    std::deque<Message> pending_;
    std::exception_ptr failure_;  // why nothing more will arrive
    std::string broken_;          // why nothing more can be sent
    std::optional<Goodbye> goodbye_;
    std::shared_ptr<Match> match_;
    std::shared_ptr<Question> question_;  // the newest
    std::shared_ptr<Question> waiting_;   // the one to think about next
    std::shared_ptr<Question> thinking_;
    Clock::time_point since_;
    double late_ms_ = 0, stalled_ms_ = 0, restart_ms_ = 0;
    RepeatedProblems problems_;
    unsigned hangs_;  // since the latest answer
    bool finished_ = false;
    int exit_code_ = 1;
};

template <class Function>
Callback callback_of(Function function) {
    if constexpr (std::is_invocable_v<Function&, Board&, bool, const Turn&>) {
        return [function](Board& board, bool is_black, const Turn& turn) mutable -> Move {
            return function(board, is_black, turn);
        };
    } else {
        static_assert(std::is_invocable_v<Function&, Board&, bool>,
                      "expected a function of (std::vector<std::vector<int>>& board, bool is_black), or with a third "
                      "parameter, const getstep::Turn& turn");
        return [function](Board& board, bool is_black, const Turn&) mutable -> Move { return function(board, is_black); };
    }
}

/// Return a callback that gives up each match of a game that is not in `games`; of none, if `games` is empty.
inline Callback only(std::vector<std::string> games, Callback callback) {
    if (games.empty()) return callback;
    return [games = std::move(games), callback = std::move(callback)](Board& board, bool is_black, const Turn& turn) {
        if (std::find(games.begin(), games.end(), turn.game) == games.end()) {
            std::string played;
            for (const std::string& game : games) played += (played.empty() ? "" : ", ") + game;
            throw NotPlayed("this bot plays " + played + "; the match is " + turn.game +
                            ". It gives up this match, and plays the next ones.");
        }
        return callback(board, is_black, turn);
    };
}

inline int run_client(int argc, const char* const* argv, const Callback& callback) {
#ifdef _WIN32
    WSADATA about;
    if (WSAStartup(MAKEWORD(2, 2), &about) != 0) {
        std::fputs("getstep: Windows has no sockets\n", stderr);
        return 1;
    }
    SetConsoleOutputCP(CP_UTF8);
#endif
    try {
        Options options = parse_arguments(argc, argv);
        options.quiet = options.quiet || !variable("GETSTEP_QUIET").empty();
        Console console(options.quiet);
        const Address address = find_address(options);
        const Login login = find_login(options);
        install_signal_handlers(options.quiet);
        const bool is_named = options.friendly || !options.host.empty() || !variable("GETSTEP_HOST").empty();
        const Finder finder = is_named ? Finder() : Finder(address, saved_login(), given_port(options).has_value());
        return Client(callback, address, login, console, options.friendly, find_restart_after(options), finder).run();
    } catch (const Stop& stop) {
        if (stop.exit_code == 0) std::printf("%s\n", stop.what());
        else std::fprintf(stderr, "getstep: %s\n", stop.what());
        return stop.exit_code;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "getstep: %s\n", error.what());
        return 1;
    }
}

/// Return the text or the number of a label, or nil.
template <class Label>
Value label_value(const Label& label) {
    if constexpr (std::is_same_v<Label, std::nullptr_t>) return Value();
    else if constexpr (std::is_arithmetic_v<Label>) return Value::text(number_text(static_cast<double>(label)));
    else return Value::text(label);
}

}  // namespace detail

// Notes of a move: what the bot thinks, for its author and the replay. They cost microseconds and never a turn; what is
// wrong or too much is dropped, and the terminal says so once. Any thread may call these while a move is computed.

/// Say something about the move; several texts are put below each other: at most 1,000 characters.
inline void say(const std::string& text) noexcept {
    detail::harmless([&] { detail::notes().say(text); });
}

/// Say how likely this bot wins, from -1 (it loses) to 1 (it wins). The last call for a move counts.
inline void estimate(double value) noexcept {
    detail::harmless([&] { detail::notes().estimate(value); });
}

/// Draw on the board of the replay, at most 64 times for a move.
///
/// `squares` are {{row, column}, ...}, at most 64. `label` is a text of at most 8 characters, or a number. `color` is
/// "black", "white", "blue", "orange", "red", "green", "yellow", "purple" or "grey"; "" is that of the bot's own side.
/// `shape` is "mark" or "region"; "arrow" along 2 to 16 squares, or "domino" on 2.
template <class Label = std::nullptr_t>
void draw(const Board& squares, const Label& label = {}, const std::string& color = "", const std::string& shape = "mark") noexcept {
    detail::harmless([&] { detail::notes().draw(squares, detail::label_value(label), color, shape); });
}

/// Draw on one square.
template <class Label = std::nullptr_t>
void draw(Square square, const Label& label = {}, const std::string& color = "", const std::string& shape = "mark") noexcept {
    draw(Board{{square.first, square.second}}, label, color, shape);
}

/// Tag the match with a word of at most 24 characters, such as the name of an opening: at most 8 for a move.
inline void tag(const std::string& word) noexcept {
    detail::harmless([&] { detail::notes().tag(word); });
}

/// Play in a contest until it is over; the one call that a bot needs. Returns the exit code for main.
///
/// `get_step` takes (std::vector<std::vector<int>>& board, bool is_black) and returns a move. With a third parameter,
/// const getstep::Turn& turn, it also gets more about the turn. An exception in it costs that turn only. If the
/// server is not running yet or the connection is lost, `play` connects again until it succeeds, and resumes a match
/// in progress. `get_step` is called in the thread that calls `play`. If `games` names the games that the bot plays, it
/// gives up each match of another game, and plays the next ones.
///
/// Exit codes: 0 the contest is over, 1 refused or failed, 2 wrong usage, 130 stopped by Ctrl-C.
template <class Function>
int play(int argc, const char* const* argv, Function get_step, std::vector<std::string> games = {}) {
    return detail::run_client(argc, argv, detail::only(std::move(games), detail::callback_of(std::move(get_step))));
}

/// Play with the login from the variables GETSTEP_HOST, GETSTEP_TEAM, GETSTEP_TOKEN, or from the saved one.
template <class Function>
int play(Function get_step, std::vector<std::string> games = {}) {
    return detail::run_client(0, nullptr, detail::only(std::move(games), detail::callback_of(std::move(get_step))));
}

}  // namespace getstep

#ifdef _MSC_VER
#pragma warning(pop)
#endif
#endif
