// Tables of the server: columns, and rows of cells.

import { h, name } from "./dom.js";

/** Return a table. `link` gives the address of a row's team. */
export function table(data, caption, { rows = Infinity, link = (team) => `/team/${team}` } = {}) {
  if (!data || !data.columns) return h("p", { class: "note" }, "No table yet.");
  const head = data.columns.map((column) =>
    h("th", { scope: "col", class: kind(column) }, column.heading),
  );
  const body = data.rows.slice(0, rows).map((cells, n) => row(data, cells, n, link));
  const more = data.rows.length - body.length;
  return h(
    "div",
    { class: "wide", role: "region", "aria-label": caption, tabindex: "0" },
    h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)),
    more > 0 ? h("p", { class: "note" }, `and ${more} more`) : null,
  );
}

function row(data, cells, n, link) {
  const team = data.teams[n];
  return h(
    "tr",
    { class: data.out[n] ? "out" : null },
    cells.map((cell, place) => {
      const column = data.columns[place];
      if (!column.names) return h("td", { class: kind(column) }, cell);
      const content = team === undefined ? name(cell) : h("a", { href: link(team) }, name(cell));
      return h("th", { scope: "row", class: kind(column) }, content);
    }),
  );
}

const kind = (column) => [column.left || column.names ? "left" : "", column.spare ? "spare" : ""].join(" ").trim() || null;

/** Return a list of results, each with the reason. */
export function results(list, empty) {
  if (!list.length) return h("p", { class: "note" }, empty);
  return h("ol", { class: "results" }, list.map(result));
}

function result(one) {
  const [first, second] = one.teams;
  const side = (team, player) => h("span", { class: one.winner === player ? "won" : null }, name(team.name));
  return h(
    "li",
    {},
    h(
      "a",
      { href: `/match/${one.match}` },
      h("span", { class: "number" }, `#${one.match}`),
      h("span", { class: "pair" }, side(first, 0), h("b", {}, ` ${one.points[0]}–${one.points[1]} `), side(second, 1)),
    ),
    h("span", { class: "why" }, one.reason ? h("em", {}, `${one.reason}: `) : null, name(one.why)),
  );
}
