// Friendly matches of an arena: the form that asks for one, and what became of those of and to the team.

import { fill, h, load, name, plural, post, timeOfDay } from "./dom.js";

const STATES = { waiting: "waits until both are free", playing: "is being played", win: "won", draw: "draw", loss: "lost", lapsed: "did not begin" };

const view = document.getElementById("challenge");
const note = view.querySelector("p");
const form = view.querySelector("form");
const [select, button] = form.elements;
const problem = h("p", { class: "bad", role: "alert" });
const list = h("ul", {});
let timer = 0;

async function look() {
  clearTimeout(timer);
  const state = await load("/own/challenges.json");
  const busy = state && show(state);
  timer = setTimeout(look, busy ? 1000 : 5000);
}

/** Show the state; return true if it changes soon. */
function show({ arena, closed, left, here, latest }) {
  view.hidden = !arena;
  form.hidden = Boolean(closed) || !here.length || !left;
  note.textContent = closed ? `${closed}.` : !left ? "Your team has made all challenges of 24 hours." : here.length ? `They count nowhere. ${plural(left, "challenge")} left in 24 hours.` : "No other team is here now.";
  const chosen = select.value;
  fill(select, here.map((team) => h("option", { value: team.id }, team.name)));
  if (here.some((team) => String(team.id) === chosen)) select.value = chosen;
  fill(list, latest.map((one) => h("li", {}, `${timeOfDay(one.at)} `, one.ours ? "against " : "challenged by ", name(one.opponent.name), ": ", h("strong", { class: one.state }, STATES[one.state]), one.why ? ` (${one.why})` : "")));
  return latest.some((one) => one.state === "waiting" || one.state === "playing");
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  button.disabled = true;
  await post("/own/challenge", new URLSearchParams({ opponent: select.value }), problem);
  button.disabled = false;
  look();
});

view.append(problem, list);
document.addEventListener("visibilitychange", look);
look();
