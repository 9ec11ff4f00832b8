// A bot for hop. It already plays; now improve it.
//
// @goal
//
// The live page of the contest has the rules, at /rules, and says how to build and start a bot in C++, at /cpp.

#include <algorithm>
#include <random>
#include <vector>

#include "getstep.hpp"
// @body

using Board = std::vector<std::vector<int>>;
using Square = std::vector<int>;   // {row, column}
using Move = std::vector<Square>;  // the piece's square, then each square on its way

const int kSize = 8;
const int kDirections[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};

bool IsEmpty(const Board& board, int row, int column) {
    return row >= 0 && row < kSize && column >= 0 && column < kSize && board[row][column] == 0;
}

// Add all hops that go on from the last square of `path`. The piece has left the board; captured pieces leave it, too.
void AddHops(Board& board, int mine, Move& path, std::vector<Move>& moves) {
    const Square at = path.back();
    for (const auto& direction : kDirections) {
        const Square over = {at[0] + direction[0], at[1] + direction[1]};
        const Square to = {at[0] + 2 * direction[0], at[1] + 2 * direction[1]};
        if (!IsEmpty(board, to[0], to[1]) || board[over[0]][over[1]] == 0) continue;
        if (std::find(path.begin(), path.end(), to) != path.end()) continue;  // it is allowed, but leads nowhere new
        const int hopped = board[over[0]][over[1]];
        if (hopped != mine) board[over[0]][over[1]] = 0;
        path.push_back(to);
        moves.push_back(path);
        AddHops(board, mine, path, moves);
        path.pop_back();
        board[over[0]][over[1]] = hopped;
    }
}

// Return the legal moves: steps to a neighbouring square, and hops, also several with the same piece.
std::vector<Move> LegalMoves(Board board, bool is_black) {
    const int mine = is_black ? 1 : 2;
    std::vector<Move> moves;
    for (int row = 0; row < kSize; ++row)
        for (int column = 0; column < kSize; ++column) {
            if (board[row][column] != mine) continue;
            for (const auto& direction : kDirections)
                if (IsEmpty(board, row + direction[0], column + direction[1]))
                    moves.push_back({{row, column}, {row + direction[0], column + direction[1]}});
            Move path = {{row, column}};
            board[row][column] = 0;
            AddHops(board, mine, path, moves);
            board[row][column] = mine;
        }
    return moves;
}

// Return how good a move looks: the higher, the better.
double Value(const Board& board, const Move& move, bool is_black) {
    const int mine = is_black ? 1 : 2;
    Board later = board;
    int captured = 0;
    for (std::size_t n = 1; n < move.size(); ++n) {
        int& between = later[(move[n - 1][0] + move[n][0]) / 2][(move[n - 1][1] + move[n][1]) / 2];
        if (between != 0 && between != mine) {  // never in a step: then it is one of your own two squares
            between = 0;
            ++captured;
        }
    }
    const int columns = move.back()[1] - move.front()[1];  // to the right, as Black goes
    const bool is_home = is_black ? move.front()[1] >= 6 : move.front()[1] <= 1;

    // Put your own ideas here. `later` is the board without the pieces that the move captures.
    // @hints
    return 2.0 * captured + (is_black ? columns : -columns) - (is_home ? 1.5 : 0.0);
}

// Return the move to make: the piece's square, then each square on its way, for example {{0, 0}, {0, 1}}.
//
// @board
// is_black is true if you are the first player, Black. You are only asked when you have a move.
std::vector<std::vector<int>> GetStep(std::vector<std::vector<int>>& board, bool is_black) {
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

int main(int argc, char** argv) { return getstep::play(argc, argv, GetStep, {"hop"}); }
