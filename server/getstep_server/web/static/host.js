// The host's console: shows what changes, but not under a finger, and not while something is typed there.

import { follow } from "./follow.js";

const { value: word } = document.querySelector("[name=word]");
const fresh = {};

function show() {
  for (const name in fresh) {
    const part = document.getElementById(`part-${name}`);
    if (part.matches(":active, :has(:focus, [required]:valid)")) continue;
    part.innerHTML = fresh[name]; // of the server's templates, which escape all texts
    for (const one of part.querySelectorAll("[name=word]")) one.value = word;
    delete fresh[name];
  }
}

follow("/host/changes", ({ now, over, ...parts }) => {
  if (over) location.reload();
  Object.assign(fresh, parts);
  show();
});
setInterval(show, 1000);
