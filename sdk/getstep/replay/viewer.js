// The replay viewer: board, clocks, time of each turn, the bots' notes, move list, keys and links, in one element.
// All text goes through textContent: names, reasons and notes come from contestants.

import { arrive, drawBoard, drawPiece, make, mergeTouched } from "./board.js";
import { putDrawing, putScore, putTable, scoreLine } from "./board.js";
import { drawingsOf } from "./drawings.js";
import { clocksAt, duration, estimatesOf, expand, notesAt, onTurn, tagsOf, turnText, withTexts } from "./frames.js";
import { sound, soundButton } from "./sound.js";

const STEP_MS = 200; // the longest that one step of a chain is shown
const SPEED_MS = 500;
const AGAIN = 10; // moves that are played again
const ICONS = {
  start: "M6 5h2v14H6zM20 5v14L9 12z",
  back: "M17 5v14L6 12z",
  play: "M7 4v16l13-8z",
  pause: "M6 5h4v14H6zM14 5h4v14h-4z",
  forward: "M7 5v14l11-7z",
  end: "M16 5h2v14h-2zM4 5v14l11-7z",
  again: "M12 5V1L6 6l6 5V7a5 5 0 1 1-5 5H5a7 7 0 1 0 7-7zM11 9v5l4 2 .8-1.5L12.6 13V9z",
  sound: "M4 9v6h4l5 5V4L8 9zM16 8v8a5 5 0 0 0 0-8zM15 3v2a7 7 0 0 1 0 14v2a9 9 0 0 0 0-18z",
  link: "M10 13a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1 1.5 1.5 1-1a2 2 0 0 1 3 3l-3 3a2 2 0 0 1-3 0z" +
    "M14 11a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1-1.5-1.5-1 1a2 2 0 0 1-3-3l3-3a2 2 0 0 1 3 0z",
  full: "M4 4h6v2H6v4H4zM14 4h6v6h-2V6h-4zM4 14h2v4h4v2H4zM18 14h2v6h-6v-2h4z",
  draws: "M4 16.5V20h3.5L18 9.5 14.5 6zM15.5 5 17 3.5 20.5 7 19 8.5z",
};

function drawing(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function icon(name) {
  const svg = drawing("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" });
  svg.append(drawing("path", { d: ICONS[name] }));
  return svg;
}

/**
 * Build the replay viewer for `data` (see _data.py) inside `root`.
 * With `hash`, it follows and sets the page's address: #move=37, with many games #game=2&move=37.
 */
export function mountReplay(root, data, { hash = true } = {}) {
  const viewer = new Viewer(root, data, hash);
  viewer.start();
  return viewer;
}

class Viewer {
  constructor(root, data, hash) {
    this.root = root;
    this.data = { ...data, games: data.games.map(withTexts) };
    this.hash = hash;
    this.timer = null;
    this.playing = false;
    this.drawn = true; // what the bots have drawn is shown
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
  }

  start() {
    const { game, move } = this.address();
    this.build();
    this.choose(game, move);
    if (this.hash) addEventListener("hashchange", () => this.follow());
    document.addEventListener("keydown", (event) => this.key(event));
    addEventListener("beforeprint", () => this.beforePrint());
    addEventListener("afterprint", () => this.show(this.printed ?? this.at));
  }

  /** Show newer data of the same match; stay at the move that is shown, or at the end if that is shown. */
  update(data) {
    const [at, atEnd] = [this.at, this.at === this.last];
    const more = data.games.length > this.data.games.length; // it is played again
    const { playing } = this;
    this.data = { ...data, games: data.games.map(withTexts) };
    if (more) this.build();
    const follows = atEnd && !this.calm.matches && !more; // the new moves are played, not jumped over
    this.choose(more ? data.games.length - 1 : this.number, (atEnd && !playing && !follows) || more ? null : at);
    if (follows && this.last > at) this.setPlaying(true);
    if (this.playing) this.playOn();
  }

  // --- the address -------------------------------------------------------------------------------------------

  /** Return the game (from 0) and the move in the page's address; without a move it is null. */
  address() {
    const words = new URLSearchParams(this.hash ? location.hash.slice(1) : "");
    const whole = (name) => (/^\d{1,9}$/.test(words.get(name) || "") ? Number(words.get(name)) : null);
    const game = Math.min(Math.max((whole("game") ?? 1) - 1, 0), this.data.games.length - 1);
    return { game, move: whole("move") };
  }

  link(move) {
    return this.data.games.length > 1 ? `#game=${this.number + 1}&move=${move}` : `#move=${move}`;
  }

  follow() {
    const { game, move } = this.address();
    this.pause();
    if (game !== this.number) this.choose(game, move);
    else if (move !== null && move !== this.at) this.show(move);
  }

  /** Write the move into the address. Not while playing: browsers refuse more than some changes a second. */
  remember() {
    if (this.hash && !this.playing) history.replaceState(null, "", this.link(this.at));
  }

  // --- building ----------------------------------------------------------------------------------------------

  build() {
    const { games } = this.data;
    this.parts = {};
    const part = (name, element) => (this.parts[name] = element);
    const list = part("list", make("select", { id: "rp-game" }));
    games.forEach((game, n) => list.append(make("option", { value: n }, optionText(game))));
    list.addEventListener("change", () => {
      this.pause();
      this.choose(Number(list.value), null);
      this.remember();
    });
    const links = this.data.links.map(([text, href]) => make("a", { href }, text));
    const chooser = games.length > 1 ? [make("label", { for: "rp-game" }, `Game (${games.length})`), list] : [];
    const items = [...links, ...chooser];
    const head = make(
      "header",
      { class: "rp-head" },
      items.length ? make("nav", { class: "rp-nav", "aria-label": "Games" }, ...items) : null,
      part("title", make("h1")),
      part("about", make("p", { class: "rp-about" })),
      part("result", make("p", { class: "rp-result" })),
    );
    const game = make(
      "section",
      { class: "rp-game", "aria-label": "Board" },
      part("top", make("div", { class: "rp-plate" })),
      part("board", make("div", { class: "rp-board" })),
      part("table", make("div", { class: "rp-hidden" })),
      part("bottom", make("div", { class: "rp-plate" })),
    );
    const panel = make(
      "section",
      { class: "rp-panel", "aria-label": "Replay" },
      part("score", make("p", { class: "rp-score" })),
      part("now", make("p", { class: "rp-now" })),
      part("live", make("p", { class: "rp-hidden", "aria-live": "polite" })),
      ...this.controls(),
      part("notes", make("div", { class: "rp-notes", tabindex: "0", role: "group", "aria-label": "Bots' notes" })),
    );
    const moves = { class: "rp-moves", tabindex: "0", "aria-label": "Moves with the time of each" };
    const side = make(
      "section",
      { class: "rp-side", "aria-label": "Moves" },
      make("h2", {}, "Moves"),
      part("moves", make("ol", moves)),
    );
    const stage = make("div", { class: "rp-stage" }, game, panel, side);
    const facts = part("facts", make("dl", { class: "rp-facts" }));
    this.root.replaceChildren(part("whole", make("div", { class: "rp" }, head, stage, facts)));
    new ResizeObserver(() => this.scrollMoves()).observe(this.parts.moves); // it was built where nobody sees it
  }

  /** Return a curve or a row of bars over all moves; a click goes to the move there. */
  timeline(name) {
    const chart = drawing("svg", { class: name, preserveAspectRatio: "none", "aria-hidden": "true" });
    chart.addEventListener("click", (event) => {
      const box = chart.getBoundingClientRect();
      this.jump(Math.round(((event.clientX - box.left) / box.width) * this.last));
    });
    return chart;
  }

  controls() {
    const button = (name, label, action) => {
      const attributes = { type: "button", "aria-label": label, title: label, class: `rp-${name}` };
      const element = make("button", attributes, icon(name));
      element.addEventListener("click", action);
      return (this.parts[name] = element);
    };
    const slider = (this.parts.slider = make("input", { type: "range", min: 0, value: 0, "aria-label": "Move" }));
    slider.addEventListener("input", () => this.jump(Number(slider.value)));
    const number = { type: "number", id: "rp-speed", min: 20, max: 10000, step: 20, value: SPEED_MS };
    const speed = (this.parts.speed = make("input", number));
    const values = (this.parts.values = this.timeline("rp-values gs-board"));
    const times = (this.parts.times = this.timeline("rp-times"));
    const key = (this.parts.key = make("p", { class: "rp-key" }));
    return [
      make("div", { class: "rp-track" }, key, values, times, slider),
      make(
        "div",
        { class: "rp-buttons" },
        button("start", "Start (Home)", () => this.jump(0)),
        button("back", "One move back (Left)", () => this.jump(this.at - 1)),
        button("play", "Play (Space)", () => this.toggle()),
        button("forward", "One move on (Right)", () => this.forward()),
        button("end", "End (End)", () => this.jump(this.last)),
        button("again", `The last ${AGAIN} moves again (L)`, () => this.again()),
        button("draws", "Drawings of the bots (D)", () => this.switchDrawings()),
        soundButton(button("sound", "", () => {})),
        this.hash ? button("link", "Copy the link to this position (C)", () => this.copyLink()) : null,
        document.fullscreenEnabled ? button("full", "Full screen (F)", () => this.fullScreen()) : null,
        (this.parts.count = make("span", { class: "rp-count" })),
        make("label", { class: "rp-speed", for: "rp-speed" }, speed, "ms a move"),
      ),
    ];
  }

  /** Show the game with this number, from 0; without a move its last position. */
  choose(number, move) {
    this.number = number;
    this.game = this.data.games[number];
    this.look = this.game.look === undefined ? null : this.data.looks[this.game.look];
    this.frames = expand(this.game);
    this.last = this.frames.length - 1;
    const { title, about, result, slider, list } = this.parts;
    list.value = number;
    slider.max = this.last;
    const [first, second] = this.game.names;
    title.replaceChildren(make("bdi", {}, first), " – ", make("bdi", {}, second));
    about.textContent = this.game.title;
    const outcome = this.game.result || "Not over";
    result.replaceChildren(make("strong", {}, outcome), this.game.why ? ` (${this.game.why})` : "");
    if (this.game.problem) result.append(make("span", { class: "rp-problem" }, this.game.problem));
    this.buildMoves();
    this.buildTimes();
    this.buildValues();
    this.parts.draws.setAttribute("aria-pressed", this.drawn);
    this.parts.draws.hidden = !this.look || !this.game.turns.some(({ v }) => v?.draw);
    this.parts.notes.hidden = !this.game.turns.some(({ v }) => v);
    this.buildFacts();
    this.show(move ?? this.last);
  }

  buildMoves() {
    this.longest = Math.max(1, ...this.game.turns.map((turn) => turn.t || 0));
    const rows = this.game.turns.map((turn, n) => this.row(turn, n + 1));
    this.parts.moves.replaceChildren(...rows);
    const none = this.game.problem ? "No turns." : "No turn was played.";
    if (!rows.length) this.parts.moves.append(make("li", { class: "rp-none" }, none));
    this.rows = rows;
  }

  row(turn, n) {
    const link = make(
      "a",
      { href: this.link(n), tabindex: "-1" },
      make("span", { class: "rp-n" }, n),
      make("span", { class: "rp-who" }, this.role(turn.p)),
      make("bdi", { class: "rp-move" }, turnText(turn)),
    );
    if (turn.k !== "pass")
      link.append(make("span", { class: "rp-ms" }, turn.t === undefined ? "not measured" : duration(turn.t)));
    link.addEventListener("click", (event) => {
      event.preventDefault();
      this.jump(n);
    });
    const kinds = [isFault(turn) ? "rp-fault" : "", turn.r ? "rp-given" : ""].join(" ").trim();
    const row = make("li", kinds ? { class: kinds } : {}, link);
    row.style.setProperty("--share", (turn.t || 0) / this.longest);
    if (turn.w) row.append(make("p", { class: "rp-why" }, turn.w));
    for (const note of turn.n || []) row.append(make("p", { class: "rp-note" }, note));
    if (turn.v?.say) link.firstChild.prepend(make("span", { title: "with a note" }, "“ "));
    return row;
  }

  /** Draw a bar for the time of each turn: the first player's up, the second player's down. */
  buildTimes() {
    const { times } = this.parts;
    const paths = { "rp-bars": "", "rp-fault": "" };
    this.game.turns.forEach((turn, n) => {
      const height = Math.sqrt((turn.t || 0) / this.longest) * 19; // square root: short times are seen, too
      const top = (turn.p ? 20 + height : 20 - height).toFixed(1);
      paths[isFault(turn) ? "rp-fault" : "rp-bars"] += `M${n + 0.6} 20V${top}h.8V20z`;
    });
    times.setAttribute("viewBox", `0 0 ${Math.max(1, this.last) + 0.5} 40`);
    times.replaceChildren(...Object.entries(paths).map(([name, d]) => drawing("path", { class: name, d })));
  }

  /** Draw the curves of the values and of both bots' estimates: the first player's advantage is above the middle. */
  buildValues() {
    const { values, key } = this.parts;
    const judged = this.game.turns.flatMap(({ e }, n) => (e === undefined ? [] : [[n + 1, e]]));
    const estimates = [0, 1].map((player) => estimatesOf(this.game, player));
    const none = ![judged, ...estimates].some((points) => points.length);
    key.hidden = none;
    values.style.display = none ? "none" : ""; // an svg has no property `hidden`
    if (none) return;
    values.setAttribute("viewBox", `0 0 ${Math.max(1, this.last) + 0.5} 40`);
    const path = (name, d) => drawing("path", { class: name, d });
    const ownLine = (player, d) => {
      const colour = this.look ? this.look.colours[player] : ["blue", "orange"][player];
      const group = drawing("g", { class: `gs-note gs-${colour}${player ? " rp-second" : ""}` });
      group.append(path("gs-shaft", d), path("gs-core", d));
      return group;
    };
    const sample = (content) => {
      const svg = drawing("svg", { class: "rp-line gs-board", viewBox: "0 0 24 10", "aria-hidden": "true" });
      svg.append(content);
      return svg;
    };
    const line = (points) => "M" + points.map(([n, value]) => `${n} ${(20 - 18 * value).toFixed(1)}`).join("L") + "h0";
    values.replaceChildren(path("rp-middle", `M0 20H${this.last + 0.5}`), (this.cursor = path("rp-cursor", "")));
    if (judged.length) values.append(path("rp-curve", line(judged)));
    const items = judged.length ? [make("span", {}, sample(path("rp-curve", "M1 5h22")), "analysis")] : [];
    estimates.forEach((points, player) => {
      if (!points.length) return;
      values.append(ownLine(player, line(points)));
      items.push(make("span", {}, sample(ownLine(player, "M1 5h22")), make("bdi", {}, this.game.names[player])));
    });
    const ahead = make("span", { class: "rp-ahead" }, `↑ ${this.role(0)} leads`);
    key.replaceChildren("Estimates ", ...items, ahead);
  }

  piece(player) {
    const piece = make("span", { class: "rp-piece" });
    if (this.look) putDrawing(piece, drawPiece(this.look, player));
    return piece;
  }

  buildFacts() {
    const tags = [0, 1].map((player) => [`tags of ${this.role(player)}`, tagsOf(this.game, player).join(", ")]);
    const facts = [...this.game.facts, ...tags.filter(([, words]) => words)];
    const entry = ([name, value]) => [make("dt", {}, name), make("dd", {}, make("bdi", {}, value))];
    this.parts.facts.replaceChildren(...facts.flatMap(entry));
  }

  // --- showing -----------------------------------------------------------------------------------------------

  /** Return the value of a position in words, or nothing if it was not analysed. */
  valueText({ e }) {
    if (e === undefined) return "";
    return e === 0 ? "; then equal" : `; then ${Math.abs(e).toFixed(2)} for ${this.role(e > 0 ? 0 : 1)}`;
  }

  /** Return what the bot noted at a turn as one line, for people who do not see the curve and the notes. */
  notesText(turn) {
    const { estimate, say = [] } = turn?.v || {};
    return [estimate === undefined ? "" : `; ${this.role(turn.p)} estimates ${estimate}`, ...say].join(" ");
  }

  role(player) {
    return this.look ? this.look.players[player] : ["first", "second"][player];
  }

  /** Show the position after turn n, or one step on the way to it. */
  show(n, step = -1) {
    clearTimeout(this.timer);
    this.at = Math.min(Math.max(n, 0), this.last);
    this.drawFrame(this.frames[this.at], step);
    this.plates();
    this.notes();
    this.marks(this.frames[this.at].turn);
    if (step < 0 && !this.playing) this.tell();
  }

  /** Bring the table for screen readers to the position that is shown. */
  tell() {
    const shown = this.frames[this.at].steps.at(-1);
    if (shown) putTable(this.parts.table, this.look, shown.board);
  }

  /** Show what each bot noted at its latest turn, that of the turn that is shown first. */
  notes() {
    const latest = notesAt(this.frames, this.at).map((one, player) => ({ ...one, player }));
    latest.sort((one, other) => other.turn - one.turn);
    const shown = latest.map(({ turn, notes, player }) => {
      if (!notes) return null;
      const head = [`${this.role(player)}, move ${turn}`];
      if (notes.estimate !== undefined) head.push(`estimate ${notes.estimate}`);
      if (notes.tags) head.push(`tags ${notes.tags.join(", ")}`);
      const small = make("small", {}, make("bdi", {}, head.join(", ")));
      return make(
        "div",
        {},
        make("p", {}, this.piece(player), make("bdi", {}, this.game.names[player]), " ", small),
        notes.say ? make("p", { class: "rp-say" }, notes.say.join("\n")) : null,
        notes.output ? make("pre", {}, make("small", {}, "printed\n"), notes.output.join("\n")) : null,
      );
    });
    this.parts.notes.replaceChildren(...shown.filter((one) => one));
    this.parts.notes.scrollTop = 0;
    this.cursor?.setAttribute("d", `M${this.at} 0V40`);
  }

  switchDrawings() {
    this.drawn = !this.drawn;
    this.parts.draws.setAttribute("aria-pressed", this.drawn);
    this.show(this.at);
  }

  /** Draw one step of a frame, or with -1 its last board, with the marks of the whole turn. */
  drawFrame(frame, step) {
    const { board, score } = this.parts;
    const { board: squares, touched } = frame.steps.at(step) || {};
    if (!squares) {
      board.replaceChildren();
      score.textContent = "";
      return;
    }
    const marks = step < 0 ? mergeTouched(frame.steps.map((one) => one.touched)) : touched;
    const line = scoreLine(this.look, frame.score);
    const fault = step < 0 ? frame.fault : [];
    const { v, p } = frame.turn || {};
    const drawn = step < 0 && this.drawn && v?.draw ? drawingsOf(this.look, squares, v.draw, p) : null;
    putDrawing(board, drawBoard(this.look, squares, marks, { title: line || this.look.title, fault, drawn }));
    putScore(score, this.look, frame.score);
  }

  plates() {
    const clocks = clocksAt(this.game, this.frames, this.at);
    const next = onTurn(this.frames, this.at);
    [this.parts.bottom, this.parts.top].forEach((plate, player) => {
      const { used, left } = clocks[player];
      const clock = left !== null ? duration(left) : used === null ? "–" : duration(used);
      const of = left !== null ? "left" : `of ${duration(this.game.limit.ms)}`;
      const share = left !== null ? left / this.game.limit.ms : 1 - (used || 0) / this.game.limit.ms;
      plate.className = `rp-plate${next === player ? " rp-turn" : ""}`;
      plate.style.setProperty("--left", Math.min(1, Math.max(0, share)));
      const role = make("small", {}, this.role(player));
      plate.replaceChildren(
        this.piece(player),
        make("span", { class: "rp-name" }, make("bdi", {}, this.game.names[player]), " ", role),
        make("span", { class: "rp-clock" }, clock, make("small", {}, ` ${of}`)),
      );
    });
  }

  marks(turn) {
    const { slider, count, now } = this.parts;
    slider.value = this.at;
    const why = turn?.w ? `: ${turn.w}` : "";
    const given = ["", " (from the replay)", " (opening, played by the host)"][turn?.r ?? 0];
    const text = turn ? `${this.role(turn.p)}: ${turnText(turn)}${given}${why}${this.valueText(turn)}` : "Start";
    slider.setAttribute("aria-valuetext", `${this.at} of ${this.last}, ${text}${this.notesText(turn)}`);
    count.textContent = `${this.at} / ${this.last}`;
    now.textContent = text;
    this.current?.removeAttribute("aria-current");
    this.current = this.at ? this.rows[this.at - 1].firstChild : null;
    this.current?.setAttribute("aria-current", "step");
    this.scrollMoves();
  }

  /** Scroll the list of moves to the one that is shown. */
  scrollMoves() {
    const { moves } = this.parts;
    if (!this.current) {
      moves.scrollTop = 0;
      return;
    }
    const row = this.current.parentElement; // scroll the list only: the page itself stays where it is
    const below = row.offsetTop + row.offsetHeight - moves.clientHeight;
    if (row.offsetTop < moves.scrollTop || below > moves.scrollTop) {
      moves.scrollTop = row.offsetTop - moves.clientHeight / 2;
    }
  }

  // --- moving ------------------------------------------------------------------------------------------------

  /** Go to a position at once, because somebody asked for it. */
  jump(n) {
    this.pause();
    this.show(n);
    this.say();
  }

  /** Put the position that is shown into the address, and tell it. */
  say() {
    this.remember();
    const noted = this.notesText(this.frames[this.at].turn);
    this.parts.live.textContent = `${this.at}. ${this.parts.now.textContent}. ${this.parts.score.textContent}${noted}`;
  }

  forward() {
    if (this.at >= this.last) return;
    this.jump(this.at);
    this.animate(this.at + 1, STEP_MS * 4, () => this.say());
  }

  /** Play the last moves again. */
  again() {
    this.pause();
    this.show(this.last - AGAIN);
    this.toggle();
  }

  async copyLink() {
    this.remember();
    const said = (await copied(location.href)) ? "The link is copied." : location.href;
    this.parts.now.textContent = this.parts.live.textContent = said;
  }

  fullScreen() {
    if (document.fullscreenElement) document.exitFullscreen();
    else this.parts.whole.requestFullscreen();
  }

  /** Show the steps of turn n in at most `ms`, then call `done`. */
  animate(n, ms, done) {
    const { steps } = this.frames[n];
    const count = this.calm.matches ? 0 : steps.length;
    const each = Math.min(STEP_MS, ms / Math.max(1, count));
    const skip = Math.max(1, Math.ceil(20 / each)); // nobody sees more than 50 boards a second
    const next = (step) => {
      if (step >= count - 1) {
        this.show(n);
        arrive(this.parts.board, steps.at(-1)?.touched, each);
        sound(n === this.last && Boolean(this.game.result));
        done();
        return;
      }
      this.show(n, step);
      arrive(this.parts.board, steps[step].touched, each * skip);
      this.timer = setTimeout(() => next(step + skip), each * skip);
    };
    next(0);
  }

  toggle() {
    if (this.playing) {
      this.pause();
      this.remember();
      return;
    }
    if (this.at === this.last) this.show(0);
    this.setPlaying(true);
    this.timer = setTimeout(() => this.playOn(), this.at ? 0 : this.speed() / 2);
  }

  playOn() {
    if (!this.playing) return;
    if (this.at >= this.last) {
      this.pause();
      this.remember();
      return;
    }
    const begun = performance.now();
    this.animate(this.at + 1, this.speed() * 0.8, () => {
      const rest = this.speed() - (performance.now() - begun);
      this.timer = setTimeout(() => this.playOn(), Math.max(0, rest));
    });
  }

  pause() {
    clearTimeout(this.timer);
    const { playing } = this;
    this.setPlaying(false);
    if (playing) this.tell();
  }

  setPlaying(playing) {
    this.playing = playing;
    const { play } = this.parts;
    const label = playing ? "Pause (Space)" : "Play (Space)";
    play.setAttribute("aria-label", label);
    play.title = label;
    play.replaceChildren(icon(playing ? "pause" : "play"));
  }

  speed() {
    const ms = Number(this.parts.speed.value);
    return ms >= 20 && ms <= 10000 ? ms : SPEED_MS;
  }

  key(event) {
    if (!this.root.offsetParent) return; // the page shows something else in its place
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const target = event.target;
    if (target.closest("select, input:not([type=range])")) return;
    if (event.key === " " && target.closest("button, a")) return; // it presses that one
    const actions = {
      ArrowLeft: () => this.jump(this.at - 1),
      ArrowRight: () => this.forward(),
      " ": () => this.toggle(),
      Home: () => this.jump(0),
      End: () => this.jump(this.last),
      l: () => this.again(),
      ...(this.parts.link && { c: () => this.copyLink() }),
      ...(this.parts.full && { f: () => this.fullScreen() }),
      ...(this.parts.draws.hidden ? {} : { d: () => this.switchDrawings() }),
    };
    const action = actions[event.key] || actions[event.key.toLowerCase()]; // D with the capitals locked
    if (!action) return;
    event.preventDefault();
    action();
  }

  beforePrint() {
    this.printed = this.at;
    this.pause();
    this.show(this.last);
  }
}

/** Copy a text; return whether that worked. Only pages over https and on this computer have a clipboard. */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = make("textarea", { class: "rp-hidden" });
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}

function isFault(turn) {
  return turn.k === "fault" || turn.k === "end";
}

/** Return the text of a game in the list of games. */
function optionText(game) {
  const title = game.title ? `${game.title}: ` : "";
  return `${title}${game.names[0]} – ${game.names[1]}` + (game.result ? `, ${game.result}` : "");
}
