// The login to a team's area, and the form for a new token there: both sign a nonce with the token, which stays here.

import { canonicalToken, signPageLogin, unmasked } from "./sign.js";

const field = document.getElementById("token");
const form = field.form;
const button = form.querySelector("button");
const say = (text) => (document.getElementById("problem").textContent = text);

async function send() {
  const token = canonicalToken(field.value.trim());
  const { nonce } = await (await fetch("/own/nonce.json")).json();
  const body = new URLSearchParams({ team: form.elements.team?.value.trim(), nonce, mac: signPageLogin(token, nonce) });
  const { problem, masked } = await (await fetch(form.action, { method: "POST", body })).json();
  if (problem) return say(problem);
  if (!masked) return location.reload();
  field.value = "";
  say(`The new token, shown only now: ${unmasked(masked, token, nonce)}`);
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  button.disabled = true;
  say("");
  await send().catch(() => say("No connection; try again."));
  button.disabled = false;
});
button.disabled = false;
