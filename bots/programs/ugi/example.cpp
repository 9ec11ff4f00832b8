// An example for UGI (--as ugi): it plays longest_path, and makes and blocks long paths.
//
// It reads the position in each turn: the board, or the moves from the start.

#include <array>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

const int SIZE = 11;
std::array<std::array<int, SIZE>, SIZE> board{};  // board[row][column]: 0, or the player 1 or 2
int mover = 1;

// The number of stones to the farthest one of the group that has the square: a breadth-first search.
int path_from(int row, int column, int player) {
    std::array<std::array<bool, SIZE>, SIZE> seen{};
    std::vector<std::pair<int, int>> ring{{row, column}};
    seen[row][column] = true;
    int length = 0;
    while (!ring.empty()) {
        ++length;
        std::vector<std::pair<int, int>> next;
        for (auto [r, c] : ring) {
            for (auto [dr, dc] : {std::pair{1, 0}, {-1, 0}, {0, 1}, {0, -1}}) {
                int nr = r + dr, nc = c + dc;
                if (nr < 0 || nc < 0 || nr >= SIZE || nc >= SIZE || seen[nr][nc] || board[nr][nc] != player) continue;
                seen[nr][nc] = true;
                next.emplace_back(nr, nc);
            }
        }
        ring = std::move(next);
    }
    return length;
}

// Reads "startpos" or "fen BOARD PLAYER TURNS", and the moves after "moves".
void read_position(std::istringstream& words) {
    std::string word;
    board = {};
    mover = 1;
    words >> word;
    if (word == "fen") {
        std::string cells, player;
        words >> cells >> player;
        int square = 0;
        for (char cell : cells)
            if (cell >= '0' && cell <= '2') {
                board[square / SIZE][square % SIZE] = cell - '0';
                ++square;
            }
        mover = player == "p2" ? 2 : 1;
    }
    while (words >> word) {
        std::size_t comma = word.find(',');
        if (comma == std::string::npos) continue;  // "moves", or the number of turns
        board[std::atoi(word.c_str())][std::atoi(word.c_str() + comma + 1)] = mover;
        mover = 3 - mover;
    }
}

void think() {
    int best_value = -1, best_row = 0, best_column = 0;
    for (int r = 0; r < SIZE; ++r) {
        for (int c = 0; c < SIZE; ++c) {
            if (board[r][c] != 0) continue;
            int value = 3 * path_from(r, c, mover) + 2 * path_from(r, c, 3 - mover);
            if (value > best_value) {
                best_value = value;
                best_row = r;
                best_column = c;
            }
        }
    }
    int ahead = path_from(best_row, best_column, mover) - path_from(best_row, best_column, 3 - mover);
    std::cout << "info depth 1 score cp " << 20 * ahead << " pv " << best_row << ',' << best_column << '\n'
              << "bestmove " << best_row << ',' << best_column << std::endl;  // endl also flushes
}

int main() {
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        std::string word;
        words >> word;
        if (word == "ugi")
            std::cout << "id name Example in C++\nid author The getstep authors\nugiok" << std::endl;
        else if (word == "isready")
            std::cout << "readyok" << std::endl;
        else if (word == "position")
            read_position(words);
        else if (word == "go")
            think();
        else if (word == "quit")
            break;
    }
}
