// One team: its matches, faults and times.

import { duration, fill, h, HANGS, name, note, plural, timeOfDay, wide } from "./dom.js";

const OUTCOMES = { win: "won", draw: "draw", loss: "lost" };

export function create(root) {
  const title = h("h1", {});
  const facts = h("p", { class: "facts" });
  const now = h("div", {});
  const hidden = h("div", {});
  const results = h("div", {});
  const next = h("div", {});
  root.append(title, facts, now, hidden, h("h2", {}, "Matches"), results, next);
  return {
    update(state) {
      fill(title, name(state.team.name));
      document.title = state.team.name;
      fill(facts, factLine(state).map((text, n) => [n ? " · " : "", text]));
      fill(hidden, state.hidden.map((match) => h("p", { class: "verdict" }, "Played, the result is hidden: ", pair(match))));
      fill(now, state.running.map((match) => h("p", { class: "verdict" }, "Plays now: ", pair(match))));
      fill(results, matches(state));
      fill(next, state.next.length ? [h("h2", {}, "Next"), h("ol", { class: "next" }, state.next.map((match) => h("li", {}, pair(match), h("span", { class: "muted" }, ` ${match.event}`))))] : "");
    },
  };
}

function factLine({ team, totals }) {
  const facts = [];
  if (team.rank) facts.push(h("strong", {}, `rank ${team.rank} of ${team.of}`));
  if (team.connected !== null) facts.push(team.connected ? "connected" + (team.connected > 1 ? ` with ${team.connected} bots` : "") : h("span", { class: "bad" }, "not connected"));
  if (team.stalled) facts.push(h("span", { class: "bad" }, "stalled"));
  if (team.hangs) facts.push(h("span", { class: "bad" }, HANGS));
  facts.push(`${plural(totals.played, "match")}: ${totals.won} won, ${totals.drawn} drawn, ${totals.lost} lost`);
  if (totals.played) facts.push(plural(totals.faults, "fault"));
  if (totals.move_ms !== null) facts.push(`about ${duration(totals.move_ms)} a move`);
  return facts;
}

const pair = (match) => h("a", { href: `/match/${match.match}` }, h("span", { class: "number" }, `#${match.match}`), name(match.teams[0].name), " – ", name(match.teams[1].name));

function matches(state) {
  if (!state.results.length) return note("No match of this team is over yet.");
  const heads = ["#", "against", "result", "why", "as", "event", "faults", "time", "at"];
  const left = new Set(["against", "result", "why", "as", "event"]);
  return wide(
    "Matches",
    h(
      "table",
      { class: "stack" },
      h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col", class: left.has(head) ? "left" : null }, head)))),
      h("tbody", {}, state.results.map((one) => row(one, state.team.id))),
    ),
    state.older ? note(`and ${state.older} older`) : null,
  );
}

function row(one, team) {
  const cell = (label, content, left) => h("td", { class: left ? "left" : null, "data-label": label }, content);
  return h(
    "tr",
    {},
    cell("match", h("a", { href: `/match/${one.match}` }, `#${one.match}`)),
    h("th", { scope: "row", class: "left" }, h("a", { href: `/team/${team}/against/${one.opponent.id}` }, name(one.opponent.name))),
    cell("result", h("span", { class: one.outcome }, OUTCOMES[one.outcome]), true),
    h("td", { class: "left reason", "data-label": "why" }, one.reason ? h("em", {}, `${one.reason}: `) : "", name(one.why)),
    cell("as", one.role, true),
    cell("event", name(one.event), true),
    cell("faults", one.own_faults || ""),
    cell("time", duration(1000 * one.own_thought)),
    cell("at", timeOfDay(one.ended)),
  );
}
