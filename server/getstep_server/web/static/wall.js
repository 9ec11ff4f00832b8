// The wall, for a projector: one large board at a time, the tightest first; the table next to it.

import { Card } from "./boards.js";
import { fill, h, name, timeOfDay } from "./dom.js";
import { stateText } from "./overview.js";
import { WANTED, freezeText, only, results, table, withHidden } from "./table.js";

const FROZEN = new Set([...WANTED].filter((heading) => heading !== "played")); // both columns are too wide for the place
const TURN_MS = 12000; // a board stays for so long, unless its match ends

export function create(root) {
  document.body.classList.add("wall");
  const card = new Card();
  const parts = Object.fromEntries(["state", "end", "table", "results", "idle"].map((key) => [key, h("div", { class: `wall-${key}` })]));
  root.append(
    h("h1", { class: "hidden" }, "Wall"),
    h("div", { class: "wall-top" }, parts.state, parts.end),
    h("div", { class: "wall-stage" }, h("div", { class: "wall-board" }, card.element, parts.idle), h("div", { class: "wall-side" }, parts.table, parts.results)),
  );
  let place = null; // the board that is shown
  let since = 0;
  let nexts = 0; // how often the host has asked for another board
  let page = 0; // the part of a long table that is shown
  const shownLately = new Map();

  /** Choose the tightest board among those that were not shown lately. */
  function choose(state, now) {
    const places = Object.keys(state).filter((key) => key.startsWith("board") && state[key] && !state[key].result);
    if (!places.length) return place && state[place] ? place : null;
    const rank = (key) => (shownLately.get(state[key].match) || 0) / TURN_MS + 4 * state[key].balance - (state[key].turn > 8 ? 1 : 0);
    places.sort((one, other) => rank(one) - rank(other));
    shownLately.set(state[places[0]].match, now);
    since = now;
    return places[0];
  }

  return {
    update(state) {
      this.state = state;
      parts.state.textContent = state.wall.text || stateText(state.progress);
      fill(parts.end, state.progress.end ? `expected end ${timeOfDay(1000 * state.progress.end)}` : state.teams.missing.length ? h("span", {}, "Missing: ", state.teams.missing.slice(0, 4).map((team, n) => [n ? ", " : "", name(team.name)]), state.teams.missing.length > 4 ? ` and ${state.teams.missing.length - 4} more` : "") : "");
      fill(parts.results, h("h2", {}, "Latest results"), results(state.results.slice(0, 4), "The first result will be here.", state.freeze && { ...state.freeze, latest: state.freeze.latest.slice(0, 4) }, state.absence));
      this.turn(Date.now());
    },
    turn(now) {
      const { state } = this;
      const board = place && state[place];
      if (state.wall.place) place = state.wall.place;
      else if (!board || now > since + TURN_MS || state.wall.nexts !== nexts) place = choose(state, now);
      nexts = state.wall.nexts;
      const shown = place && state[place];
      card.update(shown || null);
      fill(parts.idle, shown ? "" : state.freeze ? freezeText(state.freeze) : state.progress.state === "over" ? "The contest is over." : "The next match will be here.");
      const data = withHidden(state.table, state.freeze);
      const rows = 12;
      const pages = Math.max(1, Math.ceil((data.rows || []).length / rows));
      page = Math.floor(now / TURN_MS) % pages;
      const cut = { ...data, rows: (data.rows || []).slice(page * rows, (page + 1) * rows), teams: (data.teams || []).slice(page * rows), out: (data.out || []).slice(page * rows) };
      fill(parts.table, h("h2", {}, "Table"), table(only(cut, state.freeze ? FROZEN : WANTED), "Table"));
    },
    tick(now) {
      if (!this.state) return;
      if (Date.now() > since + TURN_MS) this.turn(Date.now());
      card.tick(now);
    },
  };
}
