// Follows events of the server, and says so when it does not answer.

import { BACK, NO_CONNECTION, sayOffline } from "./dom.js";

/** Call `take` with each event of an address, as an object, as long as somebody sees the page, and `say` if none can come. */
export function follow(address, take, say = sayOffline) {
  let source = null;
  let seen = 0;

  function connect() {
    if (source) return;
    source = new EventSource(address);
    source.onopen = () => say("");
    source.onmessage = (message) => {
      seen = Date.now();
      take(JSON.parse(message.data));
    };
    source.onerror = () => {
      say(seen ? `${NO_CONNECTION}. This is the state of ${new Date(seen).toLocaleTimeString()}${BACK}` : undefined);
      // A browser gives up after an answer that is no event stream, such as "too many pages follow".
      if (source?.readyState === EventSource.CLOSED) {
        source = null;
        setTimeout(connect, 5000 + 5000 * Math.random());
      }
    };
  }

  function disconnect() {
    if (source) source.close();
    source = null;
  }

  // A page that nobody sees needs no events.
  document.addEventListener("visibilitychange", () => (document.hidden ? disconnect() : connect()));
  if (!document.hidden) connect();
}
