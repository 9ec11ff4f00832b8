// The test bot of docs/conformance.md: it always gives the same answer.
import { draw, estimate, play, say, tag } from "../getstep.mjs";

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

/** Wait as a search does: without events. */
const wait = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** Note something about this move, as the command asks. */
function note(command, turn) {
  if (command === "note") {
    say("conformance");
    say("\u{1F3B2}");
    estimate(0.5);
    estimate(0.25);
    draw([0, 0], { label: 7, color: "red" });
    draw([[0, 0], [1, 1]], { label: "to", color: "blue", shape: "arrow" });
    tag("opening");
  } else if (command === "note and raise") {
    say("before the error");
    throw new Error("conformance");
  } else if (command === "note badly") {
    say("x".repeat(1_000_000));
    say("the right one");
    for (const value of [NaN, Infinity, -1.5, "1"]) estimate(value);
    for (const squares of [[-1, 0], [0, 200], [], [0.5, 1]]) draw(squares);
    draw([0, 0], { shape: "circle" });
    for (const word of ["", "two words", "\x1b[2J"]) tag(word);
  } else if (command === "note a lot") {
    for (let number = 0; number < 10_000; number++) {
      say("x".repeat(100));
      estimate(number / 10_000);
      draw([0, 0], { label: number });
      tag(`tag${number}`);
    }
  }
  const ms = /^note ([0-9]{1,7})$/.exec(command)?.[1];
  if (ms) {
    say(`move ${turn.moveNumber}`);
    wait(Number(ms));
  }
}

function getStep(board, isBlack, turn) {
  const command = turn.opponent;
  if (command === "raise") throw new Error("conformance");
  if (command === "raise long") throw new Error("\u{1F3B2}".repeat(2000));
  if (command === "recurse") return getStep(board, isBlack, turn);
  if (command === "return nothing") return undefined;
  if (command === "return long") return Array(1000).fill([0, 0]);
  if (command === "tell") return [[turn.timeLeftMs, turn.moveNumber], ...squaresOf(turn.lastMove)];
  if (command === "tell opening") return [[turn.opening.length, 0], ...turn.opening.flatMap(squaresOf)];
  const ms = /^sleep ([0-9]{1,7})$/.exec(command)?.[1];
  if (ms) wait(Number(ms));
  note(command, turn);
  return firstMove(board, isBlack, turn.game);
}

play(getStep);
