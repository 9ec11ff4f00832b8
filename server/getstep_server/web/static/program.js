// A team's program: the form that sends it, what becomes of it, and its versions.

import { fill, h } from "./dom.js";

const QUIET_MS = 5000;
const BUSY_MS = 700;
const STATES = { waiting: "Waiting", working: "Built and tried now", stored: "Stored", refused: "Refused", failed: "Failed" };

const view = document.getElementById("program");
const status = h("div", { role: "status" });
const list = h("div", {});
const input = h("input", { type: "file", id: "program-file", required: true });
const button = h("button", {}, "Submit");
const problem = h("p", { class: "bad", role: "alert" });
const form = h("form", { class: "submit" }, h("label", { for: "program-file" }, "One file, or a zip or tar.gz archive: "), input, " ", button);
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
  timer = setTimeout(load, busy ? BUSY_MS : QUIET_MS);
}

/** Show the state; return true if it changes soon. */
function show(state) {
  most = state.most_bytes;
  view.hidden = !state.open && !state.versions.length;
  form.hidden = !state.open;
  const latest = state.latest;
  const busy = Boolean(latest) && (latest.state === "waiting" || latest.state === "working");
  button.disabled = busy;
  fill(status, latest ? result(latest) : null);
  fill(list, state.versions.length ? versions(state.versions) : h("p", { class: "note" }, "The host runs no program of your team."));
  return busy;
}

function result({ name, state, text, lines }) {
  const bad = state === "refused" || state === "failed";
  const output = [...lines, ...(bad ? text : [])].join("\n");
  return [
    h("p", {}, h("bdi", {}, name), ": ", h("strong", { class: bad ? "bad" : null }, STATES[state]), bad || !text[0] ? "" : `, ${text.join(" ")}`, "."),
    output ? h("pre", { class: "error", tabindex: "0" }, output) : null,
  ];
}

function versions(found) {
  const rows = found.map((one) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, one.number),
      h("td", { class: "left" }, one.in_use ? h("strong", {}, "in use") : one.removed ? "removed" : ""),
      h("td", { class: "left" }, one.language),
      h("td", { class: "left" }, one.convention),
      h("td", { class: "left" }, h("code", { title: one.sha256 }, one.sha256.slice(0, 12))),
      h("td", { class: "left" }, new Date(one.added).toLocaleString([], { dateStyle: "short", timeStyle: "short" })),
      h("td", { class: "left" }, one.trial),
    ),
  );
  const heads = ["version", "", "language", "convention", "SHA-256", "added", "trial game"].map((head, n) => h(head ? "th" : "td", { scope: head ? "col" : null, class: n ? "left" : null }, head));
  return h("div", { class: "wide", role: "region", "aria-label": "Versions of your program", tabindex: "0" }, h("table", {}, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows)));
}

async function submit(event) {
  event.preventDefault();
  const [file] = input.files;
  problem.textContent = "";
  if (!file) return;
  if (file.size > most) {
    problem.textContent = `${file.name} is larger than ${most / 1e6} MB.`;
    return;
  }
  button.disabled = true;
  try {
    const answer = await fetch(`/own/program?${new URLSearchParams({ name: file.name })}`, { method: "POST", body: file });
    if (answer.ok) form.reset();
    else problem.textContent = (await answer.text()).replace(/^\d+ [^:]*: /, "");
  } catch {
    problem.textContent = "No connection to the server; try again.";
  }
  button.disabled = false;
  load();
}

form.addEventListener("submit", submit);
document.addEventListener("visibilitychange", load);
view.append(h("h2", {}, "Your program"), form, problem, status, list);
load();
