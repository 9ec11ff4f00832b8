// A bot for hop. It already plays; now improve it.
//
// @goal
//
// The live page of the contest has the rules, at /rules, and says how to start a bot in JavaScript, at /javascript.
// @body

const DIRECTIONS = [[-1, 0], [1, 0], [0, -1], [0, 1]];

/** Add all hops that go on from the last square of `path`. The piece has left the board; captured pieces leave it, too. */
function addHops(board, mine, path, moves) {
  const [row, column] = path.at(-1);
  for (const [down, right] of DIRECTIONS) {
    const over = [row + down, column + right];
    const to = [row + 2 * down, column + 2 * right];
    if (board[to[0]]?.[to[1]] !== 0 || board[over[0]][over[1]] === 0) continue;
    if (path.some(([r, c]) => r === to[0] && c === to[1])) continue; // it is allowed, but leads nowhere new
    const hopped = board[over[0]][over[1]];
    if (hopped !== mine) board[over[0]][over[1]] = 0;
    path.push(to);
    moves.push([...path]);
    addHops(board, mine, path, moves);
    path.pop();
    board[over[0]][over[1]] = hopped;
  }
}

/** Return the legal moves: steps to a neighbouring square, and hops, also several with the same piece. */
function legalMoves(board, isBlack) {
  const mine = isBlack ? 1 : 2;
  const moves = [];
  for (const [row, cells] of board.entries())
    for (const [column, cell] of cells.entries()) {
      if (cell !== mine) continue;
      for (const [down, right] of DIRECTIONS)
        if (board[row + down]?.[column + right] === 0) moves.push([[row, column], [row + down, column + right]]);
      const without = board.map((line) => [...line]);
      without[row][column] = 0;
      addHops(without, mine, [[row, column]], moves);
    }
  return moves;
}

/** Return how good a move looks: the higher, the better. */
function value(board, move, isBlack) {
  const mine = isBlack ? 1 : 2;
  const captured = new Set(); // a piece that is hopped over twice is captured once
  for (let n = 1; n < move.length; n += 1) {
    const row = (move[n - 1][0] + move[n][0]) / 2;
    const column = (move[n - 1][1] + move[n][1]) / 2; // in a step, one of the two is no whole number
    if (board[row]?.[column] === 3 - mine) captured.add(`${row},${column}`);
  }
  const columns = move.at(-1)[1] - move[0][1]; // to the right, as Black goes
  const isHome = isBlack ? move[0][1] >= 6 : move[0][1] <= 1;

  // Put your own ideas here.
  // @hints
  return 2 * captured.size + (isBlack ? columns : -columns) - (isHome ? 1.5 : 0);
}

/**
 * Return the move to make: the piece's square, then each square on its way, for example [[0, 0], [0, 1]].
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

import("./getstep.mjs").then(({ play }) => play(getStep, { games: ["hop"] }));
