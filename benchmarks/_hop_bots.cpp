// Bots of hop that cost as little as possible: one thread, one epoll, no allocation for a move.
//
//   _hop_bots FD...    plays on sockets that are logged in (benchmarks/judges.py), until each has its goodbye.
//
// They know where the fields of a question are, and play one piece to and fro in its corner, as benchmarks/_bots.py.

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

const size_t HEADER = 4;

// Returns the byte after the first `key` in a message, or nullptr.
const uint8_t* after(const uint8_t* begin, size_t size, const char* key) {
    const size_t length = std::strlen(key);
    const void* found = memmem(begin, size, key, length);
    return found ? static_cast<const uint8_t*>(found) + length : nullptr;
}

size_t bytes_of_id(uint8_t first) {
    return first == 0xce ? 5 : first == 0xcd ? 3 : first == 0xcc ? 2 : 1;
}

bool reply(int sock, const uint8_t* body, size_t size) {
    if (after(body, size, "\xa7goodbye")) return false;
    if (!after(body, size, "\xa8get_step")) return true;
    const uint8_t* id = after(body, size, "\xa2id");
    const uint8_t* board = after(body, size, "\xa5" "board");
    const uint8_t* is_black = after(body, size, "\xa8is_black");
    if (!id || !board || !is_black) std::exit(2);
    const bool black = *is_black == 0xc3;
    const bool home = black ? board[2] != 0 : board[8 * 9] != 0;  // each row is a byte and eight cells
    uint8_t frame[64] = {0, 0, 0, 0};
    uint8_t* end = frame + HEADER;
    auto put = [&](const void* data, size_t length) { std::memcpy(end, data, length); end += length; };
    put("\x83\xa4type\xa4step\xa2id", 14);
    put(id, bytes_of_id(*id));
    put("\xa4move\x92", 6);
    const uint8_t corner[2][3] = {{0x92, 7, 7}, {0x92, 0, 0}};
    const uint8_t beside[2][3] = {{0x92, 7, 6}, {0x92, 0, 1}};
    put(home ? corner[black] : beside[black], 3);
    put(home ? beside[black] : corner[black], 3);
    frame[3] = static_cast<uint8_t>(end - frame - HEADER);
    const ssize_t length = end - frame;
    return send(sock, frame, static_cast<size_t>(length), 0) == length;
}

struct Bot {
    int sock;
    std::string rest;
};

// Receives once, and answers; returns false when the connection is over.
bool receive(Bot& bot) {
    uint8_t buffer[1 << 14];
    const ssize_t count = recv(bot.sock, buffer, sizeof buffer, 0);
    if (count <= 0) return false;
    const uint8_t* data = buffer;
    size_t size = static_cast<size_t>(count);
    if (!bot.rest.empty()) {
        bot.rest.append(reinterpret_cast<const char*>(buffer), size);
        data = reinterpret_cast<const uint8_t*>(bot.rest.data());
        size = bot.rest.size();
    }
    size_t start = 0;
    bool open = true;
    while (open && size - start >= HEADER) {
        const uint8_t* head = data + start;
        const size_t length = size_t{head[0]} << 24 | size_t{head[1]} << 16 | size_t{head[2]} << 8 | head[3];
        if (size - start < HEADER + length) break;
        open = reply(bot.sock, head + HEADER, length);
        start += HEADER + length;
    }
    std::string left(reinterpret_cast<const char*>(data + start), size - start);
    bot.rest.swap(left);
    return open;
}

}  // namespace

int main(int argc, char** argv) {
    const int poller = epoll_create1(0);
    std::vector<Bot> bots;
    for (int i = 1; i < argc; ++i) bots.push_back({std::atoi(argv[i]), ""});
    for (Bot& bot : bots) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.ptr = &bot;
        epoll_ctl(poller, EPOLL_CTL_ADD, bot.sock, &event);
    }
    size_t playing = bots.size();
    std::vector<epoll_event> events(256);
    while (playing) {
        const int count = epoll_wait(poller, events.data(), static_cast<int>(events.size()), -1);
        for (int i = 0; i < count; ++i) {
            Bot& bot = *static_cast<Bot*>(events[static_cast<size_t>(i)].data.ptr);
            if (!receive(bot)) {
                close(bot.sock);
                --playing;
            }
        }
    }
}
