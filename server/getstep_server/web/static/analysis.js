// Why was a game lost? The buttons beside a team's games, and the page with the analysis of one of them.

import { fill, h, load, plural, post } from "./dom.js";

const cells = new Map(); // by match
const problem = document.getElementById("analysis-problem");
let state = { latest: null, ready: [], left: 0 };
let timer = 0;

/** Return the place for a match's button, or for the link to its analysis. */
export function analysisCell(match) {
  const cell = h("span", {});
  cells.set(match, cell);
  draw(match, cell);
  return cell;
}

function draw(match, cell) {
  const { latest, ready, left } = state;
  const mine = latest?.match === match ? latest : null;
  if (ready.includes(match)) return fill(cell, h("a", { href: `/own/analysis/${match}` }, "analysis"));
  if (mine?.state === "waiting") return fill(cell, mine.before ? `waits, ${mine.before} before it` : "waits");
  if (mine?.state === "working") return fill(cell, mine.of ? `position ${mine.done + 1} of ${mine.of}` : "begins");
  const busy = latest && (latest.state === "waiting" || latest.state === "working");
  const title = busy ? "Your team's last analysis is not done yet." : `${plural(left, "analysis", "analyses")} left in 24 hours.`;
  const button = h("button", { type: "button", title, onclick: () => ask(match) }, mine ? "analyse again" : "analyse");
  button.disabled = busy || !left;
  return fill(cell, mine ? "failed " : "", button);
}

async function ask(match) {
  await post("/own/analysis", new URLSearchParams({ match }), problem);
  look();
}

async function look() {
  clearTimeout(timer);
  state = (await load("/own/analyses.json")) || state;
  for (const [match, cell] of cells) draw(match, cell);
  timer = setTimeout(look, state.latest && state.latest.state !== "done" && state.latest.state !== "failed" ? 1000 : 5000);
}

const root = document.getElementById("analysis");
if (root) {
  const answer = await fetch(`/own/analysis/${root.dataset.match}.json`);
  if (answer.ok) (await import("./viewer.js")).mountReplay(root, await answer.json());
  else root.textContent = "There is no analysis of this match. Ask for it in your team's area.";
} else {
  document.addEventListener("visibilitychange", look);
  look();
}
