// Tables of the server: columns, and rows of cells.

import { fill, h, name, note, plural, wide } from "./dom.js";

/** Return a table with the number of hidden results of each team, if a freeze hides some. */
export function withHidden(data, freeze) {
  if (!freeze || !data || !data.columns || !freeze.hidden) return data;
  const place = 1 + data.columns.findIndex((column) => column.names); // beside the name: a narrow table is cut at its end
  const insert = (cells, one) => [...cells.slice(0, place), one, ...cells.slice(place)];
  const cell = (team) => (freeze.by_team[team] ? `${freeze.by_team[team]} ?` : "");
  return { ...data, columns: insert(data.columns, { heading: "hidden" }), rows: data.rows.map((cells, n) => insert(cells, cell(data.teams[n]))) };
}

/** Return a table with only the columns of these headings. */
export function only(data, wanted) {
  if (!data.columns) return data;
  const places = data.columns.map((column, n) => (wanted.has(column.heading) ? n : -1)).filter((n) => n >= 0);
  return { ...data, columns: places.map((n) => data.columns[n]), rows: data.rows.map((cells) => places.map((n) => cells[n])) };
}

/** The columns that a hall can read. */
export const WANTED = new Set(["#", "team", "played", "points", "%", "total", "hidden"]);

/** Return a sentence about the freeze; null if there is none. */
export function freezeText(freeze) {
  if (!freeze) return freeze;
  const what = freeze.hidden ? `${plural(freeze.hidden, "result")} ${freeze.hidden === 1 ? "is" : "are"}` : "Later results will be";
  return `The table is as it was at the freeze. ${what} hidden until the host reveals ${freeze.hidden === 1 ? "it" : "them"}.`;
}

/** The columns of a narrow place. */
export const NARROW = new Set([...WANTED].filter((heading) => heading !== "played"));
const KEPT = new Set([...NARROW, "rating"]);
let all = false; // the reader wants all columns, and scrolls

/** Replace the content of an element. Its tables get as many columns as there is room for. */
export function fillFitted(element, ...content) {
  fill(element, ...content);
  for (const box of element.querySelectorAll(".table")) {
    box.classList.add("fit");
    fit(box);
  }
}

/** Leave out columns between the team and the total, until nothing is behind the edge: spare ones first, then empty ones. */
function fit(box) {
  const rows = [...box.querySelectorAll("tr")];
  const heads = [...rows[0].cells];
  const hide = (n, hidden) => rows.forEach((row) => (row.cells[n].hidden = hidden));
  const places = heads.map((_, n) => n);
  const spare = (n) => 2 * heads[n].classList.contains("spare") + rows.every(({ cells }, m) => !m || !cells[n].textContent);
  const order = places.filter((n) => !KEPT.has(heads[n].textContent)).sort((one, other) => spare(one) - spare(other));
  places.forEach((n) => hide(n, false));
  const many = order.length;
  while (!all && order.length && box.scrollWidth > box.clientWidth) hide(order.pop(), true);
  const button = box.nextElementSibling;
  button.hidden = !all && order.length === many;
  button.textContent = all ? "Only the columns that have room" : `Show ${plural(many - order.length, "more column")}`;
}

const fitAll = () => document.querySelectorAll(".fit").forEach(fit);
addEventListener("resize", fitAll);

function toggleAll() {
  all = !all;
  fitAll();
}

/** Return a table. `link` gives the address of a row's team. */
export function table(data, caption, { rows = Infinity, link = (team) => `/team/${team}` } = {}) {
  if (!data || !data.columns) return note("No table yet.");
  const head = data.columns.map((column) =>
    h("th", { scope: "col", class: kind(column) }, column.heading),
  );
  const body = data.rows.slice(0, rows).map((cells, n) => row(data, cells, n, link));
  const more = data.rows.length - body.length;
  const box = wide(caption, h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)), more > 0 ? note(`and ${more} more`) : null);
  box.classList.add("table");
  return [box, h("button", { type: "button", class: "more", hidden: true, onclick: toggleAll })];
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
      return h("th", { scope: "row", class: kind(column), title: cell.length > 24 ? cell : null }, content);
    }),
  );
}

const kind = (column) => [column.left || column.names ? "left" : "", column.spare ? "spare" : ""].join(" ").trim() || null;

/** Return a list of results, each with the reason; those that are hidden come first. `absence` sums up forfeits. */
export function results(list, empty, freeze, absence) {
  const hidden = freeze ? freeze.latest : [];
  const absent = absence && h("p", { class: "note absence" }, name(absence));
  if (!list.length && !hidden.length) return absent || note(empty);
  return [absent, h("ol", { class: "results" }, [...hidden.map(hiddenResult), ...list.map(result)].slice(0, Math.max(list.length, hidden.length)))];
}

/** Return both teams of a match with its points, or with ?–? if they are hidden. */
export function pair(one) {
  const side = (player) => h("span", { class: one.points && one.winner === player ? "won" : null }, name(one.teams[player].name));
  return h("span", { class: "pair" }, side(0), h("b", {}, ` ${one.points ? one.points.join("–") : "?–?"} `), side(1));
}

const item = (one, ...why) => h("li", {}, h("a", { href: `/match/${one.match}` }, h("span", { class: "number" }, `#${one.match}`), pair(one)), h("span", { class: "why" }, why));
const hiddenResult = (one) => item(one, "played, the result is hidden");
const result = (one) => item(one, one.reason ? h("em", {}, `${one.reason}: `) : null, name(one.why));
