// An example for the Prodrive Dev Challenge (longest_path, --as prodrive): it makes long paths, and blocks them.
//
// It reads its player id, 0 or 1, and then the opponent's moves. Each line is "x y": the column and the row.

#include <array>
#include <iostream>
#include <utility>
#include <vector>

const int SIZE = 11;
enum Stone { NONE, MINE, THEIRS };
std::array<std::array<Stone, SIZE>, SIZE> board{};  // board[x][y]
int taken = 0;

// The number of stones to the farthest one of the group that has the square: a breadth-first search.
int path_from(int x, int y, Stone colour) {
    std::array<std::array<bool, SIZE>, SIZE> seen{};
    std::vector<std::pair<int, int>> ring{{x, y}};
    seen[x][y] = true;
    int length = 0;
    while (!ring.empty()) {
        ++length;
        std::vector<std::pair<int, int>> next;
        for (auto [cx, cy] : ring) {
            for (auto [dx, dy] : {std::pair{1, 0}, {-1, 0}, {0, 1}, {0, -1}}) {
                int nx = cx + dx, ny = cy + dy;
                if (nx < 0 || ny < 0 || nx >= SIZE || ny >= SIZE || seen[nx][ny] || board[nx][ny] != colour) continue;
                seen[nx][ny] = true;
                next.emplace_back(nx, ny);
            }
        }
        ring = std::move(next);
    }
    return length;
}

std::pair<int, int> best_move() {
    std::pair<int, int> best;
    int best_value = -1;
    for (int x = 0; x < SIZE; ++x) {
        for (int y = 0; y < SIZE; ++y) {
            if (board[x][y] != NONE) continue;
            int value = 3 * path_from(x, y, MINE) + 2 * path_from(x, y, THEIRS);
            if (value > best_value) {
                best_value = value;
                best = {x, y};
            }
        }
    }
    return best;
}

bool read_opponent() {
    int x, y;
    if (!(std::cin >> x >> y)) return false;
    board[x][y] = THEIRS;
    ++taken;
    return true;
}

int main() {
    int id;
    std::cin >> id;
    if (id == 1 && !read_opponent()) return 0;
    while (taken < SIZE * SIZE) {
        auto [x, y] = best_move();
        board[x][y] = MINE;
        ++taken;
        std::cout << x << ' ' << y << std::endl;  // endl also flushes: the host waits for the line
        if (taken < SIZE * SIZE && !read_opponent()) return 0;
    }
}
