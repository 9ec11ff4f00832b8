// A bot for chain_reaction. It already plays; now improve it.
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

/** Return all legal moves: the squares that are empty or yours. */
function legalMoves(board, isBlack) {
  return squares(board).filter(([row, column]) => (isBlack ? board[row][column] >= 0 : board[row][column] <= 0));
}

/** Return how good a move looks: the higher, the better. */
function value(board, move, isBlack) {
  const around = neighbours(board, move);
  const orbs = Math.abs(board[move[0]][move[1]]) + 1;
  let enemies = 0; // orbs next to the square
  for (const [row, column] of around) {
    const cell = board[row][column];
    if (isBlack ? cell < 0 : cell > 0) enemies += Math.abs(cell);
  }

  // Put your own ideas here.
  // @hints
  if (orbs >= around.length) return enemies; // it explodes
  return enemies > 0 ? -0.5 : 1 / around.length;
}

/**
 * Return the move to make: [row, column], for example [0, 0].
 *
 * @board
 * isBlack is true if you are the first player, Red. You are only asked when you have a move.
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

import("./getstep.mjs").then(({ play }) => play(getStep, { games: ["chain_reaction"] }));
