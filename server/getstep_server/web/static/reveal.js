// The reveal: to the table of the freeze, the hidden results are added one by one.

import { Card, look } from "./boards.js";
import { fill, h, name, note, plural } from "./dom.js";
import { NARROW, freezeText, only, pair, table, withHidden } from "./table.js";

const CLIMB_MS = 600; // a hall has to see which row moves; everything else on these pages takes 200 ms
const PAUSE_MS = 1500; // before a result of a team on one of the places that count
const COUNT = 3; // these places
const KEYS = { " ": "next", Enter: "next", ArrowRight: "next", ArrowDown: "next", PageDown: "next", t: "team", End: "all" };

/** Return the host's key: from the address, which must not stay on a projector, or from an earlier load of the page. */
function steeringKey() {
  const given = new URLSearchParams(location.hash.slice(1)).get("key");
  if (given) {
    sessionStorage.setItem("reveal", given);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem("reveal");
}

export function create(root, state) {
  document.body.classList.add("reveal");
  let key = steeringKey();
  const status = h("p", { class: "reveal-status", role: "status" });
  const latest = h("div", { class: "reveal-latest", "aria-live": "polite" });
  const following = h("p", { class: "reveal-next" });
  const stage = h("div", { class: "reveal-table" });
  const card = new Card();
  const problem = h("p", { class: "alert", role: "alert", hidden: true });
  const button = (what, text) => h("button", { type: "button", onclick: () => step(what) }, text);
  const steps = h("div", { class: "buttons", hidden: true }, button("next", "Next result"), button("team", "All of this team"), button("all", "All results"));
  const help = h("p", { class: "note", hidden: true }, "Space or →: next result. T: all of this team. End: all results.");
  const list = h("div", { class: "results" });
  const board = h("div", { class: "reveal-board" }, card.element, list);
  root.append(h("h1", { class: "hidden" }, "Reveal"), h("div", { class: "reveal-stage" }, h("div", {}, status, latest, following, problem, stage, steps, help), board));
  card.update(null);

  const steerable = () => key !== null && state.reveal && state.reveal.step !== null && !state.reveal.over;

  async function step(what) {
    if (!steerable()) return;
    const body = new URLSearchParams({ key, what, seen: state.reveal.step });
    const answer = await fetch("/reveal/step", { method: "POST", body }).catch(() => null);
    if (answer?.status === 403) {
      sessionStorage.removeItem("reveal");
      key = null;
      show();
    }
    const failed = !answer || !(answer.ok || answer.status === 409);
    problem.hidden = !failed;
    problem.textContent = !failed ? "" : answer?.status === 403 ? "Only the host can do this: open the address in the host's terminal." : "The server did not answer; try again.";
  }

  document.addEventListener("keydown", (event) => {
    const what = KEYS[event.key.length > 1 ? event.key : event.key.toLowerCase()];
    const onButton = event.target instanceof HTMLButtonElement && [" ", "Enter"].includes(event.key);
    if (!what || onButton || event.repeat || event.ctrlKey || event.metaKey || event.altKey || !steerable()) return;
    event.preventDefault();
    step(what);
  });

  function show() {
    steps.hidden = help.hidden = !steerable();
    const { reveal, freeze } = state;
    board.hidden = reveal.step === null;
    if (reveal.next_game) look(reveal.next_game); // the board of the next step is drawn at once
    const first = state.table.columns && state.table.rows.length ? state.table.rows[0][state.table.columns.findIndex((column) => column.names)] : "";
    if (reveal.over && state.playing === "over" && first) fill(status, name(first), " is first. ", h("small", {}, "All results are revealed."));
    else if (reveal.over) fill(status, "No results are hidden.");
    else if (reveal.step === null) fill(status, freezeText(freeze));
    else fill(status, `${plural(reveal.left, "result")} still hidden`);
  }

  let awaited = { step: null, place: Infinity }; // what the next step is about
  let timer = 0;

  function draw() {
    timer = 0;
    show();
    const { reveal } = state;
    const many = reveal.count > 1;
    const rest = reveal.count - reveal.latest.length;
    card.update(reveal.board);
    card.tick();
    fill(following, reveal.next && !reveal.over ? ["Next: ", pair(reveal.next), h("small", {}, about(reveal.next))] : "");
    fill(latest, many ? h("p", {}, `${reveal.count} results`) : reveal.latest.map(result));
    fill(list, many ? reveal.latest.map(result) : reveal.board ? "" : note(reveal.count ? "No move was played." : "The final board of each match will be here."), many && rest ? h("p", {}, `and ${rest} more`) : "");
    climb(stage, state);
    awaited = { step: reveal.step, place: 1 + state.table.teams.indexOf(reveal.focus), pair: reveal.next && pair(reveal.next) };
  }

  return {
    update(_, changed) {
      const counts = state.reveal.count === 1 && awaited.step !== null && state.reveal.step === awaited.step + 1 && awaited.place && awaited.place <= COUNT;
      if (timer) return; // it draws what has come since
      if (!counts) return changed.has("table") || changed.has("reveal") || changed.has("freeze") ? draw() : show();
      fill(latest, h("p", {}, `A result of place ${awaited.place} …`), h("p", {}, awaited.pair));
      timer = setTimeout(draw, PAUSE_MS);
    },
  };
}

const about = (one) => ` #${one.match}, ${one.event}`;

function result(one) {
  return h("p", {}, pair(one), h("small", {}, about(one)), h("small", { class: "why" }, one.reason ? `${one.reason}: ` : "", name(one.why)));
}

/** Draw the table, and let the rows move to their new places. */
function climb(stage, state) {
  const { reveal, freeze } = state;
  const rows = [...stage.querySelectorAll("tbody tr")];
  const before = new Map(rows.map((row) => [row.dataset.team, row.offsetTop]));
  const places = new Map(rows.map((row, n) => [row.dataset.team, n]));
  const hidden = reveal.step === null ? freeze : { hidden: reveal.left, by_team: reveal.by_team };
  const data = only(withHidden(state.table, reveal.over ? null : hidden), NARROW);
  const drawn = h("div", {}, table(data, "Table"));
  [...drawn.querySelectorAll("tbody tr")].forEach((row, n) => {
    row.dataset.team = data.teams[n];
    row.classList.toggle("focus", data.teams[n] === reveal.focus);
    const up = (places.get(row.dataset.team) ?? n) - n;
    if (up) row.querySelector("th").append(h("span", { class: up > 0 ? "up" : "down", title: `${up > 0 ? "up" : "down"} ${plural(Math.abs(up), "place")}` }, ` ${up > 0 ? "▲" : "▼"} ${Math.abs(up)}`));
  });
  stage.replaceChildren(drawn);
  const focus = stage.querySelector("tr.focus") || stage.querySelector("tbody tr");
  if (focus && reveal.step !== null) stage.scrollTop = focus.offsetTop - (stage.clientHeight - focus.offsetHeight) / 2;
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  for (const row of stage.querySelectorAll("tbody tr")) {
    const moved = before.has(row.dataset.team) ? before.get(row.dataset.team) - row.offsetTop : 0;
    if (moved) row.animate([{ transform: `translateY(${moved}px)` }, { transform: "none" }], { duration: CLIMB_MS, easing: "ease-in-out" });
  }
}
