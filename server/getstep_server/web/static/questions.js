// Questions of a team to the host, with the answers.

import { fill, h, name, timeOfDay } from "./dom.js";
import { showNotices } from "./notices.js";

const view = document.getElementById("questions");
const form = view.querySelector("form");
const note = view.querySelector("p");
const [field, button] = form.elements;
const problem = h("p", { class: "bad", role: "alert" });
const list = h("ul", { class: "questions" });
let sending = false;

async function load() {
  if (document.hidden) return;
  try {
    const answer = await fetch("/own/questions.json");
    if (answer.ok) show(await answer.json());
  } catch {
    // own.js says that there is no connection
  }
}

function show({ closed, longest, questions, notices }) {
  showNotices(notices);
  note.textContent = closed ? `${closed}.` : "Only your team sees them and the answers, unless the host answers to all.";
  field.maxLength = longest;
  button.disabled = sending || Boolean(closed);
  fill(list, questions.map((one) => h("li", {}, h("span", { class: "muted" }, `${timeOfDay(one.at)} `), name(one.text), one.answers.length ? one.answers.map((answer) => h("p", {}, "The host: ", h("strong", {}, name(answer.text)), answer.to_all ? " (to all)" : "")) : h("p", { class: "muted" }, "No answer yet."))));
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  button.disabled = sending = true;
  problem.textContent = "";
  try {
    const answer = await fetch("/own/question", { method: "POST", body: new URLSearchParams({ text: field.value }) });
    if (answer.ok) field.value = "";
    else problem.textContent = (await answer.text()).replace(/^\d+ [^:]*: /, "");
  } catch {
    problem.textContent = "No connection to the server; try again.";
  }
  sending = false;
  load();
});

view.append(problem, list);
document.addEventListener("visibilitychange", load);
setInterval(load, 5000);
load();
