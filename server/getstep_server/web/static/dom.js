// Small helpers. All text reaches the page as text nodes or attributes, never as HTML.

import { make as h } from "./board.js";

export { h };

/** Replace the content of an element, unless it is the same: so nothing flickers, and a selection stays. */
export function fill(element, ...children) {
  const fresh = h("div", {}, ...children);
  if (fresh.innerHTML === element.innerHTML) return;
  element.replaceChildren(...fresh.childNodes);
}

/** A paragraph beside the matter: an empty state, or what is left out. */
export const note = (...content) => h("p", { class: "note" }, ...content);

/** Return a name that cannot change the direction of the text around it. */
export const name = (text) => h("bdi", {}, text);

export const teamLink = (team) => h("a", { href: `/team/${team.id}` }, name(team.name));
export const matchLink = (match) => h("a", { href: `/match/${match}` }, `#${match}`);

/** Return a box that scrolls sideways, with the keyboard too. */
export const wide = (label, ...content) => h("div", { class: "wide", role: "region", "aria-label": label, tabindex: "0" }, ...content);

export const NO_CONNECTION = "No connection to the server";
export const BACK = ". The page comes back automatically.";
const offline = document.getElementById("offline");

/** Say above the page that nothing comes any more, or with "" that the server answers. */
export function sayOffline(text = NO_CONNECTION + BACK) {
  offline.hidden = !text;
  offline.textContent = text;
}

/** Return the JSON at an address; null if there is none now, or nobody sees the page. */
export async function load(address) {
  if (document.hidden) return null;
  const answer = await fetch(address).catch(() => null); // the script of the page says that there is no connection
  return answer?.ok ? answer.json() : null;
}

/** Send a form or a file; return whether the server has taken it. If not, show why in the element `problem`. */
export async function post(address, body, problem) {
  problem.textContent = "";
  const answer = await fetch(address, { method: "POST", body }).catch(() => null);
  if (!answer?.ok) problem.textContent = answer ? (await answer.text()).replace(/^\d+ [^:]*: /, "") : `${NO_CONNECTION}; try again.`;
  return Boolean(answer?.ok);
}

/** Return milliseconds as a clock: 4.2 s under ten seconds, 0:42, 12:05. */
export function clock(ms) {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

/** Return a duration in words: 320 ms, 4.2 s, 3 min. */
export function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60000)} min`;
}

/** Return a time of day in the reader's time zone. */
export const timeOfDay = (ms) => new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });

export const HANGS = "no answer: if the bot hangs, stop it (Ctrl-C), correct it, start it again; it plays on";
export const plural = (count, what) => `${count} ${what}${count === 1 ? "" : what.endsWith("ch") ? "es" : "s"}`;
