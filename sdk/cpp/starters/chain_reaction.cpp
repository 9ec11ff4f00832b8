// A bot for chain_reaction. It already plays; now improve it.
//
// @goal
//
// The live page of the contest has the rules, at /rules, and says how to build and start a bot in C++, at /cpp.

#include <cstdlib>
#include <random>
#include <vector>

#include "getstep.hpp"
// @body

using Board = std::vector<std::vector<int>>;
using Move = std::vector<int>;  // {row, column}

// Return the squares above, below, left and right of a square, as far as they are on the board.
std::vector<Move> Neighbours(const Board& board, int row, int column) {
    std::vector<Move> found;
    const int rows = static_cast<int>(board.size()), columns = static_cast<int>(board[0].size());
    if (row > 0) found.push_back({row - 1, column});
    if (row + 1 < rows) found.push_back({row + 1, column});
    if (column > 0) found.push_back({row, column - 1});
    if (column + 1 < columns) found.push_back({row, column + 1});
    return found;
}

// Return all legal moves: the squares that are empty or yours.
std::vector<Move> LegalMoves(const Board& board, bool is_black) {
    std::vector<Move> moves;
    for (int row = 0; row < static_cast<int>(board.size()); ++row)
        for (int column = 0; column < static_cast<int>(board[row].size()); ++column)
            if (is_black ? board[row][column] >= 0 : board[row][column] <= 0) moves.push_back({row, column});
    return moves;
}

// Return how good a move looks: the higher, the better.
double Value(const Board& board, const Move& move, bool is_black) {
    const std::vector<Move> neighbours = Neighbours(board, move[0], move[1]);
    const int orbs = std::abs(board[move[0]][move[1]]) + 1;
    const bool explodes = orbs >= static_cast<int>(neighbours.size());
    int enemies = 0;  // orbs next to the square
    for (const Move& square : neighbours) {
        const int cell = board[square[0]][square[1]];
        if (is_black ? cell < 0 : cell > 0) enemies += std::abs(cell);
    }

    // Put your own ideas here.
    // @hints
    if (explodes) return enemies;
    return enemies > 0 ? -0.5 : 1.0 / static_cast<double>(neighbours.size());
}

// Return the move to make: {row, column}, for example {0, 0}.
//
// @board
// is_black is true if you are the first player, Red. You are only asked when you have a move.
std::vector<int> GetStep(std::vector<std::vector<int>>& board, bool is_black) {
    std::vector<Move> best;
    double best_value = 0;
    for (const Move& move : LegalMoves(board, is_black)) {
        const double value = Value(board, move, is_black);
        if (best.empty() || value > best_value) {
            best.clear();
            best_value = value;
        }
        if (value == best_value) best.push_back(move);
    }

    // Play one of the moves that look best.
    static std::mt19937 random(std::random_device{}());
    return best[random() % best.size()];
}
// @end

// With a third parameter, const getstep::Turn& turn, you also get the match number, the opponent's name and last
// move, and the milliseconds left: turn.match, turn.opponent, turn.last_squares, turn.time_left_ms.
// GetStep may note what it thinks, for the replay: getstep::say("I take the corner"); getstep::estimate(0.25);

int main(int argc, char** argv) { return getstep::play(argc, argv, GetStep, {"chain_reaction"}); }
