// The wall, for a projector: one large board at a time, the tightest first; the table or the bracket next to it.
// The host pins a board, asks for the next one and shows a message from the console.

import { Card, boardsOf, foremost } from "./boards.js";
import { fill, h, name, timeOfDay } from "./dom.js";
import { bracketOf, roundName } from "./event.js";
import { stateText } from "./overview.js";
import { NARROW, WANTED, freezeText, only, results, table, withHidden } from "./table.js";

const TURN_MS = 12000; // a board stays for so long, unless its match ends
const MOST_PAIRINGS = 8; // in one column of a bracket that a hall can read
const COLUMN_PX = 150; // the least width of a round
const FEW = 6; // teams whose table leaves room for more results
const TEAMS = 200; // in the table of a window that scrolls

export function create(root) {
  document.body.classList.add("wall");
  const card = new Card();
  const parts = Object.fromEntries(["state", "end", "table", "results", "next", "idle"].map((key) => [key, h("div", { class: `wall-${key}` })]));
  const lists = h("div", { class: "wall-lists" }, parts.results, parts.next, document.getElementById("address"));
  root.append(
    h("h1", { class: "hidden" }, "Wall"),
    h("div", { class: "wall-top" }, parts.state, parts.end),
    h("div", { class: "wall-stage" }, h("div", { class: "wall-board" }, card.element, parts.idle), h("div", { class: "wall-side" }, parts.table, lists)),
  );
  let place = null; // the board that is shown
  let since = 0;
  let turns = 0; // of the parts of a long table, and of several brackets
  let nexts = 0; // how often the host has asked for another board
  const shownLately = new Map();
  const brackets = new Map(); // rounds by event
  let done = -1; // the matches that were over when the brackets were loaded

  /** Choose the board that matters most among those that were not shown lately. */
  function choose(state, now) {
    const places = boardsOf(state).filter((key) => !state[key].result);
    const chosen = foremost(state, places, (key) => (shownLately.get(state[key].match) || 0) / TURN_MS);
    since = now;
    if (!chosen) return place && state[place] ? place : null;
    shownLately.set(state[chosen].match, now);
    return chosen;
  }

  async function loadBrackets({ contest, progress }, shown) {
    if (done === progress.done) return;
    done = progress.done;
    for (const { number, format } of contest.events) {
      const answer = format === "knockout" && (await fetch(`/api/v1/events/${number}/bracket`).catch(() => null));
      const rounds = answer && answer.ok && (await answer.json()).rounds;
      if (rounds) brackets.set(number, rounds);
    }
    if (brackets.size) shown();
  }

  const scrolls = () => getComputedStyle(document.body).overflowY !== "hidden";

  /** Show a knockout: its stage, and as many of its rounds from this one on as there is room for. */
  function stageOf({ number, name: event, game, title }) {
    const rounds = brackets.get(number);
    const isOpen = (one) => !one.winner && !one.bye;
    const open = rounds.findIndex((pairings) => pairings.some(isOpen));
    const now = open < 0 ? rounds.length - 1 : open;
    const stage = h("h2", {}, name(event === game ? title.split(" (")[0] : event), ": ", open < 0 ? "over" : roundName(rounds.length - now));
    const show = (shown, kind = null) => {
      fill(parts.table, stage.cloneNode(true), h("div", { class: kind }, bracketOf(shown)));
      return scrolls() || parts.table.scrollHeight <= parts.table.clientHeight;
    };
    const columns = Math.max(1, Math.floor(parts.table.clientWidth / COLUMN_PX));
    for (const first of [Math.min(now, Math.max(0, rounds.length - Math.min(3, columns))), now]) {
      if (rounds[first].length <= MOST_PAIRINGS && show(rounds.slice(first, first + columns))) return;
    }
    // Only this round, in two columns, some pairings at a time: without byes, and of many only those that are open.
    const played = rounds[now].filter((one) => !one.bye);
    const left = open < 0 || played.length <= 2 * MOST_PAIRINGS ? played : played.filter(isOpen);
    for (let size = scrolls() ? left.length : 2 * MOST_PAIRINGS; size > 0; size -= 2) {
      const from = (turns % Math.ceil(left.length / size)) * size;
      if (show([left.slice(from, from + size)], "many")) return;
    }
  }

  function standings(state) {
    const data = withHidden(state.table, state.freeze);
    const wanted = state.freeze ? NARROW : WANTED; // "played" and "hidden" are too wide for the place
    const show = (from, rows) => fill(parts.table, h("h2", {}, "Table"), table(only({ ...data, rows: data.rows.slice(from, from + rows), teams: data.teams.slice(from), out: data.out.slice(from) }, wanted), "Table"));
    if (!data.rows?.length) return fill(parts.table, h("h2", {}, "Table"), table(data, "Table"));
    show(0, scrolls() ? TEAMS : 1);
    if (scrolls()) return;
    const row = parts.table.querySelector("tbody tr").offsetHeight;
    const room = parts.table.clientHeight - (parts.table.querySelector(".table").offsetTop - parts.table.offsetTop) - parts.table.querySelector("thead").offsetHeight;
    const rows = Math.max(1, Math.floor(room / row));
    show((turns % Math.ceil(data.rows.length / rows)) * rows, rows);
  }

  /** Return what stands in the place of the board. */
  function quiet(state) {
    if (state.winners.length) return h("div", { class: "winners" }, state.winners.slice(-5).map(({ event, team }) => h("p", {}, h("small", {}, name(event)), h("strong", {}, "★ ", name(team.name)))), state.progress.state === "over" ? podium(state) : null);
    return state.freeze ? freezeText(state.freeze) : state.progress.state === "over" ? "The contest is over." : "The next match will be here.";
  }

  function podium({ contest, table: { columns, rows } }) {
    if (contest.events.length < 2 || !rows?.length) return null;
    return h("p", {}, h("small", {}, "all events"), h("strong", {}, "★ ", name(rows[0][columns.findIndex((column) => column.names)])));
  }

  return {
    update(state) {
      this.state = state;
      parts.state.textContent = state.wall.text || stateText(state.progress);
      fill(parts.end, state.progress.end ? `expected end ${timeOfDay(1000 * state.progress.end)}` : state.teams.missing.length ? h("span", {}, "Missing: ", state.teams.missing.slice(0, 4).map((team, n) => [n ? ", " : "", name(team.name)]), state.teams.missing.length > 4 ? ` and ${state.teams.missing.length - 4} more` : "") : "");
      const few = !state.freeze && state.table.rows?.length <= FEW;
      parts.table.classList.toggle("few", few);
      fill(parts.results, h("h2", {}, "Latest results"), results(state.results.slice(0, few ? FEW : 3), "The first result will be here.", state.freeze && { ...state.freeze, latest: state.freeze.latest.slice(0, 3) }, state.absence));
      const next = state.next.slice(0, few ? FEW : 3).map(({ teams }) => h("li", { class: "pair" }, h("span", {}, name(teams[0].name)), h("b", {}, "–"), h("span", {}, name(teams[1].name))));
      fill(parts.next, next.length ? [h("h2", {}, "Next"), h("ol", { class: "next" }, next)] : "");
      loadBrackets(state, () => this.turn(Date.now()));
      this.turn(Date.now());
    },
    turn(now) {
      const { state } = this;
      const board = place && state[place];
      if (!board || now > since + TURN_MS || state.wall.nexts !== nexts) {
        place = choose(state, now);
        turns++;
      }
      nexts = state.wall.nexts;
      place = state.wall.place || place; // the host has pinned it
      const shown = place && state[place];
      card.update(shown || null);
      card.element.classList.toggle("pinned", Boolean(state.wall.place));
      fill(parts.idle, shown ? "" : quiet(state));
      const stages = state.contest.events.filter(({ number }) => brackets.has(number)).map((event) => () => stageOf(event));
      const views = state.contest.events.length === 1 && stages.length ? stages : [() => standings(state), ...stages];
      views[turns % views.length]();
    },
    tick(now) {
      if (!this.state) return;
      if (Date.now() > since + TURN_MS) this.turn(Date.now());
      card.tick(now);
    },
  };
}
