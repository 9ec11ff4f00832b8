// Questions of a team to the host, with the answers.

import { fill, h, load, name, post, timeOfDay } from "./dom.js";
import { showNotices } from "./notices.js";

const view = document.getElementById("questions");
const form = view.querySelector("form");
const note = view.querySelector("p");
const [field, button] = form.elements;
const problem = h("p", { class: "bad", role: "alert" });
const list = h("ul", { class: "questions" });
let sending = false;

async function look() {
  const state = await load("/own/questions.json");
  if (state) show(state);
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
  if (await post("/own/question", new URLSearchParams({ text: field.value }), problem)) field.value = "";
  sending = false;
  look();
});

view.append(problem, list);
document.addEventListener("visibilitychange", look);
setInterval(look, 5000);
look();
