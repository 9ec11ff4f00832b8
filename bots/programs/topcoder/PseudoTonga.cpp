// An example for TopCoder Marathon Match 6 (pseudo_tonga, --as topcoder): it joins its isles, and parts others.
//
// The host makes one object of the class for each game. It calls init once and then move. The main function comes from
// topcoder_wrapper.cpp: `getstep wrapper PseudoTonga.cpp` writes it.

#include <utility>
#include <vector>

class PseudoTonga {
    enum Stone { NONE, MINE, THEIRS };
    std::vector<std::vector<Stone>> board;

public:
    // row and col are the opponent's first move, or -1 if there was none.
    std::vector<int> init(int N, int row, int col) {
        board.assign(N, std::vector<Stone>(N, NONE));
        return row < 0 ? take(N / 2, N / 2) : move(row, col);
    }

    std::vector<int> move(int row, int col) {
        board[row][col] = THEIRS;
        int best = -1, best_row = 0, best_col = 0;
        int size = static_cast<int>(board.size());
        for (int r = 0; r < size; ++r) {
            for (int c = 0; c < size; ++c) {
                int value = at(r, c) != NONE ? -1 : gain(r, c, MINE) + gain(r, c, THEIRS);
                if (value > best) {
                    best = value;
                    best_row = r;
                    best_col = c;
                }
            }
        }
        return take(best_row, best_col);
    }

private:
    std::vector<int> take(int row, int col) {
        board[row][col] = MINE;
        return {row, col};
    }

    Stone at(int r, int c) const {
        int size = static_cast<int>(board.size());
        return r < 0 || c < 0 || r >= size || c >= size ? NONE : board[r][c];
    }

    // The points that a stone would add: the square of the new isle less the squares of those it joins.
    int gain(int row, int col, Stone colour) const {
        auto rest = board;
        int area = 1, before = 0;
        for (auto [dr, dc] : {std::pair{1, 0}, {-1, 0}, {0, 1}, {0, -1}}) {
            int isle = 0;
            std::vector<std::pair<int, int>> todo{{row + dr, col + dc}};
            while (!todo.empty()) {
                auto [r, c] = todo.back();
                todo.pop_back();
                if (at(r, c) != colour || rest[r][c] != colour) continue;
                rest[r][c] = NONE;  // counted
                ++isle;
                todo.insert(todo.end(), {{r + 1, c}, {r - 1, c}, {r, c + 1}, {r, c - 1}});
            }
            area += isle;
            before += isle * isle;
        }
        return area * area - before;
    }
};
