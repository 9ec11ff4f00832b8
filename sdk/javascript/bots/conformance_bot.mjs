// The test bot of docs/conformance.md: it always gives the same answer.
import { play } from "../getstep.mjs";

const DIRECTIONS = [[-1, 0], [0, -1], [0, 1], [1, 0]];

function firstMove(board, isBlack, game) {
  const mine = isBlack ? 1 : 2;
  const isEmpty = (row, column) => board[row]?.[column] === 0;
  for (const [row, cells] of board.entries())
    for (const [column, cell] of cells.entries()) {
      if (game === "hop") {
        if (cell !== mine) continue;
        for (const [down, right] of DIRECTIONS)
          if (isEmpty(row + down, column + right)) return [[row, column], [row + down, column + right]];
      } else if (game === "linkage") {
        if (cell !== 0) continue;
        if (isEmpty(row, column + 1)) return ["R", [row, column], [row, column + 1]];
        if (isEmpty(row + 1, column)) return ["R", [row, column], [row + 1, column]];
      } else if (game === "chain_reaction" ? (isBlack ? cell >= 0 : cell <= 0) : cell === 0) {
        return [row, column];
      }
    }
  return [0, 0];
}

function squaresOf(move) {
  if (!move) return [];
  return typeof move[0] === "number" ? [move] : move.filter(Array.isArray);
}

function getStep(board, isBlack, turn) {
  const command = turn.opponent;
  if (command === "raise") throw new Error("conformance");
  if (command === "raise long") throw new Error("\u{1F3B2}".repeat(2000));
  if (command === "recurse") return getStep(board, isBlack, turn);
  if (command === "return nothing") return undefined;
  if (command === "return long") return Array(1000).fill([0, 0]);
  if (command === "tell") return [[turn.timeLeftMs, turn.moveNumber], ...squaresOf(turn.lastMove)];
  const ms = /^sleep ([0-9]{1,7})$/.exec(command)?.[1];
  if (ms) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(ms)); // as a search does: without events
  return firstMove(board, isBlack, turn.game);
}

play(getStep);
