// What a bot has drawn on the board while it computed a move: marks, arrows, regions and dominoes. As board.js it
// knows no game, and makes text. A drawing is [shape, [row, column, row, column, ...], label, colour], see _data.py.

import { UNIT, escaped } from "./board.js";

const MOST_NAMED = 4; // drawings that the description of the board names
const GAP = 12; // between the side of a domino and the side of its squares
const WIDE = /[mwMW@%\u2026\u2e80-\uffff\u{10000}-\u{10ffff}]/u;

/**
 * Return the drawings of a turn as {under, over, words}: text of SVG for below the pieces and above them, and a
 * description. Squares off the board are left out. Drawings without a colour have that of `player`.
 */
export function drawingsOf(look, board, drawings, player) {
  const found = { under: "", over: "", words: "" };
  const labels = [];
  const words = [];
  for (const [shape, flat, label, colour] of drawings) {
    const squares = onBoard(flat, board);
    const draw = SHAPES[shape];
    const parts = draw && squares.length ? draw(squares, board, label !== null && label !== "") : null;
    if (!parts) continue;
    const paint = /^[a-z]+$/.test(colour || "") ? colour : look.colours[player];
    const text = label === null ? "" : String(label);
    const group = (content) => (content ? `<g class="gs-note gs-${paint}">${content}</g>` : "");
    found.under += group(parts.under);
    found.over += group(parts.over);
    if (text) labels.push(...parts.labels.map((at) => group(badge(text, at))));
    const joint = shape === "arrow" ? " to " : " and ";
    words.push(`${shape}${text && " "}${text} on ${squares.map((square) => square.join(",")).join(joint)}`);
  }
  found.over += labels.join("");
  const more = words.length - MOST_NAMED;
  if (more > 0) words.splice(MOST_NAMED, more, `and ${more} more`);
  if (words.length) found.words = `drawn: ${words.join(", ")}`;
  return found;
}

function onBoard(flat, board) {
  const squares = [];
  for (let i = 0; i + 1 < flat.length; i += 2) {
    if (board[flat[i]]?.[flat[i + 1]] !== undefined) squares.push([flat[i], flat[i + 1]]);
  }
  return squares;
}

const SHAPES = {
  mark(squares, board, labelled) {
    const over = labelled ? "" : squares.map(([row, column]) => ring(UNIT * column + 50, UNIT * row + 50)).join("");
    // A label has the middle of an empty square, and leaves a piece to be seen.
    const labels = squares.map(([row, column]) => [UNIT * column + 50, UNIT * row + (board[row][column] ? 80 : 50)]);
    return { under: "", over, labels };
  },
  arrow(squares) {
    const points = squares.map(middle).filter((point, n, all) => !n || String(point) !== String(all[n - 1]));
    if (points.length < 2) return null;
    const [from, to] = points.slice(-2);
    const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
    const [x, y] = [(to[0] - from[0]) / length, (to[1] - from[1]) / length];
    const at = (along, aside) => `${rounded(to[0] - along * x - aside * y)} ${rounded(to[1] - along * y + aside * x)}`;
    const line = `M${[...points.slice(0, -1).map((point) => point.join(" ")), at(24, 0)].join("L")}`;
    const head = `<path d="M${at(0, 0)}L${at(34, 20)}L${at(34, -20)}Z"/>`;
    return { under: "", over: lines(line) + head, labels: [[to[0], to[1] + 32]] };
  },
  region(squares) {
    const inside = new Set(squares.map(String));
    const has = (row, column) => inside.has(`${row},${column}`);
    const sides = squares.map(([row, column]) => {
      const [x, y] = [UNIT * column, UNIT * row];
      return (
        (has(row - 1, column) ? "" : `M${x} ${y}h${UNIT}`) +
        (has(row + 1, column) ? "" : `M${x} ${y + UNIT}h${UNIT}`) +
        (has(row, column - 1) ? "" : `M${x} ${y}v${UNIT}`) +
        (has(row, column + 1) ? "" : `M${x + UNIT} ${y}v${UNIT}`)
      );
    });
    const [row, column] = squares[0];
    const labels = [[UNIT * column + 50, UNIT * row + 24]];
    const under = `<path d="${squares.map((square) => box([square], 0)).join("")}"/>`;
    return { under, over: lines(sides.join("")), labels };
  },
  domino(squares) {
    if (squares.length !== 2) return null;
    const [[row, column], [otherRow, otherColumn]] = squares;
    const beside = Math.abs(row - otherRow) + Math.abs(column - otherColumn) === 1;
    const outline = beside ? box(squares, GAP) : squares.map((square) => box([square], GAP)).join("");
    const labels = [[50 * (column + otherColumn + 1), 50 * (row + otherRow + 1)]];
    return { under: `<path d="${outline}"/>`, over: lines(outline), labels };
  },
};

function middle([row, column]) {
  return [UNIT * column + 50, UNIT * row + 50];
}

function rounded(number) {
  return Number(number.toFixed(1));
}

/** Return a line in the colour of a drawing with a border that is seen on any ground and piece. */
function lines(path) {
  return `<path class="gs-shaft" d="${path}"/><path class="gs-core" d="${path}"/>`;
}

/** Return a ring around a piece. */
function ring(x, y) {
  return lines(`M${x - 42} ${y}a42 42 0 1 0 84 0a42 42 0 1 0-84 0Z`);
}

/** Return the outline of the smallest rectangle with these squares. */
function box(squares, gap) {
  const [rows, columns] = [0, 1].map((axis) => squares.map((square) => square[axis]));
  const [x, y] = [UNIT * Math.min(...columns) + gap, UNIT * Math.min(...rows) + gap];
  const [width, height] = [columns, rows].map((all) => UNIT * (Math.max(...all) - Math.min(...all) + 1) - 2 * gap);
  return `M${x} ${y}h${width}v${height}h${-width}Z`;
}

/** Return a label that is at most as wide as a square. */
function badge(text, [x, y]) {
  const width = [...text].reduce((sum, char) => sum + (WIDE.test(char) ? 1.05 : 0.66), 0); // of letters, in their size
  const size = rounded(Math.min(40, 88 / width));
  const [half, top] = [rounded((width * size) / 2 + 5), rounded(size * 0.58)];
  const outline = `M${rounded(x - half)} ${rounded(y - top)}h${2 * half}v${2 * top}h${-2 * half}Z`;
  return `<path d="${outline}"/><text x="${x}" y="${y}" dy=".35em" font-size="${size}">${escaped(text)}</text>`;
}
