// Players that cost as little as possible, each a process of its own, as the programs of real contestants are.
//
//   _hop_bots COUNTER FD...    a process for each socket: plays hop on it, until it is closed
//   _hop_bots COUNTER notes FILE FD...    the same, with the notes in FILE (msgpack) in each answer
//   _hop_bots COUNTER uci      one chess engine on standard input, as fastchess starts it
//
// Each answer is counted in the mapped file COUNTER. The players of hop know where the fields of a question are, and
// play one piece to and fro in its corner. The chess engine plays one game of 200 turns again and again.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace {

const size_t HEADER = 4;
const size_t CHESS_MOVE = 5;  // four letters and a blank; promotions are left out of the game below

// A random game without a repetition, a promotion or a rule that ends it.
const char GAME[] =
    "f2f3 f7f6 a2a4 d7d5 g2g3 d8d6 e2e3 d6c5 f1a6 c8g4 e1e2 c5c4 d2d3 c4e4 a6b7 c7c6 d3e4 e7e6 b7a8 e8d8 "
    "a8b7 g8e7 b1c3 h7h5 e2d2 f6f5 d1f1 b8d7 e4f5 e7c8 d2e2 f8c5 c3b5 h8e8 f1g2 d7b8 a4a5 g4f5 a1a2 c5b6 "
    "e3e4 e8h8 a2a1 h8h6 c1g5 d8d7 g5h6 c6b5 a1c1 b6d8 h6g5 d5d4 e2d1 c8b6 g5h6 d8c7 b7a8 b6a4 d1d2 g7g6 "
    "h6g5 d4d3 c1a1 c7b6 g5f4 b6d8 a1f1 d8g5 f1f2 g5d8 d2e3 h5h4 f4d6 d8f6 e3d2 f5e4 b2b3 f6d8 d6e7 e4b7 "
    "d2c1 b7c8 c2c4 b5c4 e7a3 a4b6 c1d1 d8f6 a3d6 b6a8 f3f4 g6g5 d6b8 c4c3 g3h4 a8b6 b8d6 f6g7 g2a8 g7d4 "
    "d6c5 d7c7 c5d4 c3c2 f2c2 d3c2 d1d2 g5g4 g1e2 c8b7 h1g1 b7d5 a8c6 c7d8 f4f5 b6c4 d2c2 d5e4 c2c3 c4e3 "
    "b3b4 e3g2 c6a6 e4c2 d4h8 c2e4 f5f6 e4h7 a6b7 d8e8 b7c7 h7g6 c7c8 e8f7 h4h5 g6d3 c3d2 a7a6 c8c3 d3f5 "
    "h8g7 f5b1 g1b1 f7e8 c3e3 e8d7 b1b3 g2f4 b3b1 d7d6 d2c2 f4h5 b1g1 h5f6 e2g3 f6h5 g7h8 d6c6 h2h3 c6b5 "
    "g1g2 h5f4 h8a1 b5b4 e3c1 b4a5 c1f1 a5b4 f1e1 b4b5 e1f2 b5a5 a1e5 f4h3 f2f4 a5b5 g2f2 b5a5 g3h1 h3f2 "
    "e5d6 f2d3 f4e5 d3e5 c2d1 g4g3 d1e1 a5a4 h1f2 e5g4 d6e5 g4h6 e5b2 e6e5 e1e2 a4b3 f2d3 h6g8 b2e5 a6a5 ";

uint64_t* counter;
std::string notes;  // empty: answers have none

void count() { __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); }

// Returns the byte after the first `key` in a message, or nullptr.
const uint8_t* after(const uint8_t* begin, size_t size, const char* key) {
    const size_t length = std::strlen(key);
    const void* found = memmem(begin, size, key, length);
    return found ? static_cast<const uint8_t*>(found) + length : nullptr;
}

size_t bytes_of_id(uint8_t first) {
    return first == 0xcf ? 9 : first == 0xce ? 5 : first == 0xcd ? 3 : first == 0xcc ? 2 : 1;
}

// Answers a question; ignores all other messages.
void reply(int sock, const uint8_t* body, size_t size) {
    if (!after(body, size, "\xa8get_step")) return;
    const uint8_t* id = after(body, size, "\xa2id");
    const uint8_t* board = after(body, size, "\xa5" "board");
    const uint8_t* is_black = after(body, size, "\xa8is_black");
    if (!id || !board || !is_black) std::exit(2);
    const bool black = *is_black == 0xc3;
    const bool home = black ? board[2] != 0 : board[8 * 9] != 0;  // each row is a byte and eight cells
    uint8_t frame[1 << 12] = {0, 0, 0, 0};  // MAX_CLIENT_FRAME
    uint8_t* end = frame + HEADER;
    auto put = [&](const void* data, size_t length) { std::memcpy(end, data, length); end += length; };
    put(notes.empty() ? "\x83" : "\x84", 1);
    put("\xa4type\xa4step\xa2id", 13);
    put(id, bytes_of_id(*id));
    put("\xa4move\x92", 6);
    const uint8_t corner[2][3] = {{0x92, 7, 7}, {0x92, 0, 0}};
    const uint8_t beside[2][3] = {{0x92, 7, 6}, {0x92, 0, 1}};
    put(home ? corner[black] : beside[black], 3);
    put(home ? beside[black] : corner[black], 3);
    if (!notes.empty()) {
        put("\xa5notes", 6);
        put(notes.data(), notes.size());
    }
    const size_t length = static_cast<size_t>(end - frame) - HEADER;
    frame[2] = static_cast<uint8_t>(length >> 8);
    frame[3] = static_cast<uint8_t>(length);
    count();  // before the send: the server may be stopped as soon as it has the answer
    if (send(sock, frame, static_cast<size_t>(end - frame), MSG_NOSIGNAL) < 0) std::exit(0);
}

void play(int sock) {
    std::string data;
    uint8_t buffer[1 << 14];
    for (;;) {
        const ssize_t got = recv(sock, buffer, sizeof buffer, 0);
        if (got <= 0) std::exit(0);
        data.append(reinterpret_cast<const char*>(buffer), static_cast<size_t>(got));
        size_t start = 0;
        while (data.size() - start >= HEADER) {
            const uint8_t* head = reinterpret_cast<const uint8_t*>(data.data()) + start;
            const size_t length = size_t{head[0]} << 24 | size_t{head[1]} << 16 | size_t{head[2]} << 8 | head[3];
            if (data.size() - start < HEADER + length) break;
            reply(sock, head + HEADER, length);
            start += HEADER + length;
        }
        data.erase(0, start);
    }
}

void play_chess() {
    char line[1 << 14];
    size_t turn = 0;
    while (std::fgets(line, sizeof line, stdin)) {
        if (!std::strncmp(line, "uci\n", 4)) std::puts("id name benchmark\nuciok");
        if (!std::strncmp(line, "isready", 7)) std::puts("readyok");
        if (!std::strncmp(line, "position", 8)) {
            const char* moves = std::strstr(line, " moves ");
            turn = moves ? (std::strlen(moves + 7) + CHESS_MOVE - 1) / CHESS_MOVE : 0;
        }
        if (!std::strncmp(line, "go", 2)) {
            count();
            std::printf("bestmove %.4s\n", GAME + CHESS_MOVE * (turn % (sizeof GAME / CHESS_MOVE)));
        }
        if (!std::strncmp(line, "quit", 4)) return;
        std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const int file = open(argv[1], O_RDWR);
    void* mapped = file < 0 ? MAP_FAILED : mmap(nullptr, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) {
        std::perror(argv[1]);
        return 1;
    }
    counter = static_cast<uint64_t*>(mapped);
    if (argc > 2 && !std::strcmp(argv[2], "uci")) {
        play_chess();
        return 0;
    }
    int first = 2;
    if (argc > 3 && !std::strcmp(argv[2], "notes")) {
        std::ifstream content(argv[3], std::ios::binary);
        notes.assign(std::istreambuf_iterator<char>(content), {});
        first = 4;
    }
    for (int i = first; i < argc; ++i) {
        const int sock = std::atoi(argv[i]);
        const pid_t child = fork();
        if (child < 0) {
            std::perror("fork");
            return 1;
        }
        if (!child) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            play(sock);
        }
        close(sock);
    }
    std::signal(SIGCHLD, SIG_IGN);
    for (;;) pause();
}
