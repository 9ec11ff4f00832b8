// A bot for several games: @listed. It already plays; now improve it.
//
// Each match is one of these games. getStep, at the end, calls the function of the game that is played.
//
// The live page of the contest has the rules, at /rules, and says how to start a bot in JavaScript, at /javascript.

const BOTS = {};

// @each
// --- @name ---
//
// @goal
BOTS["@name"] = (() => {
  // @body

  return getStep;
})();

// @done
/**
 * Return the move to make. turn.game is the game that is played. turn also has the match number, the opponent's name and
 * last move, and the milliseconds left: turn.match, turn.opponent, turn.lastMove, turn.timeLeftMs.
 */
function getStep(board, isBlack, turn) {
  return BOTS[turn.game](board, isBlack);
}

// The bot gives up a match of any game that is not named here, and plays the next ones.
import("./getstep.mjs").then(({ play }) => play(getStep, { games: Object.keys(BOTS) }));
