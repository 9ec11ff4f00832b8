// The overview: running boards, the table, the latest results, who is missing, what is next.

import { Card, boardsOf, foremost } from "./boards.js";
import { fill, h, HANGS, name, note, plural, teamLink, timeOfDay } from "./dom.js";
import { fillFitted, freezeText, results, table, withHidden } from "./table.js";

const STATES = {
  new: "Not started yet",
  waiting: "Waiting for the teams",
  playing: "Playing",
  stopped: "Stopped; it goes on later",
  over: "The contest is over",
};

/** Return the state of the contest in words. */
export function stateText(progress) {
  if (progress.state === "over") return `${STATES.over}, ${plural(progress.done, "match")}`;
  const count = progress.expected ? `, ${progress.done} of ${progress.expected > progress.total ? "about " : ""}${plural(progress.expected, "match")}` : "";
  return `${STATES[progress.state] || progress.state}${count}`;
}

export function create(root) {
  const parts = {};
  const part = (key, element) => (parts[key] = element);
  const section = (id, title, element, attributes = {}) => h("section", { "aria-labelledby": id, ...attributes }, h("h2", { id }, title), element);
  const cards = [];
  let large = null; // the board that is large, until its match ends
  root.append(
    h("h1", { class: "hidden" }, "Overview"),
    h(
      "div",
      { class: "status" },
      part("state", h("p", { role: "status", class: "state" })),
      part("bar", h("progress", { "aria-label": "Matches played", max: 1, value: 0 })),
      part("end", h("p", { class: "muted" })),
    ),
    part("freeze", h("p", { class: "freeze", role: "status", hidden: true })),
    part("people", h("div", { class: "people" })),
    h(
      "div",
      { class: "columns" },
      part("main", h("div", { class: "main" }, section("boards-title", "Boards", part("boards", h("div", { class: "boards" }))), part("more", h("p", { class: "note" })), part("friendlies", h("p", { class: "note" })))),
      h(
        "div",
        { class: "side" },
        section("table-title", "Table", part("table", h("div", {}))),
        section("results-title", "Latest results", part("results", h("div", {}))),
        section("next-title", "Next", part("next", h("div", {}))),
      ),
    ),
  );
  return {
    update(state, changed) {
      if (changed.has("progress")) progress(parts, state.progress);
      if (changed.has("teams")) fill(parts.people, people(state.teams));
      if (changed.has("freeze")) freeze(parts, state.freeze);
      if (changed.has("table") || changed.has("freeze")) fillFitted(parts.table, table(withHidden(state.table, state.freeze), "Table"));
      if (changed.has("results") || changed.has("absence") || changed.has("freeze")) fill(parts.results, results(state.results, "The first result will be here.", state.freeze, state.absence));
      if (changed.has("friendlies")) fill(parts.friendlies, friendlies(state.friendlies));
      if (changed.has("next") || changed.has("progress")) fill(parts.next, next(state));
      for (let place = 0; `board${place}` in state; place++) {
        if (!cards[place]) {
          cards[place] = new Card();
          parts.boards.append(cards[place].element);
        }
        if (changed.has(`board${place}`)) cards[place].update(state[`board${place}`]);
      }
      const places = boardsOf(state);
      parts.boards.dataset.count = Math.min(places.length, 5);
      parts.main.parentElement.classList.toggle("idle", !places.length);
      if (!cards.some(({ data }) => data?.match === large && !data.result)) large = places.length ? state[foremost(state, places)].match : null;
      for (const { data, element } of cards) element.classList.toggle("large", data?.match === large);
      fill(parts.more, more(state, !places.length));
    },
    tick(now) {
      cards.forEach((card) => card.tick(now));
    },
  };
}

function progress(parts, data) {
  parts.state.textContent = stateText(data);
  parts.bar.max = Math.max(1, data.expected);
  parts.bar.value = data.done;
  parts.end.textContent = data.end ? `expected end ${timeOfDay(1000 * data.end)}` : "";
}

function freeze(parts, data) {
  parts.freeze.hidden = !data;
  fill(parts.freeze, freezeText(data));
}

function people(data) {
  const rows = [];
  if (data.missing.length) {
    const shown = data.missing.slice(0, 12);
    const more = data.missing.length - shown.length;
    rows.push(h("p", {}, h("strong", {}, "Missing: "), separated(shown.map(teamLink)), more ? ` and ${more} more` : ""));
  }
  if (data.stalled.length) {
    const stalled = data.stalled.map((one) => h("span", {}, teamLink(one.team), " (", h("a", { href: `/match/${one.match}` }, `#${one.match}`), ")"));
    rows.push(h("p", {}, h("strong", {}, "Stalled: "), separated(stalled)));
  }
  if (data.hanging.length) rows.push(h("p", {}, h("strong", {}, "Not answering: "), separated(data.hanging.map(teamLink)), ` (${HANGS})`));
  return rows;
}

function friendlies(data) {
  if (!data.length) return "";
  const pairs = data.map(({ teams }) => h("span", {}, teamLink(teams[0]), " – ", teamLink(teams[1])));
  return ["Friendly matches, which count nowhere: ", separated(pairs), "."];
}

const separated = (nodes) => nodes.flatMap((node, n) => (n ? [", ", node] : [node]));

function next(state) {
  if (!state.next.length) {
    const over = state.progress.state === "over";
    return note(over ? "All matches are played." : state.freeze ? "Pairings of later rounds are hidden during the freeze." : "No further match is known yet.");
  }
  const rows = state.next.map((match) =>
    h("li", {}, h("a", { href: `/match/${match.match}` }, h("span", { class: "number" }, `#${match.match}`), name(match.teams[0].name), " – ", name(match.teams[1].name)), h("span", { class: "muted" }, ` ${match.event}`)),
  );
  return h("ol", { class: "next" }, rows);
}

function more(state, empty) {
  if (empty) {
    if (state.freeze) return state.running.length ? ["Boards are hidden during the freeze. Being played now: ", separated(state.running.map((match) => h("a", { href: `/match/${match.match}` }, name(match.teams[0].name), " – ", name(match.teams[1].name)))), "."] : "Boards are hidden during the freeze.";
    const text = state.progress.state === "over" ? "All matches are over. Open a result to see its replay." : "No match is being played. Boards appear here as soon as one starts.";
    return text;
  }
  return state.more ? `and ${plural(state.more, "further match")} now` : "";
}
