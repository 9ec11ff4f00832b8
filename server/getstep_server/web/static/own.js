// The area of a team: its penalties, its times, its games.

import { analysisCell } from "./analysis.js";
import { drawBoard, putDrawing } from "./board.js";
import { look } from "./boards.js";
import { duration, h, HANGS, name, note, plural, sayOffline, timeOfDay, wide } from "./dom.js";

const EVERY_MS = 5000;
const FIRST = 6; // penalties that are shown at once: a phone has room for one
const view = document.getElementById("view");
let seen = "";

async function load() {
  if (document.hidden) return;
  let answer;
  try {
    answer = await fetch(`/own/state.json?seen=${seen}`);
    if (answer.status === 401) return location.reload();
    if (!answer.ok) throw new Error(answer.statusText);
    sayOffline("");
  } catch {
    return sayOffline();
  }
  const state = await answer.json();
  seen = answer.headers.get("X-State");
  if (state.team) show(state);
}

function show(state) {
  const open = new Set([...view.querySelectorAll("details[open]")].map((one) => one.dataset.key));
  view.replaceChildren(now(state), penalties(state), times(state), games(state));
  for (const one of view.querySelectorAll("details")) one.open = open.has(one.dataset.key);
}

function now({ team, running }) {
  const bots = team.connected ? `Connected with ${plural(team.connected, "bot")}.` : "No bot of your team is connected.";
  const connected = team.program ? `The host plays with version ${team.program} of your program. Until it stops, bots of your team cannot connect.` : bots;
  const playing = running.map(({ match }) => [
    " ",
    h("a", { href: `/match/${match}` }, `Plays match #${match} now`),
    " (",
    file(`match/${match}.html`, "replay with its notes"),
    ").",
  ]);
  const hangs = team.hangs ? h("span", { class: "bad" }, ` Careful: ${HANGS}`) : "";
  return h("p", { role: "status" }, connected, playing, hangs);
}

// --- penalties ---

function penalties({ penalties: found, more }) {
  if (!found.length) return section("Penalties", note("None. Illegal moves, exceptions and missed limits will be shown here, each with its board."));
  return section(
    "Penalties",
    h("div", { class: "penalties" }, found.slice(0, FIRST).map(penalty)),
    found.length > FIRST ? h("details", { "data-key": "penalties" }, h("summary", {}, `${found.length - FIRST} other earlier penalties`), h("div", { class: "penalties" }, found.slice(FIRST).map(penalty))) : null,
    more ? note(`and ${more} more: the replays have all of them`) : null,
  );
}

function penalty(one) {
  const board = h("div", { class: "penalty-board" });
  if (one.board) draw(board, one);
  const facts = [
    one.detail ? h("pre", { class: "error", tabindex: "0" }, one.detail) : null,
    one.tried ? h("p", {}, "Your move: ", h("code", {}, one.tried)) : null,
    one.advice ? h("p", {}, h("b", {}, "What to do: "), one.advice) : null,
    h("p", { class: "muted" }, `Penalty: ${one.penalty}` + (one.ms === null || one.ms === undefined ? "" : ` · after ${duration(one.ms)}`)),
  ];
  const attempt = one.attempt > 1 ? `, attempt ${one.attempt}` : "";
  return h(
    "article",
    { class: "card penalty" },
    h("h3", {}, h("span", { class: "bad" }, one.code), one.count > 1 ? ` ${one.count} times, last in turn ${one.turn}` : ` in turn ${one.turn}`),
    h("p", {}, h("a", { href: `/match/${one.match}#move=${one.turn}` }, `match #${one.match}${attempt}`), " against ", name(one.opponent), one.role ? ` as ${one.role}` : ""),
    facts,
    board,
  );
}

async function draw(element, one) {
  const found = await look(one.game);
  if (found) putDrawing(element, drawBoard(found, one.board, null, { title: `The board before turn ${one.turn}`, fault: one.fault }));
}

// --- times ---

function times({ times: events, edges }) {
  if (!events.length) return section("Times of your moves", note("Your team has played no move yet."));
  return section("Times of your moves", events.map((one) => eventTimes(one, edges)));
}

function eventTimes(one, edges) {
  const mean = one.mean_ms === null ? "" : `, ${duration(one.mean_ms)} on average`;
  const missed = one.missed ? [" ", h("span", { class: "bad" }, `${plural(one.missed, "turn")} without an answer.`)] : "";
  return h(
    "div",
    {},
    h("h3", {}, name(one.event)),
    h("p", {}, `${plural(one.moves, "answer")}${mean}. Limit: ${one.limit}.`, missed),
    one.slowest.length ? h("p", {}, "The slowest: ", one.slowest.map((move, n) => [n ? ", " : "", h("a", { href: `/match/${move.match}#move=${move.turn}` }, `${duration(move.ms)} in match #${move.match}`)])) : null,
    distribution(one.counts, edges),
  );
}

function distribution(counts, edges) {
  const used = counts.map((count, place) => (count ? place : -1)).filter((place) => place >= 0);
  if (!used.length) return null;
  const most = Math.max(...counts);
  const rows = counts.slice(used[0], used.at(-1) + 1).map((count, n) => {
    const place = n + used[0];
    const label = place < edges.length ? `up to ${edge(edges[place])}` : "longer";
    const bar = h("span", { class: "times-bar", "aria-hidden": "true" });
    bar.style.width = `${(100 * count) / most}%`;
    bar.hidden = !count;
    return h("tr", {}, h("th", { scope: "row" }, label), h("td", {}, count), h("td", { class: "times-cell" }, bar));
  });
  const heads = ["time", "answers", ""].map((text) => h(text ? "th" : "td", text ? { scope: "col" } : {}, text));
  return h("table", { class: "times" }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows));
}

const edge = (ms) => (ms < 1000 ? `${ms} ms` : `${ms / 1000} s`);

// --- games ---

const OUTCOMES = { win: "won", draw: "draw", loss: "lost" };

function games({ matches, tags, older }) {
  if (!matches.length) return section("Your games", note("No match of your team is over yet."));
  const all = h("p", {}, "All games: ", file("matches.jsonl", "JSON Lines"), ", ", file("matches.txt", "text"));
  const rows = matches.map((one) =>
    h(
      "tr",
      {},
      h("td", {}, h("a", { href: `/match/${one.match}` }, `#${one.match}`)),
      h("th", { scope: "row", class: "left" }, name(one.opponent.name)),
      h("td", { class: "left" }, h("span", { class: one.outcome }, OUTCOMES[one.outcome])),
      h("td", { class: "left" }, one.turns ? [file(`match/${one.match}.html`, "replay"), " ", file(`match/${one.match}.jsonl`, "JSON Lines"), " ", file(`match/${one.match}.txt`, "text")] : "not played"),
      h("td", { class: "left" }, one.turns ? analysisCell(one.match) : ""),
      h("td", {}, timeOfDay(one.ended)),
    ),
  );
  const heads = ["#", "against", "result", "files", "why?", "at"].map((head, n) => h("th", { scope: "col", class: n && n < 5 ? "left" : null }, head));
  return section(
    "Your games",
    all,
    tags.map(([tag, text]) => h("p", {}, "Games with the tag ", h("strong", {}, name(tag)), `: ${text}`)),
    wide("Your games", h("table", {}, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows))),
    older ? note(`and ${older} older; the files with all games have them`) : null,
  );
}

const file = (path, text) => h("a", { href: `/own/${path}`, download: true }, text);
const section = (title, ...content) => h("section", {}, h("h2", {}, title), content);

document.addEventListener("visibilitychange", load);
setInterval(load, EVERY_MS);
load();
