// A short tone for a move, and two for the end of a game. It is off until a reader presses the button.

let audio = null; // a browser makes sound only after a click
let on = false;

function tone(pitch, at, seconds) {
  const [oscillator, volume] = [audio.createOscillator(), audio.createGain()];
  const begin = audio.currentTime + at;
  oscillator.frequency.value = pitch;
  volume.gain.setValueAtTime(0.12, begin);
  volume.gain.exponentialRampToValueAtTime(0.001, begin + seconds);
  oscillator.connect(volume).connect(audio.destination);
  oscillator.start(begin);
  oscillator.stop(begin + seconds);
}

/** Let a move be heard, or the end of a game. */
export function sound(isEnd = false) {
  if (!on) return;
  tone(isEnd ? 523 : 440, 0, 0.08);
  if (isEnd) tone(784, 0.12, 0.3);
}

/** Switch the sound on or off by this button. */
export function soundButton(button) {
  const show = () => {
    const label = on ? "Sound is on" : "Sound is off";
    button.setAttribute("aria-pressed", on);
    button.setAttribute("aria-label", label);
    button.title = label;
  };
  button.addEventListener("click", () => {
    on = !on;
    audio ??= new AudioContext();
    document.dispatchEvent(new Event("sound"));
    sound();
  });
  document.addEventListener("sound", show); // the page of a match has two such buttons
  show();
  return button;
}
