// A person's board. The server says which squares can be picked, and what has happened.

import { drawBoard, putDrawing, scoreLine } from "./board.js";
import { look as lookOf, showMove } from "./boards.js";
import { clock, h, name, sayOffline } from "./dom.js";

const at = (id) => document.getElementById(id);
const state = { ahead: 0 };
let look = null;
let source = null;
let picked = []; // the parts of the move that are picked: words and squares
let can = { squares: [], words: [], complete: false };
let asked = 0; // the question that `picked` answers
let turn = Promise.resolve(); // messages are sent in order
let waiting = 0; // the picks that are sent or to be sent; until then a click does nothing
let squares = []; // the buttons, row by row
let turned = false; // the board, for the second player
let focus = [0, 0];
let word = null; // the word that was picked last, such as a colour: picked again for the next move

const same = (one, other) => one[0] === other[0] && one[1] === other[1];
const has = (list, square) => list.some((one) => Array.isArray(one) && same(one, square));

// --- what the server says ---

async function take(parts) {
  state.ahead = parts.now - Date.now();
  Object.assign(state, parts);
  if (parts.ended) end(parts.ended);
  if (parts.game) await newGame(parts.game);
  if (!state.game) return say(state.text || "Connecting …");
  if ("board" in parts && state.board) draw();
  if ("question" in parts) newQuestion(state.question);
  if (parts.notes) at("notes").replaceChildren(...parts.notes.map((line, n) => h("li", state.numbers[n] ? { value: state.numbers[n] } : { class: "plain" }, line)).reverse());
  show();
}

async function newGame(game) {
  at("title").textContent = `${game.title}: ${game.teams[0]} against ${game.teams[1]}`;
  look = await lookOf(game.name);
  const board = at("board");
  board.before(at(`plate${1 - game.me}`));
  board.after(at(`plate${game.me}`)); // one sits at the bottom
  turned = game.me === 1;
  board.classList.toggle("turned", turned);
  squares = [];
  for (const player of [0, 1]) {
    const clockPlace = h("span", { class: "clock", id: `clock${player}` });
    at(`plate${player}`).replaceChildren(h("span", { class: "who" }, name(game.teams[player]), h("small", {}, ` ${game.players[player]}`)), clockPlace);
  }
}

function newQuestion(question) {
  picked = [];
  can = question || { squares: [], words: [], complete: false };
  asked = question ? question.id : 0;
  at("why").textContent = "";
  if (question && word && question.words.includes(word)) pick(word);
}

// --- drawing ---

function draw() {
  const { board, touched, measures } = state.board;
  const place = at("board");
  const old = place.querySelector("svg");
  const fresh = h("div", {});
  putDrawing(fresh, drawBoard(look, board, touched));
  const svg = fresh.firstElementChild;
  old ? old.replaceWith(svg) : place.prepend(svg);
  showMove(place, touched);
  at("score").textContent = measures ? scoreLine(look, measures) : "";
  if (squares.length !== board.length || squares[0].length !== board[0].length) buttons(board, svg.viewBox.baseVal);
  board.forEach((row, r) => row.forEach((value, c) => (squares[r][c].dataset.piece = pieceName(value))));
}

function pieceName(value) {
  if (!value) return "empty";
  return look.pieces[value] ? look.pieces[value].name : `value ${value}`;
}

/** Put a button over each square of the drawing; a square has 100 units, and (0, 0) is its first corner. */
function buttons(board, box) {
  const place = at("board");
  place.querySelectorAll(".square").forEach((one) => one.remove());
  squares = board.map((row, r) =>
    row.map((_, c) => {
      const button = h("button", { class: "square", type: "button", onclick: () => clicked(r, c) });
      button.dataset.row = r;
      button.dataset.column = c;
      button.style[turned ? "right" : "left"] = `${(100 * (100 * c - box.x)) / box.width}%`;
      button.style[turned ? "bottom" : "top"] = `${(100 * (100 * r - box.y)) / box.height}%`;
      button.style.width = `${10000 / box.width}%`;
      button.style.height = `${10000 / box.height}%`;
      button.addEventListener("focus", () => (focus = [r, c]));
      place.append(button);
      return button;
    }),
  );
}

function show() {
  const { game, result } = state;
  const mine = asked !== 0;
  squares.forEach((row, r) =>
    row.forEach((button, c) => {
      const order = picked.filter(Array.isArray).findIndex((square) => same(square, [r, c]));
      const open = mine && has(can.squares, [r, c]);
      button.classList.toggle("can", open);
      button.classList.toggle("picked", order >= 0);
      button.dataset.order = order >= 0 ? order + 1 : "";
      button.tabIndex = same(focus, [r, c]) ? 0 : -1;
      const label = `row ${r}, column ${c}: ${button.dataset.piece}${order >= 0 ? ", picked" : ""}${open ? ", can be picked" : ""}`;
      if (button.getAttribute("aria-label") !== label) button.setAttribute("aria-label", label);
    }),
  );
  showWords(mine);
  at("done").hidden = !(mine && can.complete && (can.squares.length || can.words.length));
  at("undo").hidden = !(mine && picked.some(Array.isArray));
  at("resign").hidden = !mine;
  at("here").hidden = !state.stalled;
  at("next").hidden = !state.more;
  at("rematch").hidden = !(result && game.rematch);
  if (result) say(`${result.won === true ? "You won" : result.won === false ? "You lost" : result.reason === "void" ? "The game is over" : "A draw"}: ${result.text}`);
  else if (state.ended) say("The game is over.");
  else if (mine) say(`Your turn: you are ${game.players[game.me]}.${picked.some(Array.isArray) ? " Pick the next square." : ""}`);
  else say(state.text || `${game.teams[1 - game.me]} is thinking …`);
  tick();
}

function showWords(mine) {
  const chosen = picked.find((part) => typeof part === "string");
  const place = at("words");
  const words = !mine ? [] : can.words.length ? can.words : chosen && state.question ? state.question.words : null;
  if (!words) return;
  if ([...place.children].map((one) => one.textContent).join() !== words.join()) {
    place.replaceChildren(...words.map((one) => h("button", { type: "button", role: "radio", onclick: () => choose(one) }, one)));
  }
  for (const button of place.children) button.setAttribute("aria-checked", button.textContent === chosen);
}

/** Pick a word; if one was picked before, begin the move again with it. */
function choose(one) {
  if (waiting) return;
  if (picked.some((part) => typeof part === "string")) [picked, can] = [[], state.question];
  pick(one);
}

function say(text) {
  if (at("say").textContent !== text) at("say").textContent = text;
}

function tick() {
  const now = Date.now() + state.ahead;
  if (!state.clock || !state.game) return;
  for (const player of [0, 1]) {
    const { left, running, asked: began, limit } = state.clock;
    const ms = left[player] === null ? null : left[player] - (running === player ? Math.max(0, now - began) : 0);
    const text = ms === null ? "" : clock(ms);
    const place = at(`clock${player}`);
    if (place && place.textContent !== text) place.textContent = text;
    at(`plate${player}`).classList.toggle("turn", running === player);
    at(`plate${player}`).classList.toggle("low", running === player && ms !== null && ms < 0.2 * limit);
  }
}

// --- what the person does ---

async function send(path, fields) {
  try {
    const answer = await fetch(`/play/${path}`, { method: "POST", body: new URLSearchParams({ question: asked, ...fields }) });
    return await answer.json();
  } catch {
    return { problem: "No connection; try again." };
  }
}

function clicked(row, column) {
  if (waiting) return;
  if (!asked) {
    at("why").textContent = state.result ? "The game is over." : "It is not your turn now.";
    return;
  }
  const last = picked.at(-1);
  if (can.complete && Array.isArray(last) && same(last, [row, column])) pick(null);
  else pick([row, column]);
}

/** Pick the next part of the move, or play it if `part` is null, after what was picked before. */
function pick(part) {
  const question = asked;
  waiting += 1;
  turn = turn.then(() => (question !== asked ? null : part === null ? play() : pickNow(part))).finally(() => (waiting -= 1));
}

/** Pick the next part of the move. If it cannot be, say why: it costs nothing. */
async function pickNow(part) {
  const question = asked;
  const wanted = [...picked, part];
  const found = await ask(wanted);
  if (!found || question !== asked) return;
  if (found.problem && Array.isArray(part) && picked.some(Array.isArray)) {
    // Not the next square of this move: perhaps the first one of another.
    const words = picked.filter((one) => typeof one === "string");
    const other = await ask([...words, part]);
    if (other && !other.problem && question === asked) return keep([...words, part], other);
  }
  if (found.problem) at("why").textContent = found.problem;
  else keep(wanted, found);
}

const ask = (parts) => send("pick", { picked: JSON.stringify(parts) });

function keep(parts, found) {
  at("why").textContent = "";
  [picked, can] = [parts, found];
  if (typeof parts[0] === "string" && !found.complete) word = parts[0];
  show();
  if (found.complete && !found.squares.length && !found.words.length) pick(null);
}

async function play() {
  const answer = await send("move", { picked: JSON.stringify(picked) });
  if (answer?.problem) at("why").textContent = answer.problem;
}

function takeBack() {
  if (!state.question || !asked) return;
  const words = picked.filter((one) => typeof one === "string");
  picked = [];
  can = state.question;
  at("why").textContent = "";
  if (words.length) pick(words[0]);
  else show();
}

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

at("board").addEventListener("keydown", (event) => {
  const step = STEPS[event.key];
  if (!step) return;
  event.preventDefault();
  const way = turned ? -1 : 1;
  const [row, column] = [focus[0] + way * step[0], focus[1] + way * step[1]];
  if (squares[row] && squares[row][column]) {
    focus = [row, column];
    squares.flat().forEach((one) => (one.tabIndex = -1));
    squares[row][column].tabIndex = 0;
    squares[row][column].focus();
  }
});
document.addEventListener("keydown", (event) => event.key === "Escape" && takeBack());
at("done").addEventListener("click", () => waiting || pick(null));
at("undo").addEventListener("click", takeBack);
at("here").addEventListener("click", () => send("here", {}));
at("next").addEventListener("click", () => send("here", {}));
at("resign").addEventListener("click", () => confirm("Give up this game?") && send("resign", {}));

// --- the connection ---

let chain = Promise.resolve();

function connect() {
  source = new EventSource("/play/events");
  source.onopen = () => sayOffline("");
  source.onmessage = (message) => (chain = chain.then(() => take(JSON.parse(message.data))));
  source.onerror = () => {
    sayOffline("No connection. The page comes back automatically; if your game is gone, choose a new one.");
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, 3000);
  };
}

/** Say why nothing comes any more; the board stays. */
function end(text) {
  source.close();
  at("leave").hidden = true;
  sayOffline(text);
}

setInterval(tick, 200);
connect();
