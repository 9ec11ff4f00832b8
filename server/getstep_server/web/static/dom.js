// Small helpers. All text reaches the page as text nodes or attributes, never as HTML.

/** Return a new element. A child may be a node, text, an array, or null. */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "onclick") element.addEventListener("click", value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Replace the content of an element, unless it is the same: so nothing flickers, and a selection stays. */
export function fill(element, ...children) {
  const fresh = h("div", {}, ...children);
  if (fresh.innerHTML === element.innerHTML) return;
  element.replaceChildren(...fresh.childNodes);
}

/** Return a name that cannot change the direction of the text around it. */
export const name = (text) => h("bdi", {}, text);

export const teamLink = (team) => h("a", { href: `/team/${team.id}` }, name(team.name));
export const matchLink = (match) => h("a", { href: `/match/${match}` }, `#${match}`);

/** Return a box that scrolls sideways, with the keyboard too. */
export const wide = (label, ...content) => h("div", { class: "wide", role: "region", "aria-label": label, tabindex: "0" }, ...content);

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
