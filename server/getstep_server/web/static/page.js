// Follows a topic of the server, and lets the page's view draw it.

import * as event from "./event.js";
import * as match from "./match.js";
import { showNotices } from "./notices.js";
import * as overview from "./overview.js";
import * as reveal from "./reveal.js";
import * as team from "./team.js";
import * as wall from "./wall.js";

const views = { overview, wall, reveal, match, team, event };
const root = document.getElementById("view");
const offline = document.getElementById("offline");
const { page, topic } = document.body.dataset;

/** The state of the topic, as far as it has come. `ahead` is the server's clock less this one, in ms. */
const state = { ahead: 0 };
let view = null;
let source = null;
let seen = 0;

function take(text) {
  const parts = JSON.parse(text);
  state.ahead = parts.now - Date.now();
  Object.assign(state, parts);
  seen = Date.now();
  if (view === null) {
    root.replaceChildren();
    view = views[page].create(root, state);
  }
  if (parts.notices) showNotices(parts.notices, page === "wall");
  view.update(state, new Set(Object.keys(parts)));
  tick();
}

function connect() {
  if (source) return;
  source = new EventSource(`/api/v1/pages/${topic}`);
  source.onopen = () => (offline.hidden = true);
  source.onmessage = (message) => take(message.data);
  source.onerror = () => {
    const at = seen ? ` This is the state of ${new Date(seen).toLocaleTimeString()}.` : "";
    offline.textContent = `No connection to the server.${at} The page comes back automatically.`;
    offline.hidden = false;
    // A browser gives up after an answer that is no event stream, such as "too many spectators".
    if (source && source.readyState === EventSource.CLOSED) {
      source = null;
      setTimeout(connect, 5000 + 5000 * Math.random());
    }
  };
}

function disconnect() {
  if (source) source.close();
  source = null;
}

/** Let the clocks run. */
function tick() {
  if (view && view.tick) view.tick(Date.now() + state.ahead);
}

// A page that nobody sees needs no events.
document.addEventListener("visibilitychange", () => (document.hidden ? disconnect() : connect()));
setInterval(tick, 200);
if (!document.hidden) connect();
