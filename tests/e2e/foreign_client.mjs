// A getstep client for the game hop, written from protocol.md (version 1) alone. No packages.
//
//   node client.mjs --host 127.0.0.1 --port 7811 --team 1 --token aaaa-bbbb-cccc
//
// options: --purpose check    try the login only
//          --drop-after N     debug: destroy the socket right after the Nth answer, then come back
//          --drop-open N      debug: destroy the socket while question N+1 is open, then come back
//          --pause-ms N       debug: think this long before each answer
//          --away-ms N        debug: stay away this long after a drop;  --give-up-ms N   without a welcome (60000)
// exit code: 0 after goodbye "contest_over" with retry_ms nil, 1 otherwise

import net from "node:net";
import { createHmac } from "node:crypto";
import { parseArgs } from "node:util";

const VERSION = 1;
const SERVER_FRAME_MAX = 16384;
const MAX_DEPTH = 8, MAX_ARRAY = 128, MAX_MAP = 32, MAX_STRING = 2000;

// ---------------------------------------------------------------- msgpack (nil, boolean, integer, float, str, array, map)

function encode(value) {
  if (value === null || value === undefined) return Buffer.from([0xc0]);
  if (typeof value === "boolean") return Buffer.from([value ? 0xc3 : 0xc2]);
  if (typeof value === "number") {
    if (!Number.isInteger(value) || value < -32 || value > 0x7fffffff) throw new Error(`cannot encode ${value}`);
    if (value < 128) return Buffer.from([value & 0xff]);
    const b = Buffer.alloc(5, 0xd2);
    b.writeInt32BE(value, 1);
    return b;
  }
  if (typeof value === "string") {
    const text = Buffer.from(value, "utf8");
    return Buffer.concat([head(text.length, 0xa0, 32, 0xda), text]);
  }
  if (Array.isArray(value)) return Buffer.concat([head(value.length, 0x90, 16, 0xdc), ...value.map(encode)]);
  const entries = Object.entries(value);
  return Buffer.concat([head(entries.length, 0x80, 16, 0xde), ...entries.flat().map(encode)]);
}

function head(n, short, limit, code16) {
  return n < limit ? Buffer.from([short | n]) : Buffer.from([code16, n >> 8, n & 0xff]);
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decode(buf) {
  let at = 0;
  const take = (n) => {
    if (at + n > buf.length) throw new Error("msgpack: cut short");
    at += n;
    return at - n;
  };
  const uint = (n) => buf.readUIntBE(take(n), n);
  const int = (n) => buf.readIntBE(take(n), n);
  const str = (n) => {
    if (n > MAX_STRING) throw new Error("msgpack: string too long");
    const from = take(n);
    return utf8.decode(buf.subarray(from, from + n));
  };
  const array = (n, depth) => {
    if (n > MAX_ARRAY || depth > MAX_DEPTH) throw new Error("msgpack: array too large or too deep");
    return Array.from({ length: n }, () => value(depth));
  };
  const map = (n, depth) => {
    if (n > MAX_MAP || depth > MAX_DEPTH) throw new Error("msgpack: map too large or too deep");
    const out = Object.create(null);
    for (let i = 0; i < n; i++) {
      const key = value(depth);
      if (typeof key !== "string" || key in out) throw new Error("msgpack: bad or duplicate key");
      out[key] = value(depth);
    }
    return out;
  };
  function value(depth) {
    const c = uint(1);
    if (c < 0x80) return c;
    if (c < 0x90) return map(c & 15, depth + 1);
    if (c < 0xa0) return array(c & 15, depth + 1);
    if (c < 0xc0) return str(c & 31);
    if (c >= 0xe0) return c - 256;
    switch (c) {
      case 0xc0: return null;
      case 0xc2: return false;
      case 0xc3: return true;
      case 0xca: return buf.readFloatBE(take(4));
      case 0xcb: return buf.readDoubleBE(take(8));
      case 0xcc: return uint(1);
      case 0xcd: return uint(2);
      case 0xce: return uint(4);
      case 0xcf: return Number(buf.readBigUInt64BE(take(8)));
      case 0xd0: return int(1);
      case 0xd1: return int(2);
      case 0xd2: return int(4);
      case 0xd3: return Number(buf.readBigInt64BE(take(8)));
      case 0xd9: return str(uint(1));
      case 0xda: return str(uint(2));
      case 0xdb: return str(uint(4));
      case 0xdc: return array(uint(2), depth + 1);
      case 0xdd: return array(uint(4), depth + 1);
      case 0xde: return map(uint(2), depth + 1);
      case 0xdf: return map(uint(4), depth + 1);
      default: throw new Error(`msgpack: type byte 0x${c.toString(16)} must not appear`);
    }
  }
  const result = value(0);
  if (at !== buf.length) throw new Error("msgpack: bytes after the map");
  if (result === null || typeof result !== "object" || Array.isArray(result)) throw new Error("msgpack: not a map");
  return result;
}

function frame(message) {
  const body = encode(message);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length);
  return Buffer.concat([length, body]);
}

// ---------------------------------------------------------------- hop

const DIRECTIONS = [[0, 1], [0, -1], [1, 0], [-1, 0]];

function chooseHop(board, isBlack) {
  const mine = isBlack ? 1 : 2;
  const cell = (r, c) => (r < 0 || r > 7 || c < 0 || c > 7 ? -1 : board[r][c]);
  const worth = (c) => {                              // columns travelled, the home columns almost alike
    const x = isBlack ? c : 7 - c;
    return x < 6 ? 10 * x : 60 + (x - 6);
  };
  const moves = [];
  for (let r = 0; r < 8; r++) for (let c = 0; c < 8; c++) {
    if (board[r][c] !== mine) continue;
    for (const [dr, dc] of DIRECTIONS) if (cell(r + dr, c + dc) === 0) moves.push([[r, c], [r + dr, c + dc]]);
    const seen = new Set([8 * r + c]);
    const queue = [[[r, c]]];
    while (queue.length) {                            // chains of hops, each square at most once
      const path = queue.shift();
      const [y, x] = path.at(-1);
      for (const [dr, dc] of DIRECTIONS) {
        const to = [y + 2 * dr, x + 2 * dc];
        if (cell(y + dr, x + dc) <= 0 || cell(...to) !== 0 || seen.has(8 * to[0] + to[1])) continue;
        if (y + dr === r && x + dc === c) continue;   // not over its own starting square
        seen.add(8 * to[0] + to[1]);
        moves.push([...path, to]);
        queue.push([...path, to]);
      }
    }
  }
  const gain = (path) => worth(path.at(-1)[1]) - worth(path[0][1]) + Math.random() / 2;
  return moves.map((m) => [gain(m), m]).sort((a, b) => b[0] - a[0])[0]?.[1];
}

// ---------------------------------------------------------------- the conversation

const { values: opt } = parseArgs({ options: {
  host: { type: "string", default: "127.0.0.1" }, port: { type: "string", default: "7777" },
  team: { type: "string" }, token: { type: "string" }, purpose: { type: "string", default: "play" },
  "drop-after": { type: "string" }, "drop-open": { type: "string" },
  "pause-ms": { type: "string", default: "0" }, "away-ms": { type: "string", default: "0" },
  "give-up-ms": { type: "string", default: "60000" } } });

const print = (...words) => console.log(new Date().toISOString().slice(11, 23), `team ${opt.team}`, ...words);
const finish = (code, why) => { print(`exit ${code}: ${why}`); process.exit(code); };

let pause = 200;                                      // before the next attempt; grows to 5 s, reset by welcome
let lastWelcome = Date.now();
let answers = 0;
let dropped = false;

function comeBack(delay) {
  if (delay === undefined) {
    delay = pause;
    pause = Math.min(2 * pause, 5000);
  }
  if (Date.now() - lastWelcome > Number(opt["give-up-ms"])) finish(1, "no server for too long");
  print(`connecting again in ${delay} ms`);
  setTimeout(connect, delay);
}

function connect() {
  const socket = net.connect({ host: opt.host, port: Number(opt.port), noDelay: true, keepAlive: true, keepAliveInitialDelay: 10000 });
  let state = "CONNECTED";                            // then DECIDING, LOBBY, MATCH, TURN, CLOSED
  let received = Buffer.alloc(0);
  let question = null;                                // the open get_step, until answered or closed by the server
  let thinking = null;
  let next;                                           // delay before coming back, if the server or a debug option gave one
  const loginTimer = setTimeout(() => fault("no welcome within 30 s"), 30000);

  const close = () => { state = "CLOSED"; question = null; clearTimeout(thinking); socket.destroy(); };
  const fault = (why) => { print(`fault of the server: ${why}`); close(); };
  const drop = (why) => { dropped = true; next = Number(opt["away-ms"]); print(`debug: dropping the connection ${why}`); close(); };

  socket.on("connect", () => print(`connected to ${opt.host}:${opt.port}`));
  socket.on("error", (e) => print(`connection: ${e.code ?? e.message}`));
  socket.on("close", () => {
    clearTimeout(loginTimer);
    if (state !== "CLOSED") print("the connection ended without goodbye");
    close();
    comeBack(next);
  });
  socket.on("data", (chunk) => {
    received = Buffer.concat([received, chunk]);
    try {
      while (state !== "CLOSED" && received.length >= 4) {
        const n = received.readUInt32BE(0);
        if (n < 1 || n > SERVER_FRAME_MAX) throw new Error(`a frame of ${n} bytes`);
        if (received.length < 4 + n) break;
        const message = decode(received.subarray(4, 4 + n));
        received = received.subarray(4 + n);
        take(message);
      }
    } catch (e) {
      fault(e.message);
    }
    // answer only when all that has arrived is read: a later frame may have closed the question
    clearTimeout(thinking);
    if (question) thinking = setTimeout(answer, Number(opt["pause-ms"]));
  });

  function need(...states) {
    if (!states.includes(state)) throw new Error(`a message not allowed in state ${state}`);
  }

  function take(m) {
    switch (m.type) {
      case "hello": {
        need("CONNECTED");
        print(`hello from "${m.contest}" (${m.server}), versions ${m.versions}`);
        if (!m.versions.includes(VERSION)) finish(1, `the server speaks versions ${m.versions}, this client only ${VERSION}`);
        const mac = createHmac("sha256", Buffer.from(opt.token, "utf8")).update(m.nonce, "ascii").digest("hex");
        socket.write(frame({ type: "join", version: VERSION, team: Number(opt.team), mac, client: "proto client.mjs", purpose: opt.purpose }));
        state = "DECIDING";
        break;
      }
      case "welcome":
        need("DECIDING");
        clearTimeout(loginTimer);
        pause = 200;
        lastWelcome = Date.now();
        state = "LOBBY";
        print(`welcome, ${m.name}; lag ${m.lag_ms} ms; games ${JSON.stringify(m.games)}`);
        break;
      case "start":
        need("LOBBY");
        state = "MATCH";
        print(`start of match ${m.match}: ${m.game} as ${m.is_black ? "Black" : "White"} against ${m.opponent},`,
              `${m.time_ms} ms per ${m.time_kind}${m.resumed ? ", resumed" : ""}`);
        break;
      case "get_step":
        need("MATCH", "TURN");
        state = "TURN";
        question = m;
        print(`get_step ${m.id}, move ${m.move_number}, ${m.time_left_ms} ms left, last move ${JSON.stringify(m.last_move)}`);
        break;
      case "penalty":
        need("MATCH", "TURN");
        if (question?.id === m.id) question = null;
        if (!question) state = "MATCH";
        print(`penalty for ${m.id}: ${m.reason} (${m.detail})`);
        break;
      case "end":
        need("MATCH", "TURN");
        question = null;
        state = "LOBBY";
        print(`end of match ${m.match}: ${m.result}, ${m.reason} (${m.detail}), scores ${JSON.stringify(m.scores)}`);
        break;
      case "goodbye":
        print(`goodbye: ${m.reason} (${m.detail}), retry_ms ${m.retry_ms}`);
        close();
        if (m.retry_ms === null) finish(m.reason === "contest_over" ? 0 : 1, m.reason);
        next = m.retry_ms;
        break;
      default:
        throw new Error(`unknown type ${JSON.stringify(m.type)}`);
    }
  }

  function answer() {
    const q = question;
    if (!q) return;
    if (!dropped && opt["drop-open"] !== undefined && answers >= Number(opt["drop-open"])) return drop(`with question ${q.id} open`);
    question = null;
    state = "MATCH";
    let reply;
    try {
      const move = chooseHop(q.board, q.is_black);
      reply = move ? { type: "step", id: q.id, move } : { type: "raised", id: q.id, error: "no move found" };
    } catch (e) {
      reply = { type: "raised", id: q.id, error: String(e).slice(0, 500) };
    }
    socket.write(frame(reply));
    answers++;
    print(`${reply.type} ${q.id} ${JSON.stringify(reply.move ?? reply.error)}`);
    if (!dropped && answers === Number(opt["drop-after"])) drop(`after answer ${answers}`);
  }
}

if (opt.team === undefined || opt.token === undefined) finish(1, "--team and --token are needed");
connect();
