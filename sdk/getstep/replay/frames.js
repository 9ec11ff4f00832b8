// The positions of a replay, from its data (see _data.py). Pure: no DOM, the same in node and in a browser.

const MOST_TAGS = 16; // of a player in a match

/** Return a copy of `board` with `changes` applied: a flat list of square, value, square, value, ... */
function changed(board, changes) {
  const width = board[0].length;
  const rows = board.slice();
  for (let i = 0; i < changes.length; i += 2) {
    const row = Math.floor(changes[i] / width);
    if (rows[row] === board[row]) rows[row] = board[row].slice();
    rows[row][changes[i] % width] = changes[i + 1];
  }
  return rows;
}

/** Return the squares of a step as [row, column] pairs, with the names of Python's `Touched`. */
function touchedOf(short, width) {
  if (!short) return null;
  const all = (squares) => (squares || []).map((square) => [Math.floor(square / width), square % width]);
  const direct = short.f && short.t && short.f.length === 1 && short.t.length === 1 ? [...short.f, ...short.t] : [];
  return {
    source: all(short.f),
    path: all(short.p || direct),
    to: all(short.t),
    captured: all(short.c),
    exploded: all(short.x),
    blocked: all(short.b),
  };
}

/** Return the game with all texts of its turns in place: those that come again are stored once, in `texts`. */
export function withTexts(game) {
  const text = (one) => (typeof one === "number" ? game.texts[one] : one);
  const turns = game.turns.map((turn) => {
    const copy = { ...turn };
    for (const key of ["m", "c", "w"]) if (key in turn) copy[key] = text(turn[key]);
    if (turn.n) copy.n = turn.n.map(text);
    return copy;
  });
  return { ...game, turns };
}

/**
 * Return the frames of a game: frame 0 is the start, frame n the position after turn n.
 * Each is {turn, steps, score, fault}.
 * `steps` has one or more of {board, touched}: the boards on the way to that position, in order.
 * `score` has the two numbers of the score line, or is null; `fault` has the squares of an illegal move.
 * Without the game's rules `steps` is empty.
 */
export function expand(game) {
  let board = game.start;
  let score = game.score || null;
  const width = board ? board[0].length : 0;
  const frames = [{ turn: null, steps: board ? [{ board, touched: null }] : [], score, fault: [] }];
  for (const turn of game.turns) {
    const steps = [];
    for (const [changes, short] of turn.s || []) {
      board = changed(board, changes);
      steps.push({ board, touched: touchedOf(short, width) });
    }
    if (board && !steps.length) steps.push({ board, touched: null });
    score = turn.g || score;
    const fault = board ? (turn.q || []).map((square) => [Math.floor(square / width), square % width]) : [];
    frames.push({ turn, steps, score, fault });
  }
  return frames;
}

/**
 * Return what each player's bot noted at its latest turn up to turn n: [{turn, notes}, {turn, notes}].
 * `turn` is 0 if it had no turn, `notes` is null if it noted nothing.
 */
export function notesAt(frames, n) {
  return [0, 1].map((player) => {
    let turn = n;
    while (turn > 0 && (frames[turn].turn.p !== player || frames[turn].turn.k === "pass")) turn--;
    return { turn, notes: frames[turn].turn?.v || null };
  });
}

/** Return the points [turn, value for the first player] of a player's own estimates. */
export function estimatesOf(game, player) {
  return game.turns.flatMap(({ p, v }, n) => {
    if (p !== player || v?.estimate === undefined) return [];
    return [[n + 1, player ? -v.estimate : v.estimate]];
  });
}

/** Return a player's tags of the match. */
export function tagsOf(game, player) {
  const tags = game.turns.flatMap(({ p, v }) => (p === player && v?.tags) || []);
  return [...new Set(tags)].slice(0, MOST_TAGS);
}

/** Return both players' clocks after turn n: {used, left} in ms; `used` is the last turn's time, or null. */
export function clocksAt(game, frames, n) {
  return [0, 1].map((player) => {
    let last = null;
    for (let i = n; i > 0 && !last; i--) {
      const turn = frames[i].turn;
      if (turn.p === player && turn.t !== undefined) last = turn;
    }
    const whole = game.limit.kind === "budget" ? game.limit.ms : null;
    return { used: last ? last.t : null, left: last && last.l !== undefined ? last.l : whole };
  });
}

/** Return the player on turn after turn n, or null if that was the last turn. */
export function onTurn(frames, n) {
  const next = frames.slice(n + 1).find((frame) => frame.turn.k !== "pass");
  return next ? next.turn.p : null;
}

/** Return milliseconds as text for people. */
export function duration(ms) {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${Number((ms / 1000).toFixed(2))} s`;
  return `${Math.floor(ms / 60000)}:${((ms % 60000) / 1000).toFixed(1).padStart(4, "0")} min`;
}

/** Return the text of a turn: the move, "Skip", or the code in brackets with the move that was tried. */
export function turnText(turn) {
  if (turn.k === "pass") return "Skip";
  if (!turn.k) return turn.m;
  return `(${turn.c})` + (turn.m ? ` ${turn.m}` : "");
}
