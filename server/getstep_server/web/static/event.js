// One event: tables, brackets, orders.

import { fill, h, matchLink, name, note, teamLink, wide } from "./dom.js";
import { stateText } from "./overview.js";
import { fillFitted, freezeText, table } from "./table.js";

export function create(root) {
  const parts = {};
  const section = (title) => {
    const key = title.toLowerCase();
    const content = h("div", {});
    parts[key] = { content, element: h("section", { "aria-labelledby": `${key}-title` }, h("h2", { id: `${key}-title` }, title), content) };
    return parts[key].element;
  };
  const title = h("h1", {});
  const about = h("p", { class: "muted" });
  const status = h("p", { role: "status" });
  const freeze = h("p", { class: "freeze" });
  root.append(title, about, status, freeze, ...["Bracket", "Ladder", "Table", "Ratings", "Crosstable", "Orders"].map(section));
  const put = (key, content) => {
    parts[key].element.hidden = content === null;
    if (content !== null) fillFitted(parts[key].content, content);
  };
  return {
    update(state, changed) {
      fill(title, name(state.event.name));
      document.title = state.event.name;
      about.textContent = state.event.about;
      status.textContent = stateText(state.progress);
      freeze.hidden = !state.freeze;
      fill(freeze, freezeText(state.freeze));
      for (const key in views) if (changed.has(key)) put(key, state[key] && views[key](state[key]));
    },
  };
}

const views = {
  bracket,
  ladder,
  table: (data) => [table(data, "Table"), notes(data.notes)],
  crosstable: (data) => (data.teams.length > 1 ? crosstable(data) : null),
  ratings: (data) => [data.columns ? table(data, "Ratings") : null, notes(data.notes)],
  orders: (rounds) => rounds.map((one) => h("p", {}, h("a", { href: one.address }, `Round ${one.round}: all orders`))),
};

const notes = (list) => (list || []).map((text) => note(text));

function crosstable(data) {
  const head = data.teams.map((team, n) => h("th", { scope: "col", title: team.name }, h("abbr", { title: team.name }, n + 1)));
  const rows = data.rows.map((cells, n) =>
    h(
      "tr",
      {},
      h("td", {}, n + 1),
      h("th", { scope: "row", class: "left" }, teamLink(data.teams[n])),
      cells.map((cell, m) => (n === m ? h("td", { class: "own" }, "×") : !cell ? h("td", { class: "none" }, "·") : h("td", { class: cell[1] }, h("a", { href: `/team/${data.teams[n].id}/against/${data.teams[m].id}` }, cell[0])))),
    ),
  );
  return [
    wide(
      "Crosstable",
      h("table", { class: "crosstable" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "#"), h("th", { scope: "col", class: "left" }, "team"), head)), h("tbody", {}, rows)),
    ),
    note(`Cells: ${data.percent ? "percent" : "points"} of the row's team against the column's team. `, h("span", { class: "win" }, "underlined"), ": more than the other team; ", h("span", { class: "loss" }, "grey"), ": fewer. A cell leads to all matches of the two.", data.left_out ? ` ${data.left_out} more teams are in the table.` : ""),
  ];
}

function bracket(rounds) {
  return wide("Bracket", bracketOf(rounds));
}

/** Return the last rounds of a knockout, those that are given, as columns. */
export function bracketOf(rounds) {
  const column = (pairings, n) => h("li", {}, h("h3", {}, roundName(rounds.length - n)), h("ol", {}, pairings.map(pairing)));
  return h("ol", { class: "bracket" }, rounds.map(column));
}

/** Return the name of a round after which so many rounds are left, with it. */
export const roundName = (left) => ({ 1: "Final", 2: "Semifinals", 3: "Quarterfinals" })[left] || `Last ${2 ** left}`;

function pairing(one) {
  const side = (team, n) =>
    h(
      "div",
      { class: `side${team && one.winner === team.id ? " won" : ""}` },
      team ? teamLink(team) : h("span", { class: "muted" }, one.bye ? "bye" : "not known yet"),
      team && !one.bye ? h("b", {}, one.wins[n]) : null,
    );
  const matches = one.matches.map((match, n) => [n ? ", " : "", matchLink(match)]);
  const card = h("div", { class: "pairing" }, one.third ? note("Third place") : null, one.teams.map(side), h("p", { class: "note matches" }, matches));
  return h("li", { class: one.third ? "third" : null }, card);
}

function ladder(rungs) {
  return h(
    "ol",
    { class: "ladder" },
    rungs.map((rung, n) => [
      h("li", {}, h("span", { class: "number" }, n + 1), teamLink(rung.team), rung.below ? h("span", { class: "rung muted" }, ` ${rung.below[0]}–${rung.below[1]} against the next`) : null),
    ]),
  );
}
