// Draws a board as SVG, from the JSON of `look_json` in getstep_engines.look. It makes the same text as
// getstep.drawing.draw_svg, in node and in a browser; the colours are CSS variables of getstep.drawing.svg_style.

export const UNIT = 100; // of a square's side
const MARGIN = 60;
const LONGEST_LIST = 8; // squares that the description names: a penalty may fill a whole board

/**
 * Return an <svg> element with the board, as text.
 * `touched` has lists of [row, column] by the names of Python's `Touched`, each of which may be missing.
 * `drawn` has what a bot has drawn, see `drawingsOf`; Python draws none.
 */
export function drawBoard(look, board, touched = null, { title = look.title, fault = [], drawn = null } = {}) {
  const rows = board.length;
  const columns = rows ? board[0].length : 0;
  const marks = marksOf(touched || {}, fault);
  const [width, height] = [UNIT * columns + MARGIN + 10, UNIT * rows + MARGIN + 10];
  const layers = {
    squares: squaresLayer(rows, columns),
    regions: regionsLayer(look, rows, columns),
    ...(drawn && { areas: drawn.under }),
    pieces: piecesLayer(look, board),
    marks: marksLayer(marks, (touched && touched.path) || []),
    ...(drawn && { notes: drawn.over }),
    labels: labelsLayer(rows, columns),
  };
  const name = escaped(title);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="gs-board" role="img"` +
      ` aria-label="${name}: ${escaped([describe(look, board, marks), drawn?.words].filter(Boolean).join("; "))}"` +
      ` viewBox="${-MARGIN} ${-MARGIN} ${width} ${height}">`,
    `<title>${name}</title>`,
    ...Object.entries(layers).map(([layer, text]) => `<g class="gs-${layer}">${text}</g>`),
    "</svg>",
  ].join("\n");
}

/** Return the score line with its two numbers; "" if the game has none. */
export function scoreLine(look, numbers) {
  return numbers ? look.score.replace("{0}", numbers[0]).replace("{1}", numbers[1]) : "";
}

/** Return a new element. A child may be a node, text, an array, or nothing: null, undefined or false. */
export function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "onclick") element.addEventListener("click", value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/**
 * Show the score line in an element, with a bar of both players' shares: the first player's is on the left.
 * A line that names one number only has no bar: it is not a score of the two players.
 */
export function putScore(element, look, numbers) {
  element.textContent = scoreLine(look, numbers);
  if (!numbers || !look.score.includes("{1}")) return;
  const [first, second] = numbers.map((number) => Math.max(0, number));
  const share = Math.round((100 * (first + 1)) / (first + second + 2)); // the first point decides nothing yet
  const part = (player, from, to) => {
    return `<g class="gs-piece gs-${look.colours[player]}"><path d="M${from} 0H${to}V8H${from}z"/></g>`;
  };
  const bar = make("span", { class: "gs-lead" });
  const box = `class="gs-board" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"`;
  const parts = part(0, 0, share) + part(1, share, 100);
  putDrawing(bar, `<svg xmlns="http://www.w3.org/2000/svg" ${box}>${parts}</svg>`);
  element.append(bar);
}

/** Show a board as a table in an element that only screen readers see: they read it square by square. */
export function putTable(element, look, board) {
  const head = board[0].map((_, column) => make("th", { scope: "col" }, `column ${column}`));
  const rows = board.map((values, row) => {
    const cells = values.map((value) => make("td", {}, pieceAt(look, value)?.name ?? "empty"));
    return make("tr", {}, make("th", { scope: "row" }, `row ${row}`), cells);
  });
  const caption = make("caption", {}, "The board, square by square");
  const top = make("thead", {}, make("tr", {}, make("td"), head));
  element.replaceChildren(make("table", {}, caption, top, make("tbody", {}, rows)));
}

/** Return a drawing of a player's piece as text; "" if the pieces belong to nobody. */
export function drawPiece(look, player) {
  const piece = Object.values(look.pieces).find((one) => one.player === player);
  if (!piece) return "";
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" class="gs-board" viewBox="0 0 100 100" aria-hidden="true">`;
  return `${svg}${pieceOf(look, { ...piece, label: "" }, 0, 0)}</svg>`;
}

/** Return the squares that several steps touched, as if they were one: see `merge` in getstep.drawing. */
export function mergeTouched(parts) {
  const every = parts.filter((part) => part);
  const all = (name) => distinct(every.flatMap((part) => part[name] || []));
  const names = ["source", "path", "to", "captured", "exploded", "blocked"];
  const merged = Object.fromEntries(names.map((name) => [name, all(name)]));
  const last = every.length ? every[every.length - 1].to || [] : [];
  return merged.path.length ? { ...merged, to: last } : merged;
}

/** Replace the content of `element` by an SVG text from this module: it has no script and no inline style. */
export function putDrawing(element, text) {
  const svg = text && new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  element.replaceChildren(...(svg ? [document.importNode(svg, true)] : []));
}

/**
 * Let the pieces of a move arrive on a board that was drawn just now, in `ms`, unless the reader wants no motion.
 * A piece that left a square moves along its path, above the others; pieces that were placed or taken over grow.
 */
export function arrive(element, touched, ms) {
  if (!touched || !ms || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const { source = [], path = [], to = [], captured = [] } = touched;
  const isMove = source.length > 0 && to.length === 1;
  const at = ([row, column], by = 0) => `translate(${UNIT * column + by}px, ${UNIT * row + by}px)`;
  for (const square of isMove ? to : [...to, ...captured]) {
    const drawn = `.gs-piece[transform="translate(${UNIT * square[1]} ${UNIT * square[0]})"]`;
    const piece = element.querySelector(drawn);
    const way = path.length > 1 ? path : [source[0], square];
    const frames = isMove ? way.map((one) => at(one)) : [at(square, UNIT / 2) + " scale(0)", at(square)];
    if (isMove) piece?.parentElement.append(piece);
    piece?.animate({ transform: frames }, ms);
  }
}

function distinct(squares) {
  return [...new Map(squares.map((square) => [String(square), square])).values()];
}

/** Return a map from "row,column" to the mark of the square: arrived, changed or fault. */
function marksOf(touched, fault) {
  const marks = new Map();
  const mark = (squares, name) => (squares || []).forEach((square) => marks.set(String(square), name));
  for (const name of ["source", "path", "captured", "exploded"]) mark(touched[name], "changed");
  mark(touched.to, "arrived");
  mark(fault, "fault");
  return marks;
}

function pieceAt(look, value) {
  const known = look.pieces[value];
  if (known || value === 0) return known || null;
  return { name: `value ${value}`, shape: "tile", colour: "grey", label: String(value).slice(0, 2) };
}

function describe(look, board, marks) {
  const counts = new Map();
  for (const piece of board.flat().map((value) => pieceAt(look, value))) {
    if (piece) counts.set(piece.name, (counts.get(piece.name) || 0) + 1);
  }
  const parts = [[...counts].map(([name, number]) => `${number} × ${name}`).join(", ") || "empty board"];
  for (const [mark, what] of [["arrived", "the last move"], ["fault", "the illegal move"]]) {
    const marked = [...marks].filter(([, found]) => found === mark).map(([square]) => square);
    if (marked.length && marked.length <= LONGEST_LIST) parts.push(`${what} on ${marked.join(" and ")}`);
  }
  return parts.join("; ");
}

// --- the layers -------------------------------------------------------------------------------------------------

function squaresLayer(rows, columns) {
  const [width, height] = [UNIT * columns, UNIT * rows];
  const lines = (count, line) => Array.from({ length: count + 1 }, (_, n) => line(UNIT * n)).join("");
  const path = lines(rows, (y) => `M0 ${y}H${width}`) + lines(columns, (x) => `M${x} 0V${height}`);
  return `<rect width="${width}" height="${height}"/><path d="${path}"/>`;
}

function regionsLayer(look, rows, columns) {
  const shaded = new Set(look.regions.flatMap((region) => region.squares.map(String)));
  const text = [];
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      if (shaded.has(`${row},${column}`)) {
        text.push(`<rect x="${UNIT * column}" y="${UNIT * row}" width="${UNIT}" height="${UNIT}"/>`);
      }
    }
  }
  return text.join("");
}

function piecesLayer(look, board) {
  const drawn = (value, row, column) => {
    const piece = pieceAt(look, value);
    return piece ? pieceOf(look, piece, UNIT * column, UNIT * row) : "";
  };
  return board.flatMap((values, row) => values.map((value, column) => drawn(value, row, column))).join("");
}

function pieceOf(look, piece, x, y) {
  const label = piece.label ? `<text x="50" y="50" dy=".35em">${escaped(piece.label)}</text>` : "";
  const at = `class="gs-piece gs-${piece.colour}" transform="translate(${x} ${y})"`;
  return `<g ${at}><path d="${look.shapes[piece.shape]}"/>${label}</g>`;
}

function marksLayer(marks, path) {
  const squares = [...marks].map(([square, mark]) => [...square.split(",").map(Number), mark]);
  squares.sort((one, other) => one[0] - other[0] || one[1] - other[1]);
  const frames = squares.map(([row, column, mark]) => {
    return `<rect class="gs-${mark}" x="${UNIT * column + 5}" y="${UNIT * row + 5}" width="90" height="90"/>`;
  });
  const middle = path.map(([row, column]) => `${UNIT * column + 50},${UNIT * row + 50}`).join(" ");
  return frames.join("") + (path.length > 1 ? `<polyline class="gs-path" points="${middle}"/>` : "");
}

function labelsLayer(rows, columns) {
  const labels = (count, label) => Array.from({ length: count }, (_, n) => label(n)).join("");
  return (
    labels(columns, (column) => `<text x="${UNIT * column + 50}" y="-18">${column}</text>`) +
    labels(rows, (row) => `<text x="-30" y="${UNIT * row + 50}" dy=".35em">${row}</text>`)
  );
}

const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;" };

/** Return any text as it may stand in an element or an attribute; XML allows no control characters. */
export function escaped(text) {
  return text.replace(/(?! )[\p{C}\p{Z}]/gu, escapedChar).replace(/[&<>"']/g, (char) => ENTITIES[char]);
}

/** Return a character that cannot be seen as Python's codec unicode_escape writes it. */
function escapedChar(char) {
  const hex = char.codePointAt(0).toString(16);
  const named = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };
  if (named[char]) return named[char];
  if (hex.length <= 2) return `\\x${hex.padStart(2, "0")}`;
  return hex.length <= 4 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}
