// One match: the live board with its moves; then its replay.

import { Card } from "./boards.js";
import { duration, fill, h, name } from "./dom.js";

const STATES = {
  playing: "Being played now",
  waiting: "Not played yet",
  interrupted: "Interrupted: it goes on when the server runs again",
  cancelled: "Cancelled: it counts for nothing",
  over: "Over",
};

export function create(root) {
  const card = new Card({ heading: false });
  const title = h("h1", {});
  const about = h("p", { class: "muted" });
  const why = h("p", { class: "verdict", role: "status" });
  const moves = h("ol", { class: "moves", tabindex: "0", "aria-label": "Moves with the time of each" });
  const live = h("div", { class: "stage" }, card.element, h("section", { "aria-labelledby": "moves-title" }, h("h2", { id: "moves-title" }, "Moves"), moves));
  const replay = h("div", { class: "replay" });
  root.append(title, about, why, live, replay);
  let shown = false;

  async function showReplay(match) {
    if (shown) return;
    shown = true;
    try {
      const [answer, viewer] = await Promise.all([fetch(`/replay/${match}.json`), import("./viewer.js")]);
      if (!answer.ok) throw new Error(answer.statusText);
      const data = await answer.json();
      viewer.mountReplay(replay, data);
      for (const element of [title, about, why, live]) element.hidden = true; // the replay has its own heading
    } catch {
      shown = false;
    }
  }

  return {
    update(state, changed) {
      const { match, board, result } = state;
      if (changed.has("match")) {
        fill(title, name(match.teams[0].name), " – ", name(match.teams[1].name));
        document.title = `${match.teams[0].name} – ${match.teams[1].name}`;
        fill(about, `Match ${match.match}, `, h("a", { href: `/event/${match.event_number}` }, name(match.event)), `, round ${match.round}`);
      }
      fill(why, h("strong", {}, result ? result.text : STATES[state.state]), result ? [": ", result.reason ? `${result.reason}: ` : "", name(result.why)] : "");
      live.hidden = !board || (shown && state.state === "over");
      card.update(board);
      if (changed.has("moves") && state.moves) list(moves, state.moves);
      if (state.state === "over" && !board) showReplay(match.match);
      else if (state.state === "over") setTimeout(() => showReplay(match.match), 4000);
    },
    tick(now) {
      card.tick(now);
    },
  };
}

/** Add the moves that are new; stay at the end if the reader is there. */
function list(element, moves) {
  const atEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - 8;
  const last = Number(element.lastChild?.dataset.n || 0);
  if (!moves.length || moves[moves.length - 1].n < last) element.replaceChildren();
  const known = Number(element.lastChild?.dataset.n || 0);
  element.append(...moves.filter((move) => move.n > known).map(row));
  if (atEnd) element.scrollTop = element.scrollHeight;
}

function row(move) {
  return h(
    "li",
    { class: `p${move.player}${move.code ? " fault" : ""}`, "data-n": move.n },
    h("span", { class: "number" }, move.n),
    h("span", { class: "text" }, move.text || "", move.code ? [move.text ? " " : "", h("em", { class: "bad" }, move.code), " ", name(move.why)] : ""),
    h("span", { class: "muted" }, move.ms === null ? "" : duration(move.ms)),
  );
}
