// A bot for linkage. It already plays; now improve it.
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

const COLOURS = ["R", "B", "G", "Y"]; // 1 to 4 on the board

/** Return the legal moves: a domino of a colour that is left, on two neighbouring squares that are 0. */
function legalMoves(board) {
  const cells = board.flat();
  const isFree = ([row, column]) => board[row]?.[column] === 0;
  const moves = [];
  for (const [n, colour] of COLOURS.entries()) {
    if (cells.filter((cell) => cell === n + 1).length >= 12) continue; // all six dominoes are placed
    for (const [row, column] of squares(board).filter(isFree))
      for (const other of [[row, column + 1], [row + 1, column]])
        if (isFree(other)) moves.push([colour, [row, column], other]);
  }
  return moves;
}

/** Return how good a move looks: the higher, the better. */
function value(board, [colour, first, second], isBlack) {
  const around = [...neighbours(board, first), ...neighbours(board, second)];
  const same = around.filter(([row, column]) => board[row][column] === COLOURS.indexOf(colour) + 1).length;

  // Put your own ideas here.
  // @hints
  return isBlack ? -same : same;
}

/**
 * Return the move to make: a colour and two squares, for example ["R", [0, 0], [0, 1]].
 *
 * @board
 * isBlack is true if you are the first player, More. You are only asked when you have a move.
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

import("./getstep.mjs").then(({ play }) => play(getStep, { games: ["linkage"] }));
