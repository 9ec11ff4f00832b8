// Plays pseudo_tonga by Monte Carlo: each move is tried, and the rest of the game played at random, many times.
#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

#include "getstep.hpp"

using Board = std::vector<std::vector<int>>;
using Square = std::vector<int>;

// Return the size of the group at a square, and mark its squares as seen.
int GroupSize(const Board& board, Board& seen, int row, int column, int stone) {
    const int size = static_cast<int>(board.size());
    if (row < 0 || row >= size || column < 0 || column >= size) return 0;
    if (seen[row][column] || board[row][column] != stone) return 0;
    seen[row][column] = 1;
    return 1 + GroupSize(board, seen, row - 1, column, stone) + GroupSize(board, seen, row + 1, column, stone) +
           GroupSize(board, seen, row, column - 1, stone) + GroupSize(board, seen, row, column + 1, stone);
}

// Return the score of the first player minus that of the second: each group counts its size squared.
double Score(const Board& board) {
    Board seen(board.size(), std::vector<int>(board.size(), 0));
    double score = 0;
    for (int row = 0; row < static_cast<int>(board.size()); ++row)
        for (int column = 0; column < static_cast<int>(board.size()); ++column) {
            const int stone = board[row][column];
            if (stone == 0 || seen[row][column]) continue;
            const double group = GroupSize(board, seen, row, column, stone);
            score += stone == 1 ? group * group : -group * group;
        }
    return score;
}

// Fill the board at random, and return its score for the player who moved first here.
double Playout(Board board, std::vector<Square> empty, bool is_black, std::mt19937& random) {
    std::shuffle(empty.begin(), empty.end(), random);
    int stone = is_black ? 2 : 1;  // the opponent is next
    for (const Square& square : empty) {
        board[square[0]][square[1]] = stone;
        stone = 3 - stone;
    }
    return is_black ? Score(board) : -Score(board);
}

std::vector<int> GetStep(std::vector<std::vector<int>>& board, bool is_black, const getstep::Turn& turn) {
    static std::mt19937 random(std::random_device{}());
    std::vector<Square> empty;
    for (int row = 0; row < static_cast<int>(board.size()); ++row)
        for (int column = 0; column < static_cast<int>(board.size()); ++column)
            if (board[row][column] == 0) empty.push_back({row, column});

    // The limit is for all moves together: half of an equal share for this move.
    const double my_moves = static_cast<double>(empty.size() + 1) / 2;
    const auto budget = std::chrono::duration<double, std::milli>(0.5 * static_cast<double>(turn.time_left_ms) / my_moves);
    const auto until = std::chrono::steady_clock::now() + budget;

    std::vector<double> sums(empty.size(), 0.0);
    do {
        for (std::size_t n = 0; n < empty.size(); ++n) {
            std::vector<Square> others = empty;
            others.erase(others.begin() + static_cast<std::ptrdiff_t>(n));
            board[empty[n][0]][empty[n][1]] = is_black ? 1 : 2;
            sums[n] += Playout(board, others, is_black, random);
            board[empty[n][0]][empty[n][1]] = 0;
        }
    } while (std::chrono::steady_clock::now() < until);
    return empty[static_cast<std::size_t>(std::max_element(sums.begin(), sums.end()) - sums.begin())];
}

int main(int argc, char** argv) { return getstep::play(argc, argv, GetStep); }
