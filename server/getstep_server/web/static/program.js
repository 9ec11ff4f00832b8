// A team's program: the form that sends it, what becomes of it, and its versions.

import { fill, h, load, note, post } from "./dom.js";
import { table } from "./table.js";

const view = document.getElementById("program");
const status = h("div", { role: "status" });
const list = h("div", {});
const problem = h("p", { class: "bad", role: "alert" });
const form = view.querySelector("form");
const [input, button, convention, entry] = form.elements;
let most = 0;
let timer = 0;

async function look() {
  clearTimeout(timer);
  const state = await load("/own/program.json");
  const busy = state && show(state);
  timer = setTimeout(look, busy ? 700 : 5000);
}

/** Show the state; return true if it changes soon. */
function show({ open, most_bytes: bytes, latest, versions }) {
  most = bytes;
  view.hidden = !open && !versions.rows.length;
  form.hidden = !open;
  button.disabled = Boolean(latest?.busy);
  fill(status, latest ? result(latest) : null);
  fill(list, versions.rows.length ? table(versions, "Versions of your program") : note("The host runs no program of your team."));
  return button.disabled;
}

function result({ name, words, bad, text, lines }) {
  const output = [...lines, ...(bad ? text : [])].join("\n");
  return [
    h("p", {}, h("bdi", {}, name), ": ", h("strong", { class: bad ? "bad" : null }, words), bad || !text[0] ? "" : `, ${text[0]}`, "."),
    output ? h("pre", { class: "error", tabindex: "0" }, output) : null,
  ];
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const [file] = input.files;
  if (file.size > most) return (problem.textContent = `${file.name} is larger than ${most / 1e6} MB.`);
  button.disabled = true;
  const query = new URLSearchParams({ name: file.name, as: convention.value, entry: entry.value });
  if (await post(`/own/program?${query}`, file, problem)) form.reset();
  look();
});
document.addEventListener("visibilitychange", look);
view.append(problem, status, list);
look();
