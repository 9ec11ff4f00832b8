// A board with both players' names and running clocks.

import { arrive, drawBoard, putDrawing, putScore, putTable } from "./board.js";
import { clock, h, name } from "./dom.js";

const SLOWEST_MS = 5000;
let moveMs = 200; // the time in which the last move is shown

const looks = new Map();

/** Return the look of a game; it is fetched once. */
export function look(game) {
  if (!looks.has(game)) {
    looks.set(game, fetch(`/look/${game}.json`).then((answer) => answer.json()).catch(() => looks.delete(game) && null));
  }
  return looks.get(game);
}

/** Show the last move on a board that was drawn just now, as fast as the reader likes. */
export const showMove = (board, touched) => arrive(board, touched, moveMs);

/** Return a field for the time in which boards show the last move. */
export function speedField() {
  const field = h("input", { type: "number", min: 0, max: SLOWEST_MS, step: 50, value: moveMs });
  field.addEventListener("change", () => {
    moveMs = Math.min(SLOWEST_MS, Math.max(0, Number(field.value)));
  });
  return h("label", { class: "speed" }, field, " ms a move");
}

/** Return the place of the board that matters most, among ["board0", ...]: level, and not just begun. */
export const foremost = (state, places, rank = () => 0) => {
  const tension = (key) => 4 * state[key].balance - (state[key].turn > 8) + rank(key);
  return places.reduce((best, key) => (best === null || tension(key) < tension(best) ? key : best), null);
};

/** Return the names of the places with a board. */
export const boardsOf = (state) => Object.keys(state).filter((key) => /^board\d/.test(key) && state[key]);

/** A card: a board between its two players. */
export class Card {
  constructor({ heading = true } = {}) {
    this.table = heading ? null : h("div", { class: "hidden" }); // a large board can be read square by square
    this.link = h("a", { class: "card-head" });
    this.plates = [0, 1].map((player) => new Plate(player));
    this.board = h("div", { class: "board" });
    this.line = h("p", { class: "score" });
    this.element = h("article", { class: "card" }, heading ? this.link : null, this.plates[0].element, this.board, this.table, this.plates[1].element, this.line);
    this.drawn = "";
  }

  update(data) {
    this.data = data;
    this.element.hidden = !data;
    if (!data) return;
    this.link.href = `/match/${data.match}`;
    this.link.replaceChildren(h("span", {}, `#${data.match}`), h("span", { class: "muted event" }, name(data.event)), h("span", { class: "muted" }, `move ${data.turn}`));
    this.plates.forEach((plate) => plate.update(data));
    this.element.classList.toggle("over", Boolean(data.result));
    this.draw(data);
  }

  async draw(data) {
    const found = await look(data.game);
    const key = JSON.stringify([data.game, data.board, data.touched, data.result?.text]);
    if (!found || data !== this.data || key === this.drawn) return;
    this.drawn = key;
    putDrawing(this.board, drawBoard(found, data.board, data.touched));
    if (this.match === data.match && this.turn < data.turn) showMove(this.board, data.touched);
    [this.match, this.turn] = [data.match, data.turn];
    if (this.table) putTable(this.table, found, data.board);
    putScore(this.line, found, data.measures);
    if (data.result) this.line.append(h("br"), `${data.result.text}: ${data.result.why}`);
  }

  tick(now) {
    if (this.data) this.plates.forEach((plate) => plate.tick(this.data, now));
  }
}

class Plate {
  constructor(player) {
    this.player = player;
    this.who = h("span", { class: "who" });
    this.clock = h("span", { class: "clock" });
    this.element = h("div", { class: `plate p${player}` }, this.who, this.clock);
  }

  update(data) {
    const { player } = this;
    const team = data.teams[player];
    const faults = data.faults[player];
    this.who.replaceChildren(
      h("a", { href: `/team/${team.id}`, title: team.name }, name(team.name)),
      h("small", { class: "role" }, ` ${data.players[player]}`),
      data.paused !== null && data.to_move === player ? h("small", { class: "paused" }, " paused") : data.stalled.includes(team.id) ? h("small", { class: "bad" }, " stalled") : faults ? h("small", { class: "bad" }, ` ${faults} fault${faults > 1 ? "s" : ""}`) : "",
    );
    this.element.classList.toggle("turn", data.to_move === player);
    this.element.classList.toggle("winner", Boolean(data.result) && data.result.winner === player);
  }

  tick(data, now) {
    const { player } = this;
    const { kind, left, used, asked, stopped } = data.clock;
    const running = data.to_move === player ? Math.max(0, (stopped ?? now) - asked) : 0;
    const ms = data.result ? used[player] : kind === "move" && !running ? left[player] : left[player] - running;
    const text = data.result ? `${clock(ms)} used` : clock(ms);
    if (this.clock.textContent !== text) this.clock.textContent = text;
    this.element.classList.toggle("low", !data.result && running > 0 && ms < 0.2 * data.clock.limit);
  }
}
