// A bot for linkage. It already plays; now improve it.
//
// @goal
//
// The live page of the contest has the rules, at /rules, and says how to build and start a bot in C++, at /cpp.

#include <random>
#include <string>
#include <vector>

#include "getstep.hpp"
// @body

using Board = std::vector<std::vector<int>>;

struct Square {
    int row, column;
};

struct Move {
    int colour;  // 1 to 4: R, B, G, Y
    Square first, second;
};

const int kSize = 7;
const int kDirections[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};

// Return the legal moves: a domino of a colour that is left, on two neighbouring squares that are 0.
std::vector<Move> LegalMoves(const Board& board, bool) {
    int left[5] = {0, 12, 12, 12, 12};  // squares: six dominoes of each colour
    for (const auto& row : board)
        for (const int cell : row)
            if (cell > 0) --left[cell];
    std::vector<Move> moves;
    for (int colour = 1; colour <= 4; ++colour) {
        if (left[colour] < 2) continue;
        for (int row = 0; row < kSize; ++row)
            for (int column = 0; column < kSize; ++column) {
                if (board[row][column] != 0) continue;
                if (column + 1 < kSize && board[row][column + 1] == 0)
                    moves.push_back({colour, {row, column}, {row, column + 1}});
                if (row + 1 < kSize && board[row + 1][column] == 0)
                    moves.push_back({colour, {row, column}, {row + 1, column}});
            }
    }
    return moves;
}

// Return how good a move looks: the higher, the better.
double Value(const Board& board, const Move& move, bool is_black) {
    int same = 0;  // neighbours of the domino that have its colour
    for (const Square& square : {move.first, move.second})
        for (const auto& direction : kDirections) {
            const int row = square.row + direction[0], column = square.column + direction[1];
            if (row >= 0 && row < kSize && column >= 0 && column < kSize && board[row][column] == move.colour) ++same;
        }

    // Put your own ideas here.
    // @hints
    return is_black ? -same : same;
}

// Return a move in the form that the server expects.
getstep::Move ToStep(const Move& move) {
    const std::string colour(1, "?RBGY"[move.colour]);
    return getstep::domino(colour, {move.first.row, move.first.column}, {move.second.row, move.second.column});
}

// Return the move to make: a colour and two squares, for example getstep::domino("R", {0, 0}, {0, 1}).
//
// @board
// is_black is true if you are the first player, More. You are only asked when you have a move.
getstep::Move GetStep(std::vector<std::vector<int>>& board, bool is_black) {
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
    return ToStep(best[random() % best.size()]);
}
// @end

// With a third parameter, const getstep::Turn& turn, you also get the match number, the opponent's name and last
// move, and the milliseconds left: turn.match, turn.opponent, turn.last_squares, turn.time_left_ms.
// GetStep may note what it thinks, for the replay: getstep::say("I take the corner"); getstep::estimate(0.25);

int main(int argc, char** argv) { return getstep::play(argc, argv, GetStep, {"linkage"}); }
