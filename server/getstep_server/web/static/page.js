// Follows a topic of the server, and lets the page's view draw it.

import * as event from "./event.js";
import { follow } from "./follow.js";
import * as match from "./match.js";
import { showNotices } from "./notices.js";
import * as overview from "./overview.js";
import * as reveal from "./reveal.js";
import * as team from "./team.js";
import * as wall from "./wall.js";

const views = { overview, wall, reveal, match, team, event };
const root = document.getElementById("view");
const { page, topic } = document.body.dataset;

/** The state of the topic, as far as it has come. `ahead` is the server's clock less this one, in ms. */
const state = { ahead: 0 };
let view = null;

function take(parts) {
  state.ahead = parts.now - Date.now();
  Object.assign(state, parts);
  if (view === null) {
    root.replaceChildren();
    view = views[page].create(root, state);
  }
  if (parts.notices) showNotices(parts.notices, page === "wall");
  view.update(state, new Set(Object.keys(parts)));
  tick();
}

/** Let the clocks run. */
function tick() {
  view?.tick?.(Date.now() + state.ahead);
}

setInterval(tick, 200);
follow(`/api/v1/pages/${topic}`, take);
