// A team's program: the form that sends it, what becomes of it, and its versions.

import { fill, h } from "./dom.js";
import { table } from "./table.js";

const view = document.getElementById("program");
const status = h("div", { role: "status" });
const list = h("div", {});
const problem = h("p", { class: "bad", role: "alert" });
const form = view.querySelector("form");
const [input, button, convention, entry] = form.elements;
let most = 0;
let timer = 0;

async function load() {
  clearTimeout(timer);
  let busy = false;
  if (!document.hidden) {
    try {
      const answer = await fetch("/own/program.json");
      if (answer.ok) busy = show(await answer.json());
    } catch {
      // own.js says that there is no connection
    }
  }
  timer = setTimeout(load, busy ? 700 : 5000);
}

/** Show the state; return true if it changes soon. */
function show({ open, most_bytes: bytes, latest, versions }) {
  most = bytes;
  view.hidden = !open && !versions.rows.length;
  form.hidden = !open;
  button.disabled = Boolean(latest && latest.busy);
  fill(status, latest ? result(latest) : null);
  fill(list, versions.rows.length ? table(versions, "Versions of your program") : h("p", { class: "note" }, "The host runs no program of your team."));
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
  problem.textContent = file.size > most ? `${file.name} is larger than ${most / 1e6} MB.` : "";
  if (file.size > most) return;
  button.disabled = true;
  try {
    const query = new URLSearchParams({ name: file.name, as: convention.value, entry: entry.value });
    const answer = await fetch(`/own/program?${query}`, { method: "POST", body: file });
    if (answer.ok) form.reset();
    else problem.textContent = (await answer.text()).replace(/^\d+ [^:]*: /, "");
  } catch {
    problem.textContent = "No connection to the server; try again.";
  }
  load();
});
document.addEventListener("visibilitychange", load);
view.append(problem, status, list);
load();
