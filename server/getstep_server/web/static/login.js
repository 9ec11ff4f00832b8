// The login to a team's area: signs a nonce with the token, which stays in this browser.

import { canonicalToken, signPageLogin } from "./sign.js";

const form = document.getElementById("login");
const token = document.getElementById("token");
const button = form.querySelector("button");
const say = (text) => (document.getElementById("problem").textContent = text);

async function logIn() {
  const { nonce } = await (await fetch("/own/nonce.json")).json();
  const mac = signPageLogin(canonicalToken(token.value.trim()), nonce);
  const body = new URLSearchParams({ team: form.elements.team.value.trim(), nonce, mac });
  const answer = await fetch("/own/login", { method: "POST", body });
  const { problem } = await answer.json();
  if (problem) return say(problem);
  token.value = "";
  location.reload();
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  button.disabled = true;
  say("");
  try {
    await logIn();
  } catch {
    say("No connection to the server; try again.");
  }
  button.disabled = false;
});
button.disabled = false;
