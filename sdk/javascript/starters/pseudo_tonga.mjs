// A bot for pseudo_tonga. It already plays; now improve it.
//
// @goal
//
// The live page of the contest has the rules, at /rules, and says how to start a bot in JavaScript, at /javascript.
// @body

const DIRECTIONS = [[-1, 0], [1, 0], [0, -1], [0, 1]];

/** Return the squares above, below, left and right of a square, as far as they are on the board. */
function neighbours(board, [row, column]) {
  const around = DIRECTIONS.map(([down, right]) => [row + down, column + right]);
  return around.filter(([r, c]) => board[r]?.[c] !== undefined);
}

/** Return all squares of the board. */
function squares(board) {
  return board.flatMap((cells, row) => cells.map((_, column) => [row, column]));
}

/** Return all legal moves: the empty squares. */
function legalMoves(board) {
  return squares(board).filter(([row, column]) => board[row][column] === 0);
}

/** Return how good a move looks: the higher, the better. */
function value(board, move, isBlack) {
  const mine = isBlack ? 1 : 2;
  const stones = neighbours(board, move).map(([row, column]) => board[row][column]);
  const own = stones.filter((stone) => stone === mine).length;
  const theirs = stones.filter((stone) => stone === 3 - mine).length;

  // Put your own ideas here.
  // @hints
  return own + 0.5 * theirs;
}

/**
 * Return the move to make: [row, column], for example [0, 0].
 *
 * @board
 * isBlack is true if you are the first player, Black. You are only asked when you have a move.
 */
function getStep(board, isBlack) {
  // Play one of the moves that look best.
  const moves = legalMoves(board, isBlack);
  const values = moves.map((move) => value(board, move, isBlack));
  const highest = Math.max(...values);
  const best = moves.filter((_, n) => values[n] === highest);
  return best[Math.floor(Math.random() * best.length)];
}
// @end

// With a third parameter, getStep(board, isBlack, turn), you also get the match number, the opponent's name and last
// move, and the milliseconds left: turn.match, turn.opponent, turn.lastMove, turn.timeLeftMs.
// getStep may note what it thinks, for the replay: the page /javascript shows say, estimate, draw and tag.

import("./getstep.mjs").then(({ play }) => play(getStep, { games: ["pseudo_tonga"] }));
