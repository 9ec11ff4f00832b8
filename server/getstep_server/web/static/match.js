// One match: the live board with its moves; then its replay.

import { Card, speedField } from "./boards.js";
import { duration, fill, h, name } from "./dom.js";
import { sound, soundButton } from "./sound.js";

const STATES = {
  playing: "Being played now",
  waiting: "Not played yet",
  interrupted: "Interrupted: it goes on when the server runs again",
  cancelled: "Cancelled: it counts for nothing",
  over: "Over",
  hidden: "Played; the result is hidden until the host reveals it",
};

const AGAIN_MS = 5000; // between two requests for the moves of a match: each costs the page up to 20 ms
const TOLD_MS = 4000; // between two moves that screen readers say: fast bots play ten a second
const ENDED_MS = 4000; // for which the last position of a match that was seen running stays, with its clocks

export function create(root) {
  const card = new Card({ heading: false });
  const title = h("h1", {});
  const about = h("p", { class: "muted" });
  const why = h("p", { class: "verdict", role: "status" });
  const button = h("button", { type: "button", onclick: () => step(!stepping) });
  const choice = h("p", {}, button, " ", soundButton(h("button", { type: "button", class: "sound" }, "♪")), " ", speedField());
  const said = h("p", { class: "hidden", "aria-live": "polite" });
  let saidAt = -TOLD_MS;
  let saying = null; // the timer of the next one
  const moves = h("ol", { class: "moves", tabindex: "0", "aria-label": "Moves with the time of each" });
  const live = h("div", { class: "stage" }, card.element, h("section", { "aria-labelledby": "moves-title" }, h("h2", { id: "moves-title" }, "Moves"), moves));
  const element = h("div", { class: "replay" });
  root.append(h("div", { class: "match-head" }, title, about, why, choice), said, live, element);
  const replay = new RunningReplay(element, arrange);
  let now = {};
  let over = false;
  let running = false; // this page has shown the match before its end
  let stepping = location.hash.includes("move="); // a link to a move; otherwise the live board is shown

  /** Let new moves be heard: by a tone, and the latest one by screen readers now and then. */
  function tell() {
    sound(Boolean(now.result));
    saying ??= setTimeout(say, Math.max(0, saidAt + TOLD_MS - performance.now()));
  }

  function say() {
    saying = null;
    saidAt = performance.now();
    const { n, player, text, code } = now.moves?.at(-1) ?? {};
    if (n) said.textContent = `Move ${n}, ${now.board.players[player]}: ${text} ${code}. ${card.line.textContent}`;
  }

  function step(wanted) {
    stepping = wanted;
    arrange();
  }

  /** Show either the live board, or the replay of the moves up to now. */
  function arrange() {
    const turns = now.moves?.at(-1)?.n ?? 0;
    if (stepping && (turns || over)) replay.want(now.match.match, `${now.state} ${turns}`);
    const replayed = stepping && replay.viewer !== null && Boolean(turns || over); // no moves: a freeze hides them
    element.hidden = !replayed;
    live.hidden = replayed || !now.board;
    choice.hidden = over || !turns;
    button.textContent = replayed ? "Back to the live board" : "Step through the moves";
    for (const one of [title, about, why]) one.hidden = replayed; // the replay has its own heading
  }

  return {
    update(state, changed) {
      const { match, board, result } = state;
      now = state;
      if (changed.has("match")) {
        fill(title, name(match.teams[0].name), " – ", name(match.teams[1].name));
        document.title = `${match.teams[0].name} – ${match.teams[1].name}`;
        fill(about, `Match ${match.match}, `, h("a", { href: `/event/${match.event_number}` }, name(match.event)), `, round ${match.round}`);
      }
      fill(why, h("strong", {}, result ? result.text : state.state === "playing" && !board ? `${STATES.playing}; the freeze hides its board` : STATES[state.state]), state.paused !== null ? [". ", h("strong", {}, "Paused: "), name(state.paused)] : "", result ? [": ", result.reason ? `${result.reason}: ` : "", name(result.why)] : "");
      card.update(board);
      if (changed.has("moves") && state.moves) {
        if (moves.childElementCount && !stepping) tell();
        list(moves, state.moves);
      }
      if (state.state === "over" && !over) setTimeout(() => over && step(true), board && running ? ENDED_MS : 0);
      over = state.state === "over";
      running ||= !over;
      arrange();
    },
    tick(now) {
      card.tick(now);
    },
  };
}

/** The replay of a match that may be running: it loads newer moves as they come. */
class RunningReplay {
  constructor(root, changed) {
    this.root = root;
    this.changed = changed;
    this.viewer = null;
    this.shown = this.wanted = "";
    this.timer = null;
    this.asked = -Infinity;
  }

  /** Load the moves, unless those of this `version` are shown: a text that changes with the moves. */
  want(match, version) {
    this.match = match;
    this.wanted = version;
    if (this.timer !== null || version === this.shown) return;
    this.timer = setTimeout(() => this.load(), Math.max(0, this.asked + AGAIN_MS - performance.now()));
  }

  async load() {
    const version = this.wanted;
    this.asked = performance.now();
    try {
      const [answer, module] = await Promise.all([fetch(`/api/v1/matches/${this.match}/replay`), import("./viewer.js")]);
      if (answer.ok) {
        const data = await answer.json();
        if (this.viewer === null) this.viewer = module.mountReplay(this.root, data);
        else this.viewer.update(data);
      }
      this.shown = version; // also if nothing was played, or nothing is shown now
    } catch {
      this.shown = ""; // no connection: asked again
    }
    this.timer = null;
    this.changed();
  }
}

/** Add the moves that are new; stay at the end if the reader is there. */
function list(element, moves) {
  const atEnd = !element.childElementCount || element.scrollTop + element.clientHeight >= element.scrollHeight - 8;
  const last = Number(element.lastChild?.dataset.n || 0);
  if (!moves.length || moves.at(-1).n < last) element.replaceChildren();
  const known = Number(element.lastChild?.dataset.n || 0);
  element.append(...moves.filter((move) => move.n > known).map(row));
  if (atEnd) element.scrollTop = element.scrollHeight;
}

function row(move) {
  return h(
    "li",
    { class: `p${move.player}${move.code ? " fault" : ""}`, "data-n": move.n },
    h("span", { class: "number" }, move.n),
    h("span", { class: "text" }, move.text || "", move.code ? [move.text ? " " : "", h("em", { class: "bad" }, move.code), " ", name(move.why)] : ""),
    h("span", { class: "muted" }, move.ms === null ? "" : duration(move.ms)),
  );
}
