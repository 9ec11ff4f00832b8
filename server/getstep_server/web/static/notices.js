// What the host has written to all, and what is paused: at the top of each page.

import { fill, h, name, timeOfDay } from "./dom.js";

/** Return the text of a message: an announcement, or an answer with its question. */
const said = (one) => [one.question ? ["Answer to ", name(one.team.name), ", who asks “", name(one.question), "”: "] : "", h("strong", {}, name(one.text)), h("small", { class: "muted" }, ` ${timeOfDay(one.at)}`)];

/** Show the pauses and the latest messages in the place above the page; on the wall, the newest message only. */
export function showNotices({ messages, paused }, newest = false) {
  const place = document.getElementById("notices");
  const open = Boolean(place.querySelector("details[open]"));
  const [first, ...older] = messages;
  fill(
    place,
    paused.slice(0, 3).map((one) => h("p", { class: "notice paused" }, h("strong", {}, "Paused: ", name(one.name)), " – ", name(one.why))),
    paused.length > 3 ? h("p", { class: "notice paused" }, `and ${paused.length - 3} more pauses`) : null,
    first ? h("p", { class: "notice" }, said(first)) : null,
    older.length && !newest ? h("details", { class: "notice", open }, h("summary", {}, "Earlier messages of the host"), h("ul", {}, older.map((one) => h("li", {}, said(one))))) : null,
  );
}
