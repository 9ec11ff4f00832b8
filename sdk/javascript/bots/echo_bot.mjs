// Answers at once: what remains of the time between question and answer is the SDK's. The first empty square is legal in
// longest_path, pseudo_tonga and chain_reaction; in other games the answer is illegal, which costs as long.
import { play } from "../getstep.mjs";

function getStep(board) {
  for (const [row, cells] of board.entries()) if (cells.includes(0)) return [row, cells.indexOf(0)];
  return [];
}

play(getStep);
