// getstep for JavaScript: play in a getstep bot contest. You write one function, which returns a move.
//
//     import { play } from "./getstep.mjs";
//
//     function getStep(board, isBlack) {
//       return [[4, 2], [4, 3]];
//     }
//
//     play(getStep);
//
// This file is all you need, with Node 18 or newer; getstep.d.mts beside it has the types. To play:
//
//     node my_bot.mjs --host 192.168.1.10 --team 7 --token kq3m-x7fd-29pt
//
// Your function runs in a thread of its own, so that the connection is served while it thinks. For that, your file is
// loaded twice: in the main thread, and in the thread in which getStep is called.
//
// SPDX-License-Identifier: MIT

import { createHash, createHmac, randomBytes, randomInt, timingSafeEqual } from "node:crypto";
import { createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { readFileSync, writeSync } from "node:fs";
import inspector from "node:inspector";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import tls from "node:tls";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

export const VERSION = "0.1.0";

// --- limits: protocol.md, "Limits" ------------------------------------------------------------------------------------

const PROTOCOL_VERSION = 1;
const MAX_CLIENT_FRAME = 4096;
const MAX_SERVER_FRAME = 16384;
const MAX_DEPTH = 8;
const MAX_ARRAY = 128;
const MAX_MAP = 32;
const MAX_TEXT = 500;
const MAX_NAME = 64;
const MAX_OPENING = 20;
const MAX_TEXT_BYTES = 2000;
const MAX_ID = 2 ** 31 - 1;
const MAX_MS = 86_400_000;
const MAX_CELL = 2 ** 31 - 1;
const NONCE_DIGITS = 32;
const MAC_DIGITS = 64;
const NOTES_BYTES = 3584; // of 4,096 of a frame: the longest move of a game takes 400
const MAX_SAID = 1000; // characters
const MAX_DRAWINGS = 64;
const MAX_SQUARES = 64;
const MAX_ARROW = 16; // squares
const MAX_SIDE = 128; // rows and columns
const MAX_LABEL = 8;
const MAX_TAGS = 8; // of a move
const MAX_TAG = 24;
const SHAPES = ["mark", "arrow", "region", "domino"];
const COLORS = ["black", "white", "blue", "orange", "red", "green", "yellow", "purple", "grey"];

// --- times, as those of the Python SDK, in milliseconds ------------------------------------------------------------------

const CONNECT_MS = 5000; // for each address of the host's name
const KEEP_ALIVE_MS = 5000; // before the first probe; the 10 of Node.js then take 10 s
const SILENCE_MS = 8000; // after an answer, before the host's computer is tried
const HOST_TRIES = 2; // of CONNECT_MS each
const HELLO_MS = 5000; // from the open connection to `hello`
const WELCOME_MS = 10_000; // a wrong login is answered after up to 8 s
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5000;
const SHORTEST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 60_000;
const STEADY_MS = 10_000; // an unproved connection makes pauses short again only if it lasted that long
const JITTER = 0.1;
const WARM_UP_QUESTIONS = 50; // 5 ms
const LAST_CALL_MS = 1000; // after the contest, for a function that is still running
const LAST_THREAD_MS = 500; // and then for its thread
const RESTART_SECONDS = 10; // after the limit of a question: the function is taken for hung
const LONGEST_RESTART_SECONDS = 86_400;
const TICK_MS = 100; // between two looks at a call that is running
const STALLED_MISSES = 3;
const BOARDS_DRAWN = 3;
const READ_BYTES = 65_536; // Node reads so much at once
const MAX_UNSENT = 1 << 20; // bytes: a server that does not read its answers is given up

// --- errors -----------------------------------------------------------------------------------------------------------

/** What the server sent is against the protocol. `code` is a hostile code of protocol.md. */
export class ProtocolError extends Error {
  constructor(code, detail) {
    super(`${code}: ${detail}`);
    this.code = code;
  }
}

/** A move cannot be sent. */
export class Unsendable extends Error {}

/** The program ends with `exitCode`, after a message to its author. */
class Stop extends Error {
  constructor(exitCode, message) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** A connection has failed; the message says why, for the bot's author. */
class ConnectionFailed extends Error {}

/** The name of the host does not resolve. */
class Unreachable extends Error {}

// --- text -------------------------------------------------------------------------------------------------------------

const INVISIBLE = /(?! )[\p{C}\p{Z}]/gu;
const SHORT_ESCAPES = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Return `text` with control, bidi and other invisible characters escaped, so that it is safe to print. */
export function escaped(text) {
  return text.replace(INVISIBLE, (character) => {
    const point = character.codePointAt(0);
    const hex = point.toString(16);
    if (SHORT_ESCAPES[character]) return SHORT_ESCAPES[character];
    if (point < 0x100) return `\\x${hex.padStart(2, "0")}`;
    return point < 0x10000 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
  });
}

/** Return `text` as valid UTF-8 of at most `most` characters, for a text field on the wire. */
function sendableText(text, most = MAX_TEXT) {
  const clean = text.replace(/\p{Surrogate}/gu, (half) => `\\u${half.charCodeAt(0).toString(16)}`);
  return [...clean.slice(0, 2 * most)].slice(0, most).join("");
}

/** A float of the wire, which is not an integer even if its value is whole. */
export class Float {
  constructor(value) {
    this.value = value;
  }
}

const isList = (value) => Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));

/** Return a value on one line and shortened. Never throws. */
function shortRepr(value) {
  let left = 60; // values
  const repr = (item, depth) => {
    left -= 1;
    if (typeof item === "string") return JSON.stringify(escaped(sendableText(item, 120)));
    if (item instanceof Float) return String(item.value);
    if (item === null || typeof item !== "object") return String(item).slice(0, 120);
    const isArray = isList(item);
    const entries = isArray ? Array.from(item.slice(0, 12)) : Object.entries(item).slice(0, 12);
    if (depth === 0 || left <= 0) return isArray ? "[...]" : "{...}";
    const parts = entries.map((entry) => (isArray ? repr(entry, depth - 1) : `${entry[0]}: ${repr(entry[1], depth - 1)}`));
    if ((isArray ? item.length : Object.keys(item).length) > 12) parts.push("...");
    return isArray ? `[${parts.join(", ")}]` : `{${parts.join(", ")}}`;
  };
  let text;
  try {
    text = escaped(repr(value, 4));
  } catch {
    text = "a value that cannot be shown";
  }
  return text.length <= 200 ? text : `${sendableText(text, 200)}...`;
}

/** Return a time in milliseconds for people: "0.8 ms", "35 ms", "0.35 s", "20 s". */
export function duration(ms) {
  if (ms > 0 && ms < 0.1) return "under 0.1 ms";
  if (ms > 0 && ms < 100) return `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
  return `${(ms / 1000).toFixed(2).replace(/\.?0+$/, "")} s`;
}

const withoutLastPoint = (text) => text.replace(/\.+$/, "");

// --- signatures -------------------------------------------------------------------------------------------------------

const hmac = (token, message) => createHmac("sha256", Buffer.from(token, "utf8")).update(message, "utf8").digest("hex");

/** Return the client's signature of the nonce in `hello`, and of the address that it has dialled, if `join` has it. */
export const sign = (token, nonce, dialled = null) => hmac(token, dialled === null ? nonce : `getstep login v2:${nonce}${dialled}`);

/** Return the server's proof that it knows the token. The text before the nonces is no hexadecimal digits, so that a
 *  client's signature can never be passed off as a proof. */
export const serverProof = (token, hello, join, dialled = null) =>
  hmac(token, dialled === null ? `getstep server proof v1:${hello}${join}` : `getstep server proof v2:${hello}${join}${dialled}`);

/** Return the server's proof of its fencing number and of the certificate with it. */
export const fenceProof = (token, hello, join, { number, certificate }) =>
  hmac(token, `getstep fence v1:${hello}${join}${number}:${certificate}`);

/** Return the address of a connected socket's peer as in `join`: without the zone, which only this computer knows. */
export const dialledAddress = ({ remoteAddress, remotePort }) => {
  if (remoteAddress === undefined) throw new ConnectionFailed("the server closed the connection");
  return addressText({ host: remoteAddress.split("%")[0], port: remotePort });
};

/** Return a token that a server has made in lower case with two dashes; any other token unchanged. */
export function canonicalToken(token) {
  const letters = token.replace(/[-\s]/g, "").toLowerCase();
  if (!/^[abcdefghjkmnpqrstuvwxyz23456789]{12}$/.test(letters)) return token;
  return `${letters.slice(0, 4)}-${letters.slice(4, 8)}-${letters.slice(8)}`;
}

// --- msgpack, as far as protocol.md uses it -----------------------------------------------------------------------------

/** Writes values as msgpack, and throws Unsendable for what the server would refuse. */
class Encoder {
  constructor() {
    this.parts = [];
  }

  number(type, method, value, bytes) {
    const part = Buffer.alloc(1 + bytes);
    part[0] = type;
    part[method](value, 1);
    this.parts.push(part);
  }

  length(size, small, below, wide) {
    if (size < below) this.parts.push(Buffer.from([small | size]));
    else this.number(wide, "writeUInt16BE", size, 2);
  }

  integer(value) {
    if (value >= -32 && value < 128) this.parts.push(Buffer.from([Number(value) & 0xff]));
    else if (value >= 0 && value <= 0xff) this.number(0xcc, "writeUInt8", Number(value), 1);
    else if (value >= 0 && value <= 0xffff) this.number(0xcd, "writeUInt16BE", Number(value), 2);
    else if (value >= 0 && value <= 0xffffffff) this.number(0xce, "writeUInt32BE", Number(value), 4);
    else if (value >= 0) this.number(0xcf, "writeBigUInt64BE", BigInt(value), 8);
    else if (value >= -0x80) this.number(0xd0, "writeInt8", Number(value), 1);
    else if (value >= -0x8000) this.number(0xd1, "writeInt16BE", Number(value), 2);
    else if (value >= -0x80000000) this.number(0xd2, "writeInt32BE", Number(value), 4);
    else this.number(0xd3, "writeBigInt64BE", BigInt(value), 8);
  }

  text(value) {
    if (/\p{Surrogate}/u.test(value)) throw new Unsendable("a text that is not UTF-8");
    const data = Buffer.from(value, "utf8");
    if (data.length > MAX_TEXT_BYTES)
      throw new Unsendable(`a text of ${data.length} bytes, expected at most ${MAX_TEXT_BYTES}`);
    if (data.length >= 32 && data.length < 256) this.parts.push(Buffer.from([0xd9, data.length]));
    else this.length(data.length, 0xa0, 32, 0xda);
    this.parts.push(data);
  }

  value(value, depth) {
    if (value === null || value === undefined) this.parts.push(Buffer.from([0xc0]));
    else if (typeof value === "boolean") this.parts.push(Buffer.from([value ? 0xc3 : 0xc2]));
    else if (typeof value === "string") this.text(value);
    else if (value instanceof Float) this.number(0xcb, "writeDoubleBE", value.value, 8);
    else if (typeof value === "bigint") this.big(value);
    else if (typeof value === "number") {
      if (Number.isSafeInteger(value)) this.integer(value);
      else this.number(0xcb, "writeDoubleBE", value, 8);
    } else if (typeof value === "object") this.container(value, depth);
    else throw new Unsendable(`a ${typeof value}`);
  }

  big(value) {
    if (value >= 2n ** 64n || value < -(2n ** 63n)) throw new Unsendable("an integer of more than 64 bits");
    this.integer(value);
  }

  container(value, depth) {
    if (depth >= MAX_DEPTH) throw new Unsendable(`more than ${MAX_DEPTH} containers inside each other`);
    const isArray = isList(value);
    if (!isArray && value[Symbol.iterator]) throw new Unsendable("a Map, a Set or another iterable, expected an array");
    const size = isArray ? value.length : Object.keys(value).length;
    const most = isArray ? MAX_ARRAY : MAX_MAP;
    if (size > most) throw new Unsendable(`${isArray ? "an array" : "a map"} of ${size} elements, expected at most ${most}`);
    const entries = isArray ? Array.from(value) : Object.entries(value);
    this.length(size, isArray ? 0x90 : 0x80, 16, isArray ? 0xdc : 0xde);
    for (const entry of entries) {
      if (!isArray) this.text(entry[0]);
      this.value(isArray ? entry : entry[1], depth + 1);
    }
  }
}

/** Return one frame with its header. */
export function encodeFrame(message) {
  const encoder = new Encoder();
  encoder.value(message, 0);
  const body = Buffer.concat(encoder.parts);
  if (body.length > MAX_CLIENT_FRAME)
    throw new Unsendable(`a frame of ${body.length} bytes, expected at most ${MAX_CLIENT_FRAME}`);
  const header = Buffer.alloc(4);
  header.writeUInt32BE(body.length);
  return Buffer.concat([header, body]);
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const NUMBERS = {
  0xca: ["readFloatBE", 4],
  0xcb: ["readDoubleBE", 8],
  0xcc: ["readUInt8", 1],
  0xcd: ["readUInt16BE", 2],
  0xce: ["readUInt32BE", 4],
  0xcf: ["readBigUInt64BE", 8],
  0xd0: ["readInt8", 1],
  0xd1: ["readInt16BE", 2],
  0xd2: ["readInt32BE", 4],
  0xd3: ["readBigInt64BE", 8],
};
const LENGTHS = {
  0xd9: ["text", 1],
  0xda: ["text", 2],
  0xdb: ["text", 4],
  0xdc: ["array", 2],
  0xdd: ["array", 4],
  0xde: ["map", 2],
  0xdf: ["map", 4],
};
const CLAIMS = { text: ["a string", MAX_TEXT_BYTES], array: ["an array", MAX_ARRAY], map: ["a map", MAX_MAP] };

/** Decodes one body. First the headers alone are walked, without recursion: after that, the depth and all claimed lengths
 *  are known to be small, and decoding may recurse. */
class Decoder {
  constructor(body) {
    this.body = body;
    this.at = 0;
    this.type = 0;
    this.size = 0;
  }

  decode() {
    this.walk();
    this.at = 0;
    const value = this.next(0);
    if (this.at !== this.body.length) throw new ProtocolError("bad_msgpack", "bytes after the end of the map");
    if (value === null || typeof value !== "object" || Array.isArray(value) || value instanceof Float)
      throw new ProtocolError("not_a_map", "something else, expected a map");
    return value;
  }

  skip(bytes) {
    if (this.body.length - this.at < bytes) throw new ProtocolError("bad_msgpack", "the value is cut short");
    this.at += bytes;
    return this.at - bytes;
  }

  /** Read the header at the position: `type`, and `size`, the length if there is one. Return the kind. A board has 64
   *  values or more, so this makes no object for each. */
  header() {
    const type = this.body[this.skip(1)];
    this.type = type;
    this.size = 0;
    if (type < 0x80 || type >= 0xe0 || type === 0xc0 || type === 0xc2 || type === 0xc3) return "small";
    if (type < 0x90) return this.claim("map", type & 0x0f);
    if (type < 0xa0) return this.claim("array", type & 0x0f);
    if (type < 0xc0) return this.claim("text", type & 0x1f);
    if (NUMBERS[type]) {
      this.size = NUMBERS[type][1];
      return "number";
    }
    if (!LENGTHS[type])
      throw new ProtocolError("bad_msgpack", `type byte 0x${type.toString(16)}: bin and ext are not used here`);
    const [kind, bytes] = LENGTHS[type];
    const from = this.skip(bytes);
    return this.claim(kind, this.body.readUIntBE(from, bytes));
  }

  claim(kind, size) {
    const [what, most] = CLAIMS[kind];
    if (size > most) throw new ProtocolError("too_large", `${what} that claims a length of ${size}, expected at most ${most}`);
    this.size = size;
    return kind;
  }

  walk() {
    const above = []; // values still to come, of the containers around the innermost
    let left = 1;
    while (this.at < this.body.length) {
      const type = this.body[this.at];
      const isContainer = (type >= 0x80 && type < 0xa0) || (type >= 0xdc && type <= 0xdf);
      if (isContainer && above.length >= MAX_DEPTH)
        throw new ProtocolError("too_deep", `more than ${MAX_DEPTH} containers inside each other`);
      const kind = this.header();
      const { size } = this;
      left -= 1;
      if (!isContainer) this.at = Math.min(this.at + size, this.body.length);
      else if (size > 0) {
        above.push(left);
        left = kind === "map" ? 2 * size : size;
      }
      while (left === 0) {
        if (above.length === 0) return;
        left = above.pop();
      }
    }
  }

  next(depth) {
    const kind = this.header();
    const { type, size } = this;
    if (kind === "small") return type < 0x80 ? type : type >= 0xe0 ? type - 256 : type === 0xc0 ? null : type === 0xc3;
    if (kind === "number") return this.number(type, this.skip(size));
    if (kind === "text") return this.text(this.skip(size), size);
    if (depth >= MAX_DEPTH) throw new ProtocolError("too_deep", "too many containers inside each other");
    if (kind === "map") return this.map(size, depth);
    const items = [];
    for (let n = 0; n < size; n += 1) items.push(this.next(depth + 1));
    return items;
  }

  number(type, from) {
    const found = this.body[NUMBERS[type][0]](from);
    if (type <= 0xcb) return new Float(found);
    const safe = typeof found === "number" || (found <= Number.MAX_SAFE_INTEGER && found >= Number.MIN_SAFE_INTEGER);
    return safe ? Number(found) : found;
  }

  text(from, size) {
    let at = from;
    while (at < from + size && this.body[at] < 0x80) at += 1;
    if (at === from + size) return this.body.latin1Slice(from, at); // ASCII: a key takes a tenth of the time
    try {
      return UTF8.decode(this.body.subarray(from, from + size));
    } catch {
      throw new ProtocolError("bad_msgpack", "a string that is not UTF-8");
    }
  }

  map(size, depth) {
    const made = Object.create(null);
    let problem = null; // an error inside the rest comes first, as it does in the Python SDK
    for (let n = 0; n < size; n += 1) {
      const key = this.next(depth + 1);
      const value = this.next(depth + 1);
      if (typeof key !== "string") problem ??= new ProtocolError("bad_key", `a key ${shortRepr(key)}, expected a string`);
      else if (key in made) problem ??= new ProtocolError("duplicate_key", `the key ${shortRepr(key)} twice`);
      else made[key] = value;
    }
    if (problem) throw problem;
    return made;
  }
}

/** Return the map in one body. */
export const decodeBody = (body) => new Decoder(body).decode();

/** Splits a stream of bytes into the bodies of frames. */
export class FrameReader {
  #buffer = Buffer.alloc(0);

  feed(data) {
    this.#buffer = this.#buffer.length > 0 ? Buffer.concat([this.#buffer, data]) : data;
  }

  /** Return the next complete body; null if more bytes are needed. */
  next() {
    const buffer = this.#buffer;
    if (buffer.length < 4) return null;
    const length = buffer.readUInt32BE(0);
    if (length === 0) throw new ProtocolError("empty_frame", "a frame of 0 bytes, expected at least 1");
    if (length > MAX_SERVER_FRAME)
      throw new ProtocolError("oversize_frame", `a frame of ${length} bytes, expected at most ${MAX_SERVER_FRAME}`);
    if (buffer.length < 4 + length) return null;
    this.#buffer = buffer.subarray(4 + length);
    return buffer.subarray(4, 4 + length);
  }

  get partial() {
    return this.#buffer.length > 0;
  }
}

// --- messages of the server ---------------------------------------------------------------------------------------------

function wrong(name, value, expected) {
  throw new ProtocolError("bad_field", `${name} is ${shortRepr(value)}, expected ${expected}`);
}
const isInteger = (value) => (typeof value === "number" && Number.isInteger(value)) || typeof value === "bigint";

const integer = (lowest, highest) => (name, value) => {
  if (!isInteger(value) || value < lowest || value > highest) wrong(name, value, `a whole number from ${lowest} to ${highest}`);
};
const boolean = (name, value) => {
  if (typeof value !== "boolean") wrong(name, value, "true or false");
};
const text = (most) => (name, value) => {
  if (typeof value !== "string" || [...value].length > most) wrong(name, value, `text of at most ${most} characters`);
};
const hex = (digits) => (name, value) => {
  if (typeof value !== "string" || value.length !== digits || !/^[0-9a-f]*$/.test(value))
    wrong(name, value, `${digits} lower-case hexadecimal digits`);
};
const oneOf = (...allowed) => (name, value) => {
  if (!allowed.includes(value)) wrong(name, value, `one of ${allowed.join(", ")}`);
};
const orNil = (check) => (name, value) => {
  if (value !== null) check(name, value);
};
const arrayOf = (check) => (name, value) => {
  if (!Array.isArray(value)) wrong(name, value, "an array");
  for (const item of value) check(name, item);
};
const isMap = (value) => value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof Float);
const options = (name, value) => {
  if (!isMap(value)) wrong(name, value, "a map");
  for (const [option, setting] of Object.entries(value)) integer(-MAX_ID, MAX_ID)(shortRepr(option), setting);
};
const cell = integer(-MAX_CELL - 1, MAX_CELL);
const scores = (name, value) => {
  if (!Array.isArray(value) || value.length !== 2) wrong(name, value, "one for each player");
};
const opening = (name, value) => {
  if (!Array.isArray(value) || value.length < 1 || value.length > MAX_OPENING) wrong(name, value, `1 to ${MAX_OPENING} moves`);
};
const anything = () => {};

const TIMES = {
  time_kind: oneOf("move", "budget"),
  time_ms: integer(1, MAX_MS),
  "increment_ms?": orNil(integer(0, MAX_MS)),
};
const game = (name, value) => {
  if (!isMap(value)) wrong(name, value, "a map");
  check(GAME, value);
};

/** The fields of each message with their checks. A key with a question mark may be missing. */
const MESSAGES = {
  hello: {
    versions: arrayOf(integer(1, MAX_ID)),
    "dialled?": orNil(boolean),
    nonce: hex(NONCE_DIGITS),
    contest: text(MAX_NAME),
    server: text(MAX_NAME),
    "friendly?": orNil(boolean),
  },
  welcome: {
    team: integer(0, MAX_ID),
    name: text(MAX_NAME),
    lag_ms: integer(0, MAX_MS),
    games: arrayOf(game),
    "proof?": orNil(hex(MAC_DIGITS)),
    "fence?": orNil(integer(1, MAX_ID)),
    "fence_certificate?": orNil(hex(MAC_DIGITS)),
    "fence_proof?": orNil(hex(MAC_DIGITS)),
  },
  start: {
    match: integer(1, MAX_ID),
    game: text(MAX_NAME),
    options,
    is_black: boolean,
    opponent: text(MAX_NAME),
    ...TIMES,
    lag_ms: integer(0, MAX_MS),
    resumed: boolean,
    "friendly?": orNil(boolean),
    "opening?": orNil(opening),
  },
  get_step: {
    id: integer(1, MAX_ID),
    move_number: integer(1, MAX_ID),
    board: arrayOf(arrayOf(cell)),
    is_black: boolean,
    time_left_ms: integer(0, MAX_MS),
    last_move: anything,
  },
  penalty: { id: integer(1, MAX_ID), reason: text(MAX_NAME), detail: text(MAX_TEXT) },
  end: {
    match: integer(1, MAX_ID),
    result: oneOf("win", "draw", "loss", "void"),
    reason: text(MAX_NAME),
    detail: text(MAX_TEXT),
    scores: orNil(scores),
  },
  notice: { kind: text(MAX_NAME), match: orNil(integer(1, MAX_ID)), text: text(MAX_TEXT) },
  goodbye: { reason: text(MAX_NAME), detail: text(MAX_TEXT), retry_ms: orNil(integer(0, MAX_MS)) },
};

/** Return the fields as a list, which is faster to go through. */
const listed = (fields) =>
  Object.entries(fields).map(([key, test]) => ({ name: key.replace("?", ""), isOptional: key.endsWith("?"), test }));

function check(fields, map) {
  for (const { name, isOptional, test } of fields) {
    if (name in map) test(name, map[name]);
    else if (!isOptional) throw new ProtocolError("bad_field", `${name} is missing`);
    else map[name] = null;
  }
}

const GAME = listed({ game: text(MAX_NAME), options, ...TIMES });
const FIELDS = Object.fromEntries(Object.entries(MESSAGES).map(([type, fields]) => [type, listed(fields)]));

/** Check a decoded map, and return it. An optional key that is missing becomes null. */
export function checkMessage(map) {
  const { type } = map;
  if (typeof type !== "string" || !Object.hasOwn(MESSAGES, type))
    throw new ProtocolError("unknown_type", `type is ${shortRepr(type ?? null)}`);
  check(FIELDS[type], map);
  return map;
}

/** The states of the conversation, and the messages that each allows: protocol.md, "The conversation". */
const ALLOWED = {
  greeting: ["hello"],
  login: [],
  deciding: ["welcome"],
  lobby: ["start", "notice"],
  match: ["get_step", "penalty", "end", "notice"],
  turn: ["penalty", "end", "notice"],
};
const STATE_AFTER = { hello: "login", welcome: "lobby", start: "match", get_step: "turn", penalty: "match", end: "lobby" };

/** The client's side of one conversation, without a socket. */
export class Conversation {
  #reader = new FrameReader();
  #unanswered = new Set(); // closed without an answer; one late answer to each is allowed
  state = "greeting";
  /** The id of the open question, 0 if none is open. */
  question = 0;
  /** The body of the latest question. */
  body = null;

  feed(data) {
    this.#reader.feed(data);
  }

  /** Return the next message; null if more bytes are needed. Throws a ProtocolError. */
  next() {
    const body = this.state === "closed" ? null : this.#reader.next();
    if (body === null) return null;
    const map = decodeBody(body);
    const known = typeof map.type === "string" && Object.hasOwn(MESSAGES, map.type);
    if (known && map.type !== "goodbye" && !ALLOWED[this.state].includes(map.type))
      throw new ProtocolError("out_of_order", `${map.type} in a state that does not allow it`);
    const message = checkMessage(map);
    this.#advance(message);
    if (message.type === "get_step") this.body = body;
    return message;
  }

  /** Return what is wrong with the end of the stream here, or null. */
  atEnd() {
    const isInside = this.state !== "closed" && this.#reader.partial;
    return isInside ? new ProtocolError("truncated_frame", "the connection closed inside a frame") : null;
  }

  joined() {
    this.state = "deciding";
  }

  /** Return true if an answer to a closed question may still be sent, as a sign of life. */
  mayAnswerLate(id) {
    return (this.state === "match" || this.state === "turn") && id !== this.question && this.#unanswered.has(id);
  }

  /** Note that an answer is sent, to the open question or late. */
  answered(id) {
    if (id === this.question) {
      this.question = 0;
      this.state = "match";
    } else {
      this.#unanswered.delete(id);
    }
  }

  #advance(message) {
    if (message.type === "notice") return;
    if (message.type === "get_step") {
      this.question = message.id;
    } else if (this.question !== 0) {
      this.#unanswered.add(this.question);
      if (this.#unanswered.size > 1000) this.#unanswered.delete(this.#unanswered.values().next().value);
      this.question = 0;
    }
    this.state = STATE_AFTER[message.type] ?? "closed";
  }
}

// --- the saved login and the settings ---------------------------------------------------------------------------------

const DEFAULT_PORT = 7777;
const FRIENDLY_PORT = 7780;

function loginFile() {
  if (process.env.GETSTEP_LOGIN_FILE) return process.env.GETSTEP_LOGIN_FILE;
  const home = os.homedir();
  if (process.platform === "win32")
    return path.join(process.env.APPDATA || path.join(home, "AppData", "Roaming"), "getstep", "login.json");
  if (process.platform === "darwin") return path.join(home, "Library", "Application Support", "getstep", "login.json");
  return path.join(process.env.XDG_CONFIG_HOME || path.join(home, ".config"), "getstep", "login.json");
}

/** Return the login that `getstep login` keeps; null if there is none. Throws Stop if there is a file that is none. */
function savedLogin() {
  const file = loginFile();
  let content;
  try {
    content = readFileSync(file);
  } catch (error) {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return null;
    throw new Stop(2, `The saved login cannot be read: ${error.message}.`);
  }
  try {
    if (content.length > 10_000) throw new Error("it is too long");
    const { host, port, team, token, seen, tls: way } = JSON.parse(content.toString("utf8"));
    if (![host, token].every((word) => typeof word === "string" && word !== "" && escaped(word) === word))
      throw new Error("a value of the wrong kind");
    if (!Number.isInteger(port) || port < 1 || port > 65535 || !Number.isInteger(team) || team < 0 || team > MAX_ID)
      throw new Error(`port ${port}, team ${team}`);
    return { host, port, team, token, seen: seen ?? null, tls: parseTls(way ?? "") };
  } catch (error) {
    throw new Stop(2, `${escaped(file)}: not a saved login (${escaped(error.message)}).\nType getstep login again, or remove the file.`);
  }
}

/** Return how to connect: "" without TLS, "roots" to have the certificate checked, or the pin of its key. */
function parseTls(value) {
  const way = String(value).trim().toLowerCase().replaceAll(":", "");
  if (way === "" || way === "0") return "";
  if (way === "roots" || way === "1") return "roots";
  if (/^[0-9a-f]{64}$/.test(way)) return way;
  throw new Stop(
    2,
    `The TLS setting is ${shortRepr(value)}, expected roots, or a pin: the 64 hexadecimal digits on the slip from the host.`,
  );
}

function parseInteger(name, value, lowest, highest) {
  const digits = String(value).trim();
  const number = /^[0-9]{1,12}$/.test(digits) ? Number(digits) : -1;
  if (number < lowest || number > highest)
    throw new Stop(2, `The ${name} is ${shortRepr(value)}, expected a whole number from ${lowest} to ${highest}.`);
  return number;
}

function checkedToken(token, what) {
  const word = typeof token === "string" ? canonicalToken(token.trim()) : "";
  if (word === "" || /\s/.test(word) || escaped(word) !== word)
    throw new Stop(2, `${what} should be one word such as kq3m-x7fd-29pt, as it is on the slip from the host.`);
  return word;
}

/** Return the one word in a text file, also if a Windows editor or shell has written it. */
function tokenFromFile(file) {
  let content;
  try {
    content = readFileSync(file);
  } catch (error) {
    throw new Stop(
      2,
      `The token file ${shortRepr(file)} cannot be read: ${escaped(error.message)}.\n` +
        "Put the token from the host's slip into it, alone, as plain text.",
    );
  }
  const [first, second] = content;
  let word = content.toString("utf8").replace(/^\uFEFF/, "");
  if (first === 0xff && second === 0xfe) word = content.subarray(2).toString("utf16le");
  if (first === 0xfe && second === 0xff) word = Buffer.from(content.subarray(2, content.length & ~1)).swap16().toString("utf16le");
  return checkedToken(word, `The content of the token file ${shortRepr(file)}`);
}

function findAddress(given) {
  let host = given.host || process.env.GETSTEP_HOST;
  let port = DEFAULT_PORT;
  let way = "";
  if (!host) {
    const saved = savedLogin();
    host = saved ? saved.host : "127.0.0.1";
    port = saved ? saved.port : DEFAULT_PORT;
    way = saved ? saved.tls : "";
  }
  host = String(host).trim();
  if (host === "" || host.includes("/") || host.split(":").length === 2 || escaped(host) !== host)
    throw new Stop(
      2,
      `The host is ${shortRepr(host)}, expected a name or an address alone, such as 192.168.1.10.\n` +
        "The port goes into --port or GETSTEP_PORT.",
    );
  if (given.friendly) port = FRIENDLY_PORT;
  // The contest's port in GETSTEP_PORT is not the one for friendly matches.
  const number = given.port ?? ((!given.friendly && process.env.GETSTEP_PORT) || null);
  const chosen = given.tlsPin ?? (given.tls ? "roots" : process.env.GETSTEP_TLS || null);
  if (chosen !== null) way = parseTls(chosen);
  if (given.friendly) way = ""; // the port for friendly matches speaks no TLS
  return { host, port: number === null ? port : parseInteger("port", number, 1, 65535), tls: way };
}

const addressText = ({ host, port }) => (host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`);

function findToken(given) {
  const { GETSTEP_TOKEN, GETSTEP_TOKEN_FILE } = process.env;
  if (given.token !== undefined) return checkedToken(given.token, "The token");
  if (given.tokenFile !== undefined) return tokenFromFile(given.tokenFile);
  if (GETSTEP_TOKEN) return checkedToken(GETSTEP_TOKEN, "The token in the variable GETSTEP_TOKEN");
  return GETSTEP_TOKEN_FILE ? tokenFromFile(GETSTEP_TOKEN_FILE) : null;
}

function findLogin(given) {
  const where = (name) =>
    `Give it as --${name} on the command line, or in the variable GETSTEP_${name.toUpperCase()}.\n` +
    "To save host, team and token permanently: getstep login";
  const value = given.team ?? (process.env.GETSTEP_TEAM || null);
  let team = value === null ? null : parseInteger("team", value, 0, MAX_ID);
  let token = findToken(given);
  if (team === null || token === null) {
    const saved = savedLogin();
    team ??= saved ? saved.team : null;
    if (saved && saved.team === team) token ??= saved.token;
  }
  if (team === null)
    throw new Stop(2, `The team id is missing; the host gave your team one, a number such as 7.\n${where("team")}`);
  if (token === null)
    throw new Stop(2, `The token of team ${team} is missing; it is on the slip from the host.\n${where("token")}`);
  return { team, token };
}

/** Return how many milliseconds after its limit a function that has not returned is given up; 0: never. */
function findRestartAfter(given) {
  const value = given.restartAfter ?? (process.env.GETSTEP_RESTART_AFTER || RESTART_SECONDS);
  const seconds = /^\s*[0-9]*\.?[0-9]+\s*$/.test(String(value)) ? Number(value) : -1;
  if (seconds >= 0 && seconds <= LONGEST_RESTART_SECONDS) return 1000 * seconds;
  throw new Stop(
    2,
    `The restart-after is ${shortRepr(value)}, expected a number of seconds from 0 to ${LONGEST_RESTART_SECONDS}; 0 is never.`,
  );
}

/** Return the factor for all pauses before a new connection: GETSTEP_TIME_SCALE, for tests of clients. */
function timeScale() {
  const scale = Number(process.env.GETSTEP_TIME_SCALE || "none");
  return scale >= 0.01 && scale <= 1 ? scale : 1;
}

const USAGE = `usage: node ${path.basename(process.argv[1] ?? "my_bot.mjs")} [--host HOST] [--port PORT] [--team TEAM]
       [--token TOKEN | --token-file FILE] [--tls | --tls-pin PIN] [--friendly] [--quiet]
       [--restart-after SECONDS]

Play in a getstep bot contest until it is over. You can start it before the contest: it waits
for the server. If the connection is lost, it reconnects automatically. Ctrl-C stops it.

  --host HOST        the host's name or address (default: the saved one, else 127.0.0.1)
  --port PORT        the host's port (default 7777; with --friendly 7780)
  --tls              connect with TLS; check the certificate of the host
  --tls-pin PIN      connect with TLS; the certificate has this key: 64 digits on the slip
  --team TEAM        your team's id, a number
  --token TOKEN      your team's token
  --token-file FILE  a text file that holds the token alone
  --friendly         play against people on the live page; these matches count nowhere
  --quiet            print problems only
  --restart-after SECONDS
                     start getStep again if it has not returned so long after its limit
                     (default 10; 0: never)

Missing values are taken from GETSTEP_HOST, GETSTEP_PORT, GETSTEP_TLS, GETSTEP_TEAM,
GETSTEP_TOKEN, GETSTEP_TOKEN_FILE and GETSTEP_RESTART_AFTER, then from what getstep login has saved.

exit codes: 0 the contest is over, 1 refused or failed, 2 wrong usage, 130 stopped by Ctrl-C`;

const ARGUMENTS = {
  "--host": "host",
  "--port": "port",
  "--team": "team",
  "--token": "token",
  "--token-file": "tokenFile",
  "--restart-after": "restartAfter",
  "--tls-pin": "tlsPin",
};

/** Return the settings of a command line. Throws Stop: with code 0 and the help, or with code 2 and the mistake. */
function parseArguments(words) {
  const found = {};
  for (let n = 0; n < words.length; n += 1) {
    const [, name, joined] = /^(--[a-z-]+)=(.*)$/s.exec(words[n]) ?? [null, words[n], null];
    if (joined === null && (name === "--help" || name === "-h")) throw new Stop(0, USAGE);
    if (joined === null && name === "--version") throw new Stop(0, `getstep JavaScript ${VERSION}`);
    if (joined === null && (name === "--quiet" || name === "--friendly" || name === "--tls")) {
      found[name.slice(2)] = true;
      continue;
    }
    if (!Object.hasOwn(ARGUMENTS, name)) throw new Stop(2, `unknown argument ${shortRepr(words[n])}; --help lists all`);
    if (joined === null) n += 1;
    if (n === words.length) throw new Stop(2, `${name} needs a value; --help lists all`);
    found[ARGUMENTS[name]] = joined ?? words[n];
  }
  if (found.token !== undefined && found.tokenFile !== undefined) throw new Stop(2, "give --token or --token-file, not both");
  return found;
}

// --- lines for the bot's author -----------------------------------------------------------------------------------------

/** Write a line at once: also if the program ends in the next moment. A closed stream is ignored. */
function writeLine(stream, line) {
  let data = Buffer.from(`${line}\n`, "utf8");
  for (let tries = 0; data.length > 0 && tries < 1000; tries += 1) {
    try {
      data = data.subarray(writeSync(stream, data));
    } catch (error) {
      if (error.code !== "EAGAIN") return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2); // a pipe that is full for a moment
    }
  }
}

class Console {
  constructor(quiet) {
    this.quiet = quiet;
  }

  /** Print a line of progress. */
  say(line) {
    if (!this.quiet) writeLine(1, line);
  }

  /** Print a problem. */
  warn(line) {
    writeLine(2, line);
  }
}

// --- what the author reads about a move: the words and the drawing of the Python SDK ---------------------------------------

const SQUARE = "(row, column), for example [0, 0]";
const MOVES = {
  hop: "a list of squares, the piece's own first, for example [[0, 0], [0, 1]]",
  linkage: '(colour, square, square), for example ["R", [0, 0], [0, 1]]',
  longest_path: SQUARE,
  chain_reaction: SQUARE,
  pseudo_tonga: SQUARE,
};
const expected = (name) =>
  `Expected for ${escaped(name)}: ${Object.hasOwn(MOVES, name) ? MOVES[name] : "as the contest's rules say"}`;

const numbered = (most, piece) => Object.fromEntries(Array.from({ length: most }, (_, n) => piece(n + 1)));
const orbs = (player, sign) =>
  numbered(7, (n) => [sign * n, [`${player[0]}${n}`, `${n} orb${n > 1 ? "s" : ""} of ${player}`, player]]);

/** The pieces of each game by their number on the board: the text, the name, and the kind if that is not the name. The
 *  legend has one piece of each kind. */
const PIECES = {
  hop: { 1: ["B", "black piece"], 2: ["W", "white piece"] },
  pseudo_tonga: { 1: ["B", "black stone"], 2: ["W", "white stone"] },
  longest_path: { 1: ["1", "piece of Player 1"], 2: ["2", "piece of Player 2"] },
  chain_reaction: { ...orbs("Red", 1), ...orbs("Green", -1) },
  linkage: {
    [-1]: ["#", "blocked centre"],
    [-2]: ["x", "empty, next to the last domino"],
    1: ["R", "red half-domino"],
    2: ["B", "blue half-domino"],
    3: ["G", "green half-domino"],
    4: ["Y", "yellow half-domino"],
  },
};
const OTHER_PIECES = {
  ...numbered(9, (n) => [n, [`${n}`, `tile ${n}`, "tile"]]),
  ...numbered(9, (n) => [-n, [`-${n}`, `${n} of the second player`, "second"]]),
  1: ["1", "piece of the first player"],
  2: ["2", "piece of the second player", "second"],
};

/** Return the squares of a board that a move names, as texts "row,column". */
function squaresOf(move, board) {
  if (!Array.isArray(move)) return [];
  if (move.length === 2 && move.every((item) => Number.isInteger(item)))
    return board[move[0]]?.[move[1]] === undefined ? [] : [move.join(",")];
  return move.flatMap((part) => squaresOf(part, board));
}

/** Return a board as text, with the squares of an illegal move between exclamation marks, and what its signs mean. */
export function boardText(name, board, move) {
  const columns = board[0]?.length ?? 0;
  if (columns === 0 || board.some((row) => row.length !== columns)) return "";
  const known = Object.hasOwn(PIECES, name) ? PIECES[name] : OTHER_PIECES;
  const pieceOf = (value) => known[value] ?? (value === 0 ? null : [`${value}`.slice(0, 2), `value ${value}`, "tile"]);
  const isTarget = (r, c) => name === "hop" && r < 8 && (c < 2 || c === 6 || c === 7);
  const marked = new Set(squaresOf(move, board));
  const kinds = new Map();
  for (const [text, title, kind] of board.flat().map(pieceOf).filter(Boolean))
    if (!kinds.has(kind ?? title)) kinds.set(kind ?? title, `${text} ${title}`);
  const texts = [...Object.values(known), ...board.flat().map(pieceOf).filter(Boolean)].map(([text]) => text.length);
  const width = Math.max(...texts, String(columns - 1).length - 1);
  const head = board[0].map((_, c) => `${String(c).padStart(width + 1)} `).join("");
  const lines = board.map((row, r) => {
    const cells = row.map((value, c) => {
      const frame = marked.has(`${r},${c}`) ? "!" : " ";
      return `${frame}${(pieceOf(value)?.[0] ?? (isTarget(r, c) ? ":" : ".")).padEnd(width)}${frame}`;
    });
    return `${String(r).padStart(2)}  ${cells.join("")}`;
  });
  const legend = [
    ...(marked.size > 0 ? ["! ! the squares that you returned"] : []),
    ...kinds.values(),
    ...(name === "hop" ? [": Black's target region or White's target region"] : []),
  ];
  return [`    ${head}`, ...lines, legend.join(", ")].map((line) => `    ${line}`.trimEnd()).filter(Boolean).join("\n");
}

/** Return a value of the wire for the bot: floats as numbers. */
function plain(value) {
  if (value instanceof Float) return value.value;
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
}

/** A match in progress, and its lines. */
class Match {
  constructor(start) {
    this.start = start;
    this.number = start.match;
    this.answered = new Set(); // ids: an answer may be sent again after a reconnect, and counts once
    this.longestMs = 0;
    this.totalMs = 0;
    this.boardsLeft = BOARDS_DRAWN;
  }

  startText() {
    const { start } = this;
    const settings = Object.entries(start.options).map(([name, value]) => `${escaped(name)} ${value}`);
    const colour = start.is_black ? "the first player (isBlack is true)" : "the second player (isBlack is false)";
    const added = start.increment_ms ? ` and ${duration(start.increment_ms)} more after each answer` : "";
    const limit =
      start.time_kind === "move"
        ? `${duration(start.time_ms)} a move`
        : `${duration(start.time_ms)} for all your moves together${added}`;
    return (
      `${start.friendly ? "Friendly match" : "Match"} ${this.number}${start.resumed ? " continues" : ""}: ` +
      `${escaped(start.game)}${settings.length > 0 ? ` (${settings.join(", ")})` : ""} against ${escaped(start.opponent)}, ` +
      `you are ${colour}; ${limit}, plus ${duration(start.lag_ms)} for network delay` +
      `${start.friendly ? ". It counts nowhere" : ""}`
    );
  }

  /** Return after how many milliseconds the server begins to skip turns; infinity if one limit takes all. */
  stalledAfterMs(ask) {
    const { time_kind: kind, time_ms: ms, lag_ms: lag } = this.start;
    return kind === "move" ? ask.time_left_ms + lag + (STALLED_MISSES - 1) * (ms + lag) : Infinity;
  }

  line(ask) {
    return `Match ${this.number}, move ${ask.move_number}: `;
  }

  latenessText(ask, ms) {
    const took = `${this.line(ask)}getStep took ${duration(ms)}`;
    const limit = duration(ask.time_left_ms);
    if (ms <= ask.time_left_ms) return `${took} of ${limit}`;
    return `${took}, ${duration(ms - ask.time_left_ms)} over the limit of ${limit}`;
  }

  endText(end) {
    const outcome = { win: "won", draw: "a draw", loss: "lost", void: "void" }[end.result];
    let line = `Match ${this.number}: ${outcome} (${escaped(end.reason)}): ${withoutLastPoint(escaped(end.detail))}.`;
    if (end.scores !== null) {
      const [mine, theirs] = this.start.is_black ? end.scores : [end.scores[1], end.scores[0]];
      line += ` Score: you ${shortRepr(mine)}, they ${shortRepr(theirs)}.`;
    }
    return `${line} Your moves: ${this.answered.size}, longest ${duration(this.longestMs)}, together ${duration(this.totalMs)}.`;
  }
}

/** Problems of the bot by their text: each is shown once, and then counted. */
class RepeatedProblems {
  #shown = new Set();
  #again = new Map();

  isNew(problem) {
    if (this.#shown.has(problem)) {
      this.#again.set(problem, (this.#again.get(problem) ?? 0) + 1);
      return false;
    }
    if (this.#shown.size < 100) this.#shown.add(problem);
    return true;
  }

  endMatch() {
    const lines = [...this.#again].map(([problem, count]) => {
      const first = problem.split("\n").find((line) => line.includes("Error")) ?? problem.split("\n")[0];
      return `the same problem as before occurred ${count} more time${count > 1 ? "s" : ""}: ${escaped(first.trim())}`;
    });
    this.#again.clear();
    return lines;
  }
}

// --- the pauses between connections: protocol.md, "Reconnecting", and docs/proofs.md, "Trust" ----------------------------------------------

const between = (lowest, highest) => lowest + Math.random() * (highest - lowest);

class Backoff {
  constructor() {
    this.reset();
  }

  reset() {
    this.nextMs = FIRST_PAUSE_MS;
  }

  /** True once several attempts in a row have failed: a server that was restarted would be back. */
  get isLong() {
    return this.nextMs >= LONGEST_PAUSE_MS / 2;
  }

  /** Return the next pause, in milliseconds. */
  next() {
    const pause = this.nextMs;
    this.nextMs = Math.min(2 * pause, LONGEST_PAUSE_MS);
    return pause * between(1 - JITTER, 1);
  }

  /** Return how long to wait after a goodbye. */
  after(goodbye, proved) {
    if (goodbye.retry_ms === null) return Math.max(this.next(), SHORTEST_RETRY_MS); // a goodbye that is not believed
    if (proved) return goodbye.retry_ms * between(1, 1 + JITTER);
    return Math.min(Math.max(goodbye.retry_ms, SHORTEST_RETRY_MS) * between(1, 1 + JITTER), LONGEST_RETRY_MS);
  }
}

/** Return true if the bot stops after `goodbye`: the table in docs/proofs.md, "Trust". */
function endsTheRun(goodbye, { proved, welcomed, everProved }) {
  if (goodbye.retry_ms !== null) return false;
  if (proved) return true;
  if (everProved || goodbye.reason === "contest_over") return false;
  return !welcomed || goodbye.reason === "replaced";
}

// --- the connection -----------------------------------------------------------------------------------------------------

function seenText(address) {
  let saved = null;
  try {
    saved = savedLogin();
  } catch {
    // it is not needed here
  }
  const seen = saved && saved.host === address.host && saved.port === address.port ? saved.seen : null;
  const at = typeof seen?.at === "number" ? new Date(seen.at * 1000) : null;
  if (at === null || Number.isNaN(at.getTime()))
    return "nothing listens there; the server is not running yet, or the port is wrong";
  const two = (number) => String(number).padStart(2, "0");
  const when = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
  const contest = shortRepr(String(seen.contest));
  if (seen.over) return `nothing listens there any more; ${contest} was over when it was last seen, ${when}`;
  return (
    `nothing listens there now; ${contest} was there on ${when} and was not over.` +
    " The host has stopped it for now, or has a new address"
  );
}

/** Return why there is no connection, in words for the bot's author. */
function explain(error, address) {
  if (error.code === "ECONNREFUSED") return seenText(address);
  if (error.code === "ETIMEDOUT") return "no answer; the address is wrong, or a firewall or another network is between";
  if (["EHOSTUNREACH", "ENETUNREACH", "ENETDOWN"].includes(error.code))
    return "no way to that address; is this computer in the host's network?";
  return escaped(tlsText(error) ?? error.message);
}

/** Begin a connection with TLS. A pin stands for the name, the dates and the authority of the certificate. */
function tlsSocket(options, { host, tls: way }) {
  const socket = tls.connect({
    ...options,
    servername: net.isIP(host) ? "" : host,
    minVersion: "TLSv1.2",
    rejectUnauthorized: way === "roots",
    // not the default: that takes the resolved address for the host's name
    checkServerIdentity: (_, certificate) => (way === "roots" ? tls.checkServerIdentity(host, certificate) : undefined),
  });
  socket.setNoDelay(true);
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  return socket;
}

/** Return why the server is not the host; null if the key of its certificate is the pinned one. */
function wrongPin(socket, pin) {
  const key = socket.getPeerX509Certificate().publicKey.export({ type: "spki", format: "der" });
  const found = createHash("sha256").update(key).digest("hex");
  return found === pin
    ? null
    : "the server's certificate has another key than the pin says, so it is not your host, or the host has a new key" +
        ` (pin ${found})`;
}

/** Return an error of TLS in words; null for another one. */
function tlsText(error) {
  if (error.code === "ERR_SSL_WRONG_VERSION_NUMBER" || error.code === "ERR_SSL_PACKET_LENGTH_TOO_LONG")
    return "what answers there does not speak TLS; without --tls, the bot connects without it";
  if (/^(CERT|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_TLS_CERT)/.test(error.code ?? ""))
    return `the certificate of the host is not to be trusted: ${error.message}. If the slip from the host has a pin, give it with --tls-pin`;
  return null;
}

/** A socket to the server, and the client's side of the conversation. `arrived` is called after messages have come. */
class Connection {
  #silence = null; // the timer of the last answer, until something arrives

  constructor(socket) {
    this.socket = socket;
    this.conversation = new Conversation();
    this.messages = [];
    this.failure = null; // why nothing more will arrive
    this.arrived = () => {};
    socket.on("data", (data) => this.#receive(data));
    socket.on("error", (error) => this.#fail(new ConnectionFailed(escaped(error.message))));
    socket.on("close", () => this.#fail(this.conversation.atEnd() ?? new ConnectionFailed("the server closed the connection")));
  }

  /** Connect to the first of the host's addresses that accepts. */
  static async open(address) {
    let found;
    try {
      found = await lookup(address.host, { all: true, verbatim: true });
    } catch (error) {
      throw new Unreachable(
        `No computer is called ${shortRepr(address.host)} in this network (${error.code ?? error.message}).\n` +
          "Check the spelling, or ask the host for the address in numbers, such as 192.168.1.10.",
      );
    }
    let failure = new Error("the name has no address");
    for (const { address: host } of found) {
      try {
        return new Connection(await Connection.#connect(host, address));
      } catch (error) {
        failure = error;
      }
    }
    throw new ConnectionFailed(explain(failure, address));
  }

  static #connect(host, address) {
    return new Promise((resolve, reject) => {
      const options = { host, port: address.port, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS };
      const socket = address.tls === "" ? net.connect(options) : tlsSocket(options, address);
      const fail = (error) => {
        clearTimeout(timer);
        socket.destroy();
        reject(error);
      };
      const timer = setTimeout(() => fail(Object.assign(new Error("timed out"), { code: "ETIMEDOUT" })), CONNECT_MS);
      socket.once("error", fail);
      socket.once(address.tls === "" ? "connect" : "secureConnect", () => {
        const wrong = address.tls === "" || address.tls === "roots" ? null : wrongPin(socket, address.tls);
        if (wrong !== null) return fail(new Error(wrong));
        clearTimeout(timer);
        socket.removeListener("error", fail);
        resolve(socket);
      });
    });
  }

  get isOpen() {
    return this.failure === null && !this.socket.destroyed;
  }

  send(frame) {
    this.socket.write(frame);
    if (this.socket.writableLength > MAX_UNSENT) this.#fail(new ConnectionFailed("the server does not read"));
  }

  /**
   * Try the host's computer if nothing arrives for a while. An answer that is not acknowledged is repeated for 15 minutes by
   * Linux, without a keep-alive, and Node.js has no option for that.
   */
  watchHost() {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#tryHost(HOST_TRIES), SILENCE_MS);
  }

  #tryHost(tries) {
    const silence = this.#silence;
    const probe = net.connect({ host: this.socket.remoteAddress, port: this.socket.remotePort });
    const settle = (answers) => {
      clearTimeout(timer);
      probe.removeAllListeners("connect").destroy();
      if (answers || silence !== this.#silence || !this.isOpen) return;
      if (tries > 1) this.#tryHost(tries - 1);
      else this.#fail(new ConnectionFailed("the host's computer does not answer"));
    };
    const timer = setTimeout(() => settle(false), CONNECT_MS);
    probe.once("connect", () => settle(true));
    probe.on("error", (error) => error.code === "ECONNREFUSED" && settle(true)); // the computer answers
  }

  #hear() {
    clearTimeout(this.#silence);
    this.#silence = null;
  }

  close() {
    this.#hear();
    this.arrived = () => {};
    this.socket.destroy();
  }

  /** Wait until messages have arrived or nothing more will. Return false after `ms`. */
  wait(ms = null) {
    if (this.messages.length > 0 || this.failure) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = ms === null ? null : setTimeout(() => resolve(false), ms);
      this.arrived = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }

  /** Return the next message alone; for the login. */
  async next(ms) {
    if (!(await this.wait(ms))) throw Object.assign(new ConnectionFailed(`no answer within ${ms / 1000} s`), { silent: true });
    if (this.messages.length === 0) throw this.failure;
    return this.messages.shift();
  }

  #receive(data) {
    this.#hear();
    if (this.failure) return;
    try {
      this.conversation.feed(data);
      for (let message = this.conversation.next(); message; message = this.conversation.next()) this.messages.push(message);
    } catch (error) {
      this.#fail(error);
    }
    if (this.messages.length === 0) return;
    // If the system may have more for this socket, read that first: of several questions only the open one is thought
    // about. In a contest there never is more, and the detour through the event loop takes time from the bot.
    if (data.length < READ_BYTES) this.arrived();
    else setImmediate(() => this.arrived());
  }

  #fail(error) {
    this.#hear();
    this.failure ??= error;
    this.socket.destroy();
    setImmediate(() => this.arrived());
  }
}

// --- notes of a move: protocol.md, "Notes of a move" ----------------------------------------------------------------------

/** Return the start of `text`: at most so many characters, and bytes of UTF-8. */
function cutText(text, characters, bytes) {
  if (text.length <= characters && 3 * text.length <= bytes) return text;
  let [charactersLeft, bytesLeft, end] = [characters, bytes, 0];
  for (const character of text) {
    charactersLeft -= 1;
    bytesLeft -= Buffer.byteLength(character);
    if (charactersLeft < 0 || bytesLeft < 0) break;
    end += character.length;
  }
  return text.slice(0, end);
}

/** Return a number as "%.3g" of other languages, with fewer digits if it is longer than a label. */
function numberText(number) {
  if (!Number.isFinite(number)) return Number.isNaN(number) ? "nan" : number > 0 ? "inf" : "-inf";
  const short = (digits) => (digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits);
  let text = "";
  for (let digits = 3; digits > 0; digits -= 1) {
    const [mantissa, exponent] = number.toExponential(digits - 1).split("e");
    const power = Number(exponent);
    const scientific = `${short(mantissa)}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
    text = power < -4 || power >= digits ? scientific : short(number.toFixed(Math.max(0, digits - 1 - power)));
    if (text.length <= MAX_LABEL) break;
  }
  return text;
}

/** Return the bytes that a value takes on the wire. */
function packedSize(value) {
  const encoder = new Encoder();
  encoder.value(value, 2); // in a message, in its notes
  return encoder.parts.reduce((bytes, part) => bytes + part.length, 0);
}

/** Collects what a bot notes while it computes a move. What is wrong or too much is dropped, and the author reads so
 *  once for each kind of mistake. */
export class Notes {
  #rows = -1; // of the board of the open question; -1: no move is computed
  #columns = 0;
  #said = null;
  #estimate = null;
  #draw = [];
  #tags = [];
  #mistakes = new Set();

  constructor(warn) {
    this.warn = warn;
  }

  /** Begin a move. */
  begin(board) {
    this.#rows = board.length;
    this.#columns = 0;
    for (const row of board) if (row.length > this.#columns) this.#columns = row.length;
  }

  say(text) {
    if (!this.#open()) return;
    if (typeof text !== "string") {
      this.#mistake(`say takes a text, others are dropped: ${shortRepr(text)}`, "text");
      return;
    }
    if (text === "") return;
    const line = sendableText(text.slice(0, MAX_TEXT_BYTES + 1), MAX_TEXT_BYTES + 1); // more bytes than may be said
    const all = this.#said === null ? line : `${this.#said}\n${line}`;
    if (cutText(all, MAX_SAID, MAX_TEXT_BYTES) === all) this.#said = all;
    else this.#mistake("say takes 1,000 characters and 2,000 bytes for a move, longer texts are dropped", "said");
  }

  estimate(value) {
    if (!this.#open()) return;
    if (typeof value === "number" && value >= -1 && value <= 1) this.#estimate = value;
    else
      this.#mistake(
        `estimate takes a number from -1 (you lose) to 1 (you win), others are dropped: ${shortRepr(value)}`,
        "estimate",
      );
  }

  draw(squares, options) {
    if (!this.#open()) return;
    const { label = null, color = null, shape = "mark" } = options ?? {};
    if (!SHAPES.includes(shape)) {
      this.#mistake(`draw takes the shapes ${SHAPES.join(", ")}, others are dropped: ${shortRepr(shape)}`, "shape");
    } else if (color !== null && !COLORS.includes(color)) {
      this.#mistake(`draw takes the colours ${COLORS.join(", ")}, others are dropped: ${shortRepr(color)}`, "color");
    } else if (label !== null && typeof label !== "string" && typeof label !== "number") {
      this.#mistake(`draw takes a text or a number as a label, others are dropped: ${shortRepr(label)}`, "label");
    } else if (this.#draw.length === MAX_DRAWINGS) {
      this.#mistake(`draw takes ${MAX_DRAWINGS} drawings for a move, more are dropped`, "drawings");
    } else {
      const flat = this.#flat(squares, shape);
      if (!flat) return;
      const text = typeof label === "number" ? numberText(label) : sendableText((label ?? "").slice(0, 2 * MAX_LABEL + 1));
      if (cutText(text, MAX_LABEL, MAX_TEXT_BYTES) === text) this.#draw.push([shape, flat, text || null, color]);
      else this.#mistake(`draw takes a label of ${MAX_LABEL} characters, others are dropped: ${shortRepr(label)}`, "long label");
    }
  }

  tag(word) {
    if (!this.#open()) return;
    const isWord = typeof word === "string" && word.length <= 2 * MAX_TAG && /^[^\s\p{C}\p{Z}]+$/u.test(word);
    if (!isWord || [...word].length > MAX_TAG)
      this.#mistake(`tag takes a word of 1 to ${MAX_TAG} characters, others are dropped: ${shortRepr(word)}`, "tag");
    else if (this.#tags.includes(word)) return;
    else if (this.#tags.length === MAX_TAGS) this.#mistake(`tag takes ${MAX_TAGS} words for a move, more are dropped`, "tags");
    else this.#tags.push(word);
  }

  /** End the move. Return true if it has notes. */
  end() {
    this.#rows = -1;
    return this.#said !== null || this.#estimate !== null || this.#draw.length + this.#tags.length > 0;
  }

  /** Return the notes of the move, in at most `most` bytes, or null if none of them fit. There are none after it. */
  take(most) {
    const notes = this.#fitting(Math.min(most, NOTES_BYTES));
    [this.#said, this.#estimate, this.#draw, this.#tags] = [null, null, [], []];
    return notes;
  }

  #fitting(room) {
    const estimate = this.#estimate === null ? {} : { estimate: new Float(this.#estimate) };
    const tags = this.#tags.length > 0 ? { tags: this.#tags } : {};
    let said = this.#said;
    let left = room - packedSize({ ...estimate, ...tags }) - (said === null ? 0 : 4 + packedSize(said));
    let drawn = 0;
    let bytes = 8; // the key "draw" and the longest header of its array
    for (const drawing of this.#draw) {
      bytes += packedSize(drawing);
      if (bytes > left) break;
      drawn += 1;
    }
    if (said !== null && left < 0) {
      said = cutText(said, MAX_SAID, Buffer.byteLength(said) + left) || null;
      left += said === null ? 4 + packedSize(this.#said) : packedSize(this.#said) - packedSize(said);
    }
    if (drawn < this.#draw.length || said !== this.#said)
      this.#mistake(
        `the notes of a move have ${NOTES_BYTES} bytes, and less beside a long move; what does not fit is dropped`,
        "room",
      );
    if (left < 0 || (said === null && !drawn && this.#estimate === null && !this.#tags.length)) return null;
    const draw = drawn > 0 ? { draw: this.#draw.slice(0, drawn) } : {};
    return { ...(said === null ? {} : { say: said }), ...estimate, ...draw, ...tags };
  }

  /** Return the squares of a drawing as [row, column, row, column, ...]; null if they are wrong. */
  #flat(squares, shape) {
    const [least, most] = { arrow: [2, MAX_ARROW], domino: [2, 2] }[shape] ?? [1, MAX_SQUARES];
    const list = isList(squares) && squares.length === 2 && !isList(squares[0]) ? [squares] : squares;
    const isSquare = (square) => isList(square) && square.length === 2 && Array.from(square).every(Number.isInteger);
    if (!isList(list) || list.length < least || list.length > most || !Array.from(list).every(isSquare)) {
      const many = least === most ? most : `${least} to ${most}`;
      const shown = shortRepr(squares);
      this.#mistake(`draw takes [row, column] or a list of them, ${many} for the shape ${shape}, others are dropped: ${shown}`, shape);
      return null;
    }
    const isOnBoard = ([row, column]) => row >= 0 && row < this.#rows && column >= 0 && column < this.#columns;
    const off = Array.from(list).find((square) => !isOnBoard(square) || Math.max(...square) >= MAX_SIDE);
    if (off) {
      const size = `${this.#rows} rows and ${this.#columns} columns`;
      this.#mistake(`draw takes squares of the board, which has ${size}, others are dropped: ${shortRepr(off)}`, "board");
      return null;
    }
    return Array.from(list).flatMap(([row, column]) => [row, column]);
  }

  #open() {
    if (this.#rows >= 0) return true;
    this.#mistake("say, estimate, draw and tag belong to a move that is computed; calls before and after are dropped", "outside");
    return false;
  }

  #mistake(line, kind) {
    if (this.#mistakes.has(kind)) return;
    this.#mistakes.add(kind);
    this.warn(`getstep: ${line}. This is said once.`);
  }
}

const NOTES = new Notes((line) => writeLine(2, line));

/** Return a function that never throws: a note costs no turn. An argument may be anything, such as a broken proxy. */
const harmless = (call) => (...args) => {
  try {
    call(...args);
  } catch {
    // a value that cannot be looked at is no note
  }
};

// What each does is in getstep.d.mts.
export const say = harmless((text) => NOTES.say(text));
export const estimate = harmless((value) => NOTES.estimate(value));
export const draw = harmless((squares, options) => NOTES.draw(squares, options));
export const tag = harmless((word) => NOTES.tag(word));

/** Return the frame of an answer, with the notes of the move that ends with it. */
export function answerFrame(message, notes = NOTES) {
  const isNoted = notes.end();
  const frame = encodeFrame(message);
  const found = isNoted ? notes.take(MAX_CLIENT_FRAME - (frame.length - 4) - 6) : null; // the header; the key "notes"
  return found === null ? frame : encodeFrame({ ...message, notes: found });
}

// --- the bot's thread -----------------------------------------------------------------------------------------------------

/** Return the trace of an error without this file's lines, or its text if it has none. */
export function traceOf(error) {
  try {
    if (!(error instanceof Error)) return `a value that is not an Error: ${shortRepr(error)}`;
    const own = (line) => line.includes("getstep.mjs") || line.includes("node:internal");
    const lines = String(error.stack ?? error).split("\n").filter((line) => !own(line));
    const cause = error.cause === undefined ? "" : `\n[cause]: ${shortRepr(String(error.cause))}`;
    return lines.map(escaped).join("\n").slice(0, 4000) + cause;
  } catch {
    return "an error that cannot be shown";
  }
}

/** Return the error without its trace, such as "RangeError: no move left". */
function summaryOf(error) {
  try {
    return error instanceof Error ? `${error.name}: ${error.message}` : `thrown: ${shortRepr(error)}`;
  } catch {
    return "an error that cannot be shown";
  }
}

/** Return the function's third argument. */
function turnOf(start, ask) {
  return {
    game: start.game,
    match: start.match,
    moveNumber: ask.move_number,
    opponent: start.opponent,
    lastMove: plain(ask.last_move),
    timeLeftMs: ask.time_left_ms,
    options: { ...start.options },
    incrementMs: start.increment_ms ?? 0,
    opening: plain(start.opening ?? []),
  };
}

/** Return the result of a call without a move that can be sent. */
function afterError(text, id, ms, problem) {
  const error = sendableText(text);
  return { ms, error, raised: answerFrame({ type: "raised", id, error }), problem };
}

/** Return what the main thread needs to answer with a move. */
function afterReturn(move, id, game, ms) {
  try {
    const frame = answerFrame({ type: "step", id, move });
    const missing = move === undefined || move === null;
    const problem = () =>
      `getStep returned ${shortRepr(move)}: is a return missing? It counts as an illegal move.\n${expected(game)}`;
    return { ms, frame, problem: missing ? problem() : "" };
  } catch (error) {
    const text = `getStep returned ${shortRepr(move)}, which cannot be sent: ${summaryOf(error).replace(/^Error: /, "")}`;
    return afterError(text, id, ms, `${text}\n${expected(game)}`);
  }
}

/** Call the function once. `done` gets the result: at once, unless the function returns a promise. */
function callBot(getStep, start, ask, done) {
  NOTES.begin(ask.board);
  const started = performance.now();
  const since = () => performance.now() - started;
  const returned = (move) => done(afterReturn(move, ask.id, start.game, since()));
  const thrown = (error) => done(afterError(summaryOf(error), ask.id, since(), `getStep threw:\n${traceOf(error)}`));
  let move;
  try {
    move = getStep(ask.board, ask.is_black, turnOf(start, ask));
    if (typeof move?.then === "function") {
      Promise.resolve(move).then(returned, thrown);
      return;
    }
  } catch (error) {
    thrown(error);
    return;
  }
  returned(move);
}

// Between the threads, a question and an answer are the bytes of the wire: to copy these takes 20 µs less than to copy
// objects, of the 36 µs that a round trip between threads takes at all. Before them there are numbers, as a bot may
// use the port as well: that of the call, and in an answer the milliseconds that the call took.

const packed = (numbers, bytes) => {
  const message = new Uint8Array(8 * numbers.length + bytes.length);
  new Float64Array(message.buffer, 0, numbers.length).set(numbers);
  message.set(bytes, 8 * numbers.length);
  return message;
};
const numbersIn = (message, count) => new Float64Array(message.buffer, 0, count);
const questionIn = (message) => decodeBody(Buffer.from(message.buffer, 8));

/** Serve the questions of the main thread. Never ends: the main thread ends this one. */
function serveMainThread(getStep) {
  let start = null;
  parentPort.on("message", (message) => {
    if (message.start) {
      start = message.start;
      return;
    }
    const [number] = numbersIn(message, 1);
    callBot(getStep, start, questionIn(message), (result) => {
      const { ms, frame, problem } = result;
      parentPort.postMessage(frame && !problem ? packed([number, ms], frame) : { number, result });
    });
  });
  warmUp();
  parentPort.postMessage({ ready: true });
  return new Promise(() => {});
}

/** Use all that a question needs, so that the first one does not wait for the compiler. */
function warmUp() {
  const board = Array.from({ length: 8 }, () => Array(8).fill(0));
  const start = { type: "start", match: 1, game: "warm-up", options: {}, is_black: true, opponent: "" };
  const times = { time_kind: "move", time_ms: 1, lag_ms: 0, resumed: false };
  const ask = { type: "get_step", id: 1, move_number: 1, board, is_black: true, time_left_ms: 1, last_move: [0, 0] };
  const frames = [start, ask].map((message) => encodeFrame({ ...message, ...(message === start ? times : {}) }));
  for (let n = 0; n < WARM_UP_QUESTIONS; n += 1) {
    const conversation = new Conversation();
    conversation.state = "lobby";
    conversation.feed(Buffer.concat(frames));
    const match = conversation.next();
    conversation.next();
    callBot(() => [0, 0], match, questionIn(packed([n], conversation.body)), (result) => packed([n, result.ms], result.frame));
  }
}


/** The thread in which the bot is called. It is started again if the bot ends it, or hangs. */
class BotThread {
  #worker = null;
  #ending = []; // threads that were ended and have not stopped yet
  #call = null;
  #number = 0;
  #match = null; // the start of the match that the thread knows
  #ready = false;
  #failure = null;

  constructor(onLoadError) {
    this.onLoadError = onLoadError;
    /** Resolves when the bot's file has loaded in its thread. */
    this.loaded = new Promise((resolve) => {
      this.onReady = resolve;
    });
    this.#start();
  }

  /** Ask the bot the question in `body`, of the match that `start` began; `done` gets the result. One call at a time. */
  ask(body, start, done) {
    this.#number += 1;
    this.#call = { number: this.#number, done, started: performance.now() };
    if (this.#worker === null) this.#start();
    if (this.#match !== start) this.#worker.postMessage({ start });
    this.#match = start;
    this.#worker.postMessage(packed([this.#number], body));
  }

  /** Give up the call that is running, with `error` as its result, and start the function in a new thread. */
  restart(error) {
    this.#end();
    this.#start();
    this.#finish({ ms: performance.now() - this.#call.started, error: sendableText(error), problem: "", hung: true });
  }

  /** End the thread. Resolves when it and all before it have stopped: one that waits for a program does not. */
  stop() {
    this.#call = null;
    this.#end();
    return Promise.all(this.#ending);
  }

  #end() {
    const worker = this.#worker;
    this.#worker = null;
    if (!worker) return;
    const ended = worker.terminate().then(() => {
      this.#ending = this.#ending.filter((other) => other !== ended);
    });
    this.#ending.push(ended);
  }

  #start() {
    const worker = new Worker(process.argv[1], { argv: process.argv.slice(2), workerData: { getstep: "bot" } });
    this.#worker = worker;
    this.#match = null;
    this.#failure = null;
    worker.on("message", (message) => {
      if (message?.ready) {
        this.#ready = true;
        this.onReady();
      } else if (message instanceof Uint8Array && message.length > 16) {
        const [number, ms] = numbersIn(message, 2);
        if (number === this.#call?.number) this.#finish({ ms, frame: message.subarray(16), problem: "" });
      } else if (message?.result && message.number === this.#call?.number) this.#finish(message.result);
    });
    worker.on("error", (error) => {
      this.#failure = error;
    });
    worker.on("exit", () => this.#ended(worker));
  }

  #ended(worker) {
    if (this.#worker !== worker) return;
    this.#worker = null;
    const error = this.#failure ?? new Error("the thread of the bot has ended; does it call process.exit?");
    if (!this.#ready) {
      this.onLoadError(error);
    } else if (this.#call) {
      const ms = performance.now() - this.#call.started;
      this.#finish({ ms, error: sendableText(summaryOf(error)), problem: `getStep ended its thread:\n${traceOf(error)}` });
    }
  }

  #finish(result) {
    const { done } = this.#call;
    this.#call = null;
    done(result);
  }
}

// --- finding the host on the network (docs/standby.md) --------------------------------------------------------------------

const SERVICE = "_getstep._tcp.local.";
const DISCOVERY = { address: "224.0.0.251", port: 5353 };
const SEARCH_MS = 1000;
const ASK_AGAIN_MS = 350; // multicast on WLAN is not repeated if it is lost
const MAX_FOUND = 20; // the found addresses to which one run connects
const MAX_PACKETS = 256; // that one search reads
const MAX_INTERFACES = 16;

/** Return the name at an offset, and the offset after it. Throws RangeError if it is wrong. */
function dnsName(packet, start) {
  let [at, after, lowest, pointers, name] = [start, null, start, 0, ""];
  for (;;) {
    const length = packet.readUInt8(at);
    if (length === 0) return [name.toLowerCase(), after ?? at + 1];
    if (length >= 0xc0) {
      after ??= at + 2;
      at = packet.readUInt16BE(at) & 0x3fff;
      pointers += 1;
      if (at >= lowest || pointers > 8) throw new RangeError("a wrong pointer"); // only backwards: no name is endless
      lowest = at;
    } else {
      if (length >= 0x40 || at + 1 + length > packet.length || name.length + length >= 255) throw new RangeError("a wrong name");
      name += `${packet.toString("latin1", at + 1, at + 1 + length)}.`;
      at += 1 + length;
    }
  }
}

/** Return the servers that an answer to question `number` announces. Throws RangeError if it ends too early. */
export function announcedIn(packet, number) {
  const counts = [4, 6, 8, 10].map((at) => packet.readUInt16BE(at));
  const [questions, records] = [counts[0], counts[1] + counts[2] + counts[3]];
  if (packet.readUInt16BE(0) !== number || (packet.readUInt16BE(2) & 0xf80f) !== 0x8000 || questions > 4 || records > 64) return [];
  const [instances, places, texts, addresses] = [new Set(), new Map(), new Map(), new Map()];
  let at = 12;
  for (let n = 0; n < questions; n++) at = dnsName(packet, at)[1] + 4;
  for (let n = 0; n < records; n++) {
    const [owner, head] = dnsName(packet, at);
    const [kind, network] = [packet.readUInt16BE(head), packet.readUInt16BE(head + 2) & 0x7fff];
    const [lifetime, start] = [packet.readUInt32BE(head + 4), head + 10];
    at = start + packet.readUInt16BE(head + 8);
    if (at > packet.length) throw new RangeError("a record ends after the packet");
    if (lifetime === 0 || network !== 1) continue;
    if (kind === 12 && owner === SERVICE) instances.add(dnsName(packet, start)[0]);
    else if (kind === 33 && !places.has(owner))
      places.set(owner, { port: packet.readUInt16BE(start + 4), computer: dnsName(packet, start + 6)[0] });
    else if (kind === 16 && !texts.has(owner)) texts.set(owner, packet.subarray(start, at));
    else if (kind === 1 && at === start + 4) addresses.set(owner, [...(addresses.get(owner) ?? []), [...packet.subarray(start, at)].join(".")]);
  }
  return [...instances].flatMap((instance) => {
    const { port, computer } = places.get(instance) ?? { port: 0 };
    const values = dnsTexts(texts.get(instance) ?? Buffer.alloc(0));
    const hosts = (addresses.get(computer) ?? []).slice(0, 8);
    const contest = escaped([...(values.get("contest") ?? "")].slice(0, MAX_NAME).join(""));
    const fence = /^\d{1,10}$/.test(values.get("fence") ?? "") ? Number(values.get("fence")) : 0;
    return port > 0 && hosts.length > 0 ? [{ instance, contest, port, hosts, fence: fence <= MAX_ID ? fence : 0 }] : [];
  });
}

/** Return the values of a TXT record by their names. */
function dnsTexts(data) {
  const values = new Map();
  for (let at = 0; at < data.length; at += 1 + data[at]) {
    const [name, ...value] = data.toString("utf8", at + 1, at + 1 + data[at]).split("=");
    if (!values.has(name.toLowerCase())) values.set(name.toLowerCase(), value.join("="));
  }
  return values;
}

/** Return whether a contest may be at an address: at one of this computer only if it has answered itself. */
function isUsable(host, sender) {
  const first = Number(host.split(".")[0]);
  return first > 0 && first < 224 && (first !== 127 || sender.startsWith("127."));
}

/** Ask on all networks of this computer, and resolve to the servers that have answered after a second. */
async function search() {
  const [, host, port] = /^([\d.]+):(\d+)$/.exec(process.env.GETSTEP_DISCOVERY ?? "") ?? [];
  const to = host ? { address: host, port: Number(port) } : DISCOVERY;
  const own = Object.values(os.networkInterfaces()).flat().filter(({ family }) => family === "IPv4");
  const number = randomInt(65536);
  const question = Buffer.concat([
    Buffer.from([number >> 8, number & 255, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
    ...SERVICE.split(".").map((label) => Buffer.from([label.length, ...Buffer.from(label)])),
    Buffer.from([0, 12, 0, 1]),
  ]);
  const found = new Map();
  let left = MAX_PACKETS;
  const sockets = (host ? ["127.0.0.1"] : own.map(({ address }) => address).slice(0, MAX_INTERFACES)).map((local) => {
    const socket = createSocket("udp4");
    socket.on("error", () => {}); // an interface that is down
    socket.on("message", (data, sender) => {
      if (sender.port !== to.port || --left < 0) return;
      try {
        for (const server of announcedIn(data, number)) {
          const hosts = server.hosts.filter((one) => isUsable(one, sender.address));
          const known = found.get(`${server.instance}:${server.port}`) ?? { ...server, hosts: [] };
          found.set(`${server.instance}:${server.port}`, { ...known, hosts: [...new Set([...known.hosts, ...hosts])].slice(0, 8) });
        }
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
      }
    });
    const ask = () => socket.send(question, to.port, to.address, () => {});
    socket.bind(0, local, () => {
      if (!host) socket.setMulticastInterface(local);
      ask();
    });
    const again = setTimeout(ask, ASK_AGAIN_MS);
    return () => {
      clearTimeout(again);
      socket.close();
    };
  });
  await new Promise((resolve) => {
    setTimeout(resolve, SEARCH_MS);
  });
  for (const close of sockets) close();
  return [...found.values()].filter(({ hosts }) => hosts.length > 0);
}

/** The addresses to try while the client's own address does not answer. `saved` is the saved login, or null. */
class Finder {
  #waiting = [];
  #tried = new Set();

  constructor(own, saved, port) {
    this.own = own;
    this.saved = saved;
    this.port = port; // that the user has given, or null
    this.contest = saved?.seen?.contest ?? null;
  }

  isFound(address) {
    return address !== this.own;
  }

  /** Return true if a server has proved before that it knows this token. */
  knows(token) {
    return this.saved !== null && this.saved.seen !== null && this.saved.token === token;
  }

  /** Return where to connect at once after a failure; null to wait, and then to connect to the own address. */
  async next(failed, console_) {
    if (failed === this.own && this.#tried.size < MAX_FOUND) {
      const servers = (await search()).filter(({ port }) => this.port === null || port === this.port);
      const same = servers.filter(({ contest }) => contest === escaped(this.contest ?? ""));
      const trying = same.length > 0 ? same : servers.length === 1 ? servers : [];
      trying.sort((a, b) => b.fence - a.fence); // a computer that was lost may still be announced
      const found = trying.flatMap(({ hosts, port }) => hosts.map((host) => ({ host, port, tls: this.own.tls })));
      for (const address of found.filter(({ host, port }) => host !== this.own.host || port !== this.own.port).slice(0, MAX_FOUND)) {
        const text = addressText(address);
        if (!this.#tried.has(text)) console_.say(`Found ${shortRepr(this.contest ?? trying[0].contest)} at ${text} on this network.`);
        this.#tried.add(text);
        this.#waiting.push(address);
      }
    }
    return this.#waiting.shift() ?? null;
  }

  /** Make an address, whose server has proved itself, the own one. */
  settle(address, contest) {
    this.own = address;
    this.contest = contest;
    this.#waiting = [];
  }
}

// --- the client -----------------------------------------------------------------------------------------------------------

const NOT_LOCATED = "this server does not prove at which address it is, as it did before, so it is not your host";
const EARLIER_HOST = "another computer has taken over this contest from this server, so nothing counts here any more";
const WRONG_FENCE = "the server's proof of its fencing number is wrong, so it is not your host; check the address";
/** Return true if no computer answers at an address any more, or its server says that another has taken over. */
const isGone = (why) => why === EARLIER_HOST || /^(no answer; the address|no way to that address)|ETIMEDOUT|EHOSTUNREACH/.test(why);
const NOT_PROVED = "this server has not proved that it knows your token (an older getstep server, or not your host)";
const UPDATE = "Get a newer getstep.mjs from the host's live page.";
const ADVICE = {
  bad_token: "Copy the token again from the slip from the host, and check the host's address.",
  unknown_team: "Ask the host for your team's id, or look at the slip; check the host's address, too.",
  replaced: "Is a second copy of your bot running? The newest one plays, this one stops.",
  unsupported_version: UPDATE,
};
const NO_FRIENDLY =
  "This is the port of the contest, not the one for friendly matches.\n" +
  "The page Play of the host's live page shows the command for friendly matches.";
const ONLY_FRIENDLY =
  "This port is for friendly matches, which count nowhere: give --friendly.\n" +
  `To play in the contest, give its port; it is ${DEFAULT_PORT} unless the host says otherwise.`;
const FRIENDLY =
  "People can play friendly matches against this bot now, on the page Play of the host's live page. They count nowhere.\n" +
  "Your seat in the contest is not touched. Ctrl-C stops the bot.";

/** Return the move in the frame of an answer. */
const moveIn = (frame) => plain(decodeBody(Buffer.from(frame.subarray(4))).move);

const goodbyeText = ({ reason, detail }) => `${escaped(reason)}: ${withoutLastPoint(escaped(detail))}`;

/** Return true if `ask` repeats a question after a reconnect; only the time left has changed. */
function repeats(ask, before) {
  const without = ({ time_left_ms: _, ...rest }) =>
    JSON.stringify(rest, (key, value) => (typeof value === "bigint" ? `${value}n` : value));
  return ask.id === before.id && without(ask) === without(before);
}

/** Return true if `promise` has resolved after at most `ms`. */
async function within(promise, ms) {
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  const inTime = await Promise.race([promise.then(() => true), late]);
  clearTimeout(timer);
  return inTime;
}

/** A bot in a contest, over as many connections as it takes. */
class Client {
  #backoff = new Backoff();
  #problems = new RepeatedProblems();
  #warned = new Set(); // the problems reported since the last good connection
  #connection = null;
  #match = null;
  #question = null; // the newest
  #thinking = null;
  #since = 0; // of the call
  #warnings = new Set(); // that the call has got
  #idle = () => {};
  #welcomed = false;
  #everWelcomed = false;
  #proved = false;
  #everProved = false;
  #everLocated = false;
  #fence = { number: 0, certificate: "" }; // the highest that was proved
  #goodbye = null;
  #aborted = null;

  constructor(address, login, console_, { friendly, games, restartAfterMs, finder }) {
    this.finder = finder; // null if the user has named the host
    this.games = games; // that the bot plays; undefined if it does not say so
    this.restartAfterMs = restartAfterMs;
    this.address = address;
    this.login = login;
    this.console = console_;
    this.friendly = friendly;
    this.scale = timeScale();
    this.bot = new BotThread((error) => this.#abort(error));
  }

  /** Play until the server says not to come back, and return the exit code. */
  async run() {
    this.console.say(`Connecting to ${addressText(this.address)} as team ${this.login.team} ...`);
    const watch = setInterval(() => this.#watch(), TICK_MS);
    try {
      const aborted = new Promise((_, reject) => {
        this.#aborted = reject;
      });
      return await Promise.race([this.#connections(), aborted]);
    } finally {
      this.#connection?.close();
      clearInterval(watch);
      await this.#finishCall();
      // The exit of a process waits for its threads: also for one that waits for another program.
      if (!(await within(this.bot.stop(), LAST_THREAD_MS))) process.kill(process.pid, "SIGKILL");
    }
  }

  #abort(error) {
    this.console.warn(traceOf(error));
    this.#aborted?.(new Stop(2, "the bot's file does not load in its thread; the error is above."));
  }

  /** Give a function that is still running a moment. */
  async #finishCall() {
    if (!this.#thinking) return;
    const finished = new Promise((resolve) => {
      this.#idle = resolve;
    });
    if (!(await within(finished, LAST_CALL_MS)))
      this.console.warn("getstep: getStep is still running; the program ends without it");
  }

  async #connections() {
    warmUp(); // while the bot's thread does the same
    await this.bot.loaded;
    for (;;) {
      let pause;
      try {
        const goodbye = await this.#oneConnection();
        if (this.#isDoubtful(goodbye)) throw new ConnectionFailed(withoutLastPoint(goodbyeText(goodbye)));
        const trust = { proved: this.#proved, welcomed: this.#welcomed, everProved: this.#everProved };
        if (endsTheRun(goodbye, trust)) return this.#endRun(goodbye);
        const line = `${goodbyeText(goodbye)}. Connecting again.`;
        const doubt = " The server that said so has not proved that it is your host; Ctrl-C stops the bot.";
        this.#warnOnce(goodbye.retry_ms === null ? line + doubt : line);
        pause = this.#backoff.after(goodbye, this.#proved);
      } catch (error) {
        pause = await this.#afterFailure(error);
      } finally {
        this.#connection?.close();
        this.#connection = null;
        if (this.#match?.start.friendly) this.#match = null; // it has ended with its connection
      }
      await new Promise((resolve) => {
        setTimeout(resolve, pause * this.scale);
      });
    }
  }

  get #atFound() {
    return this.finder !== null && this.finder.isFound(this.address);
  }

  /** Return true if a found server has refused the login: the token may be right, and the server not the host's. */
  #isDoubtful({ reason, retry_ms }) {
    if (!this.#atFound || this.#welcomed) return false;
    return reason === "wrong_address" || retry_ms !== null || this.#everProved || this.finder.knows(this.login.token);
  }

  /** Report a failure, choose the next address, and resolve to how long to wait. A server that was restarted is back at
   *  the same address, so the search starts after some attempts, or at once if the host's computer is gone. */
  async #afterFailure(error) {
    const [failed, atFound] = [this.address, this.#atFound];
    let found = null;
    if (this.finder && (isGone(error.message) || atFound || !this.#everWelcomed || this.#backoff.isLong)) {
      found = await this.finder.next(failed, this.console);
      this.address = found ?? this.finder.own;
    }
    const pause = this.#reportFailure(error, failed);
    return found ? 0 : pause;
  }

  #reportFailure(error, failed) {
    let why = error.message;
    if (error instanceof Unreachable && !this.#everWelcomed && !this.finder) throw new Stop(1, error.message);
    if (error instanceof ProtocolError) why = `the server broke the protocol (${escaped(error.message)}); please tell the host`;
    else if (!(error instanceof Unreachable) && !(error instanceof ConnectionFailed)) throw error;
    const what = this.#welcomed ? "Connection lost" : `No connection to ${addressText(failed)}`;
    this.#warnOnce(`${what}: ${why}. Trying again until it works; Ctrl-C stops the bot.`);
    return this.#backoff.next();
  }

  async #oneConnection() {
    this.#welcomed = false;
    this.#proved = false;
    this.#goodbye = null;
    const connection = await Connection.open(this.address);
    this.#connection = connection;
    const hello = await this.#firstMessage(connection);
    if (hello.type === "goodbye") return hello;
    if (!hello.versions.includes(PROTOCOL_VERSION)) return this.#unsuitable("unsupported_version", this.#versionText(hello));
    if ((hello.friendly === true) !== this.friendly)
      return this.#unsuitable("wrong_port", this.friendly ? NO_FRIENDLY : ONLY_FRIENDLY);
    const nonce = randomBytes(NONCE_DIGITS / 2).toString("hex");
    let dialled = null;
    if (connection.conversation.state === "login") {
      if (hello.dialled === true) dialled = dialledAddress(connection.socket);
      else if (this.#everLocated || this.#atFound) throw new ConnectionFailed(NOT_LOCATED);
      const mac = sign(this.login.token, hello.nonce, dialled);
      const client = `getstep JavaScript ${VERSION}`;
      const { team } = this.login;
      const join = { type: "join", version: PROTOCOL_VERSION, team, mac, client, purpose: "play", nonce, notices: true };
      const { number: fence, certificate: fence_certificate } = this.#fence;
      if (dialled !== null) join.dialled = dialled;
      connection.send(encodeFrame(fence === 0 ? join : { ...join, fence, fence_certificate }));
      connection.conversation.joined();
    }
    const welcome = await connection.next(WELCOME_MS);
    if (welcome.type === "goodbye") return welcome;
    this.#checkProof(hello, nonce, dialled, welcome);
    this.#onWelcome(hello, welcome);
    return this.#playUntilGoodbye(connection);
  }

  async #firstMessage(connection) {
    try {
      return await connection.next(HELLO_MS);
    } catch (error) {
      const behaviour =
        error instanceof ProtocolError ? "it speaks another protocol" : error.silent ? "it sends nothing" : "it closes the connection at once";
      throw new ConnectionFailed(`what answers there is no getstep server: ${behaviour}; the port may be wrong`);
    }
  }

  /** Return a goodbye for a server that is not logged in to. Throws Stop if none has proved itself. */
  #unsuitable(reason, detail) {
    if (!this.#everProved && !this.#atFound) throw new Stop(1, detail);
    return { type: "goodbye", reason, detail, retry_ms: null };
  }

  #versionText(hello) {
    const theirs = hello.versions.join(", ") || "none";
    return `The server speaks version ${theirs} of the protocol, this getstep ${VERSION} speaks ${PROTOCOL_VERSION}.\n${UPDATE}`;
  }

  #checkProof(hello, nonce, dialled, welcome) {
    if (welcome.proof === null) {
      if (this.#everProved)
        throw new ConnectionFailed(`${NOT_PROVED}, as it did before; to play there, start the bot again`);
      if (this.#atFound) throw new ConnectionFailed(`${NOT_PROVED}; to play there, give its address with --host`);
      return;
    }
    const proof = serverProof(this.login.token, hello.nonce, nonce, dialled);
    if (!timingSafeEqual(Buffer.from(proof), Buffer.from(welcome.proof)))
      throw new ConnectionFailed(
        "the server's proof that it knows your token is wrong, so it is not your host; check the address",
      );
    this.#proved = true;
    if (dialled !== null) this.#everLocated = true;
    this.#checkFence(hello, nonce, welcome);
  }

  /** Remember the highest fencing number; throw ConnectionFailed if it is lower than before, or not proved. */
  #checkFence(hello, nonce, { fence, fence_certificate, fence_proof }) {
    const found = { number: fence ?? 0, certificate: fence_certificate ?? "" };
    if (found.number > 0) {
      const proof = fenceProof(this.login.token, hello.nonce, nonce, found);
      const given = fence_certificate === null ? null : fence_proof;
      if (given === null || !timingSafeEqual(Buffer.from(proof), Buffer.from(given))) throw new ConnectionFailed(WRONG_FENCE);
    }
    if (found.number < this.#fence.number) throw new ConnectionFailed(EARLIER_HOST);
    this.#fence = found;
  }

  #onWelcome(hello, welcome) {
    if (this.#everWelcomed) this.console.say("Reconnected.");
    else {
      this.console.say(`Connected to ${escaped(hello.contest)} as ${escaped(welcome.name)} (team ${welcome.team}).`);
      if (this.friendly) this.console.say(FRIENDLY);
    }
    this.#welcomed = true;
    this.#everWelcomed = true;
    if (this.#proved) {
      this.#everProved = true;
      this.finder?.settle(this.address, hello.contest);
      this.#resetProblems();
    } else {
      this.#warnOnce(
        `Careful: ${NOT_PROVED}. The bot plays, but does not stop when this server says that the contest is over;` +
          " Ctrl-C stops it.",
      );
    }
  }

  async #playUntilGoodbye(connection) {
    const since = performance.now();
    try {
      for (;;) {
        await connection.wait();
        for (const message of connection.messages.splice(0)) this.#handle(message);
        if (this.#goodbye) return this.#goodbye;
        if (connection.failure) throw connection.failure;
        this.#think();
      }
    } finally {
      if (performance.now() - since >= STEADY_MS) this.#resetProblems();
    }
  }

  /** Answer the open question: with the result that there is already, or by calling the bot if it is free. */
  #think() {
    const question = this.#question;
    if (!question || !this.#connection || this.#connection.conversation.question !== question.ask.id) return;
    if (question.result) {
      this.#answer(question);
    } else if (this.games && !this.games.includes(question.match.start.game)) {
      this.#giveUp(question);
    } else if (!this.#thinking) {
      this.#thinking = question;
      this.#since = performance.now();
      this.#warnings.clear();
      this.bot.ask(question.body, question.match.start, (result) => this.#afterCall(question, result));
    }
  }

  /** Give up a match of a game that the bot does not play. */
  #giveUp(question) {
    const { match, ask } = question;
    const played = `this bot plays ${this.games.join(", ")}; the match is ${escaped(match.start.game)}`;
    this.console.warn(`${match.line(ask)}${played}. It gives up this match, and plays the next ones.`);
    question.result = { ms: 0, frame: encodeFrame({ type: "resign", id: ask.id }), resigns: true };
    this.#answer(question);
  }

  #afterCall(question, result) {
    const { match, ask } = question;
    this.#thinking = null;
    match.longestMs = Math.max(match.longestMs, result.ms);
    match.totalMs += result.ms;
    if (result.problem && this.#problems.isNew(result.problem)) this.console.warn(match.line(ask) + result.problem);
    question.result = result;
    this.#answer(question);
    this.#idle();
    this.#think(); // about a question that has come meanwhile
  }

  /** Send the answer to a question if it is open, or late if its match still runs. Otherwise keep it. */
  #answer(question) {
    const { match, ask, result } = question;
    const conversation = this.#connection?.conversation;
    const isOpen = question === this.#question && conversation?.question === ask.id;
    const connected = this.#connection?.isOpen && !this.#goodbye;
    if (connected && (isOpen || (this.#match === match && conversation.mayAnswerLate(ask.id)))) {
      const frame = result.frame ?? result.raised ?? encodeFrame({ type: "raised", id: ask.id, error: result.error });
      this.#connection.send(frame);
      this.#connection.watchHost();
      conversation.answered(ask.id);
      if (isOpen) {
        question.answered = true;
        if (result.frame && !result.resigns) match.answered.add(ask.id);
      } else if (!result.hung) {
        this.console.warn(
          `${match.latenessText(ask, result.ms)}; the turn was already over, so the answer changes nothing`,
        );
      }
    } else if (this.#match !== match && !result.hung) {
      this.console.warn(`${match.latenessText(ask, result.ms)}; the match was already over, so the answer was not sent`);
    }
  }

  // --- messages of the server ---

  #handle(message) {
    if (message.type === "start") this.#onStart(message);
    else if (message.type === "get_step") this.#onGetStep(message);
    else if (message.type === "penalty") this.#onPenalty(message);
    else if (message.type === "end") this.#onEnd(message);
    else if (message.type === "notice") this.#onNotice(message);
    else if (message.type === "goodbye") this.#goodbye = message;
  }

  #onNotice({ kind, match, text }) {
    const about = match === null ? "" : `match ${match}, `;
    this.console.warn(`From the host (${about}${escaped(kind)}): ${escaped(text)}`);
  }

  #onStart(start) {
    if (this.#match?.number === start.match) {
      this.#match.start = start;
      this.console.say(`Match ${start.match} continues.`);
      return;
    }
    if (this.#match)
      this.console.warn(`Match ${this.#match.number} ended while this bot was not connected; ask the host how.`);
    this.#match = new Match(start);
    this.#question = null;
    this.console.say(this.#match.startText());
  }

  /** Note the question. If it is repeated on a new connection, the bot's answer is kept, or its call goes on. */
  #onGetStep(ask) {
    if (!this.#question || !repeats(ask, this.#question.ask))
      this.#question = { ask, body: this.#connection.conversation.body, match: this.#match, result: null, answered: false };
  }

  #onPenalty(penalty) {
    const why = `penalty for ${escaped(penalty.reason)}: ${escaped(penalty.detail)}`;
    const question = this.#question;
    const match = this.#match;
    if (!match || question?.ask.id !== penalty.id) {
      this.console.warn(`Match ${match ? match.number : "?"}, question ${penalty.id}: ${why}`);
      return;
    }
    const { ask, result } = question;
    const illegal = penalty.reason === "illegal_move";
    this.console.warn(match.line(ask) + why + (illegal && result?.frame ? ` (you returned ${shortRepr(moveIn(result.frame))})` : ""));
    if (["illegal_move", "raised", "malformed_answer"].includes(penalty.reason) && match.boardsLeft > 0) {
      match.boardsLeft -= 1;
      const drawn = boardText(match.start.game, ask.board, result?.frame ? moveIn(result.frame) : null);
      if (drawn) this.console.warn(drawn);
    }
    if (["missed_limit", "stalled"].includes(penalty.reason) && question.answered)
      this.console.warn(`${match.latenessText(ask, result.ms)}; the answer arrived too late`);
  }

  #onEnd(end) {
    const match = this.#match;
    if (!match) return;
    for (const line of this.#problems.endMatch()) this.console.warn(`Match ${match.number}: ${line}`);
    this.console.say(match.endText(end));
    this.#match = null;
  }

  #endRun(goodbye) {
    const advice = Object.hasOwn(ADVICE, goodbye.reason) ? ADVICE[goodbye.reason] : null;
    if (advice || !this.#welcomed)
      throw new Stop(1, `Team ${this.login.team} may not play: ${goodbyeText(goodbye)}.${advice ? `\n${advice}` : ""}`);
    this.console.say(escaped(goodbye.detail || goodbye.reason));
    return 0;
  }

  // --- what is printed once, and the watchdog ---

  #warnOnce(line) {
    if (this.#warned.has(line)) return;
    if (this.#warned.size > 100) this.#warned.clear(); // a server whose every goodbye differs takes no more memory
    this.#warned.add(line);
    this.console.warn(line);
  }

  #resetProblems() {
    this.#warned.clear();
    this.#backoff.reset();
  }

  /** Say that the call takes too long, and give it up at last. Timers for each call would take 7 µs of a move. */
  #watch() {
    if (!this.#thinking) return;
    const { ask, match } = this.#thinking;
    const ms = performance.now() - this.#since;
    const lateMs = ask.time_left_ms + match.start.lag_ms;
    const stalledMs = match.stalledAfterMs(ask);
    const restartMs = this.restartAfterMs > 0 ? ask.time_left_ms + this.restartAfterMs : Infinity;
    const isDue = (warning, after) => ms >= after && !this.#warnings.has(warning) && this.#warnings.add(warning);
    if (isDue("late", lateMs))
      this.console.warn(
        `${match.line(ask)}getStep has taken ${duration(lateMs)}, over the limit of ${duration(ask.time_left_ms)}, and is still running`,
      );
    if (isDue("stalled", stalledMs)) {
      const todo =
        restartMs === Infinity || inspector.url()
          ? "Stop it with Ctrl-C, correct it and start it again: it goes on with this match."
          : `In ${duration(Math.max(0, restartMs - stalledMs))} the client starts your function again.`;
      this.console.warn(
        `${match.line(ask)}getStep has taken ${duration(stalledMs)}, ${STALLED_MISSES} limits; your bot is stalled: ` +
          `unless the match is over, the server skips its turns until getStep returns\n${todo}`,
      );
    }
    if (isDue("restart", restartMs)) this.#restart(ask, match);
  }

  /** Start the function in a new thread, because it has not returned for long. One in a debugger may. */
  #restart(ask, match) {
    if (inspector.url()) return;
    const error = `getStep has not returned, ${duration(this.restartAfterMs)} after its limit of ${duration(ask.time_left_ms)}`;
    this.console.warn(
      `${error} (match ${match.number}, move ${ask.move_number} of ${escaped(match.start.game)}).` +
        " The client starts your function again; the contest goes on.",
    );
    this.bot.restart(error);
  }
}

// --- play -----------------------------------------------------------------------------------------------------------------

/**
 * Play in a contest until it is over; the one call that a bot needs. See getstep.d.mts.
 *
 * An exception in `getStep` costs that turn only. If the server is not running yet or the connection is lost, `play`
 * connects again until it succeeds, and resumes a match in progress.
 */
export async function play(getStep, settings = {}) {
  if (!isMainThread && workerData?.getstep === "bot") return serveMainThread(getStep);
  let code;
  try {
    if (typeof getStep !== "function") throw new Stop(2, `getStep is ${shortRepr(getStep)}, expected a function`);
    if (!process.argv[1]) throw new Stop(2, "save the bot in a file: node my_bot.mjs");
    const given = { ...settings, ...parseArguments(settings.args ?? process.argv.slice(2)) };
    const console_ = new Console(given.quiet === true || Boolean(process.env.GETSTEP_QUIET));
    const stop = () => {
      console_.say("Stopped.");
      process.exit(130);
    };
    const address = findAddress(given);
    const login = findLogin(given);
    const { games } = given;
    if (games !== undefined && !(Array.isArray(games) && games.length > 0 && games.every((name) => typeof name === "string")))
      throw new Stop(2, `games is ${shortRepr(games)}, expected the names of games, such as ["hop"]`);
    process.on("SIGINT", stop);
    try {
      const isNamed = Boolean(given.host || process.env.GETSTEP_HOST || given.friendly);
      const port = given.port ?? (process.env.GETSTEP_PORT || null);
      const finder = isNamed ? null : new Finder(address, savedLogin(), port === null ? null : Number(port));
      const options = { finder, friendly: given.friendly === true, games, restartAfterMs: findRestartAfter(given) };
      code = await new Client(address, login, console_, options).run();
    } finally {
      process.removeListener("SIGINT", stop);
    }
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
    writeLine(error.exitCode === 0 ? 1 : 2, error.exitCode === 0 ? error.message : `getstep: ${error.message}`);
    code = error.exitCode;
  }
  process.exitCode = code;
  return code;
}
