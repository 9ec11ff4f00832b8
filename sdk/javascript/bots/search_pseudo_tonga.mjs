// Plays pseudo_tonga by Monte Carlo: each move is tried, and the rest of the game played at random, many times.
import { play } from "../getstep.mjs";

/** Return the size of the group at a square, and mark its squares as seen. */
function groupSize(board, seen, row, column, stone) {
  if (board[row]?.[column] !== stone || seen[row][column]) return 0;
  seen[row][column] = true;
  return (
    1 +
    groupSize(board, seen, row - 1, column, stone) +
    groupSize(board, seen, row + 1, column, stone) +
    groupSize(board, seen, row, column - 1, stone) +
    groupSize(board, seen, row, column + 1, stone)
  );
}

/** Return the score of the first player minus that of the second: each group counts its size squared. */
function score(board) {
  const seen = board.map((cells) => cells.map(() => false));
  let sum = 0;
  for (const [row, cells] of board.entries())
    for (const [column, stone] of cells.entries()) {
      if (stone === 0) continue;
      const size = groupSize(board, seen, row, column, stone); // 0 if the group was counted already
      sum += stone === 1 ? size * size : -size * size;
    }
  return sum;
}

/** Fill the board at random, and return its score for the player who has just moved. */
function playout(board, empty, isBlack) {
  const squares = [...empty];
  const full = board.map((cells) => [...cells]);
  let stone = isBlack ? 2 : 1; // the opponent is next
  while (squares.length > 0) {
    const n = Math.floor(Math.random() * squares.length);
    const [row, column] = squares[n];
    squares[n] = squares.at(-1);
    squares.pop();
    full[row][column] = stone;
    stone = 3 - stone;
  }
  return isBlack ? score(full) : -score(full);
}

function getStep(board, isBlack, turn) {
  const empty = board.flatMap((cells, row) => cells.map((_, column) => [row, column])).filter(([r, c]) => board[r][c] === 0);

  // The limit is for all moves together: half of an equal share for this move.
  const myMoves = (empty.length + 1) / 2;
  const until = performance.now() + (0.5 * turn.timeLeftMs) / myMoves;

  const sums = empty.map(() => 0);
  do {
    for (const [n, [row, column]] of empty.entries()) {
      board[row][column] = isBlack ? 1 : 2;
      sums[n] += playout(board, empty.filter((_, other) => other !== n), isBlack);
      board[row][column] = 0;
    }
  } while (performance.now() < until);
  return empty[sums.indexOf(Math.max(...sums))];
}

play(getStep);
