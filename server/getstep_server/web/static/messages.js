// Shows what the host writes and what is paused on a page that follows nothing else, or not that.

import { follow } from "./follow.js";
import { showNotices } from "./notices.js";

// The page itself needs no connection, so it does not tell of a lost one.
follow("/api/v1/pages/notices", ({ notices }) => notices && showNotices(notices), () => {});
