// A bot for several games: @listed. It already plays; now improve it.
//
// Each match is one of these games. GetStep, at the end, calls the function of the game that is played.
//
// The live page of the contest has the rules, at /rules, and says how to build and start a bot in C++, at /cpp.

#include <algorithm>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "getstep.hpp"

// @each
// --- @name ---
//
// @goal
namespace @name {
// @body
}  // namespace @name

// @done
// Return the move to make. turn.game is the game that is played. turn also has the match number, the opponent's name
// and last move, and the milliseconds left: turn.match, turn.opponent, turn.last_squares, turn.time_left_ms.
getstep::Move GetStep(std::vector<std::vector<int>>& board, bool is_black, const getstep::Turn& turn) {
    // @each
    if (turn.game == "@name") return @name::GetStep(board, is_black);
    // @done
    throw std::logic_error("not a game of this bot: " + turn.game);
}

// The bot gives up a match of any game that is not named here, and plays the next ones.
int main(int argc, char** argv) { return getstep::play(argc, argv, GetStep, {@quoted}); }
