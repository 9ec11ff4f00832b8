// Reads commands of one line each, and prints a line of JSON for each: see tests/sdk/test_vectors_in_languages.py.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const sdk = await import(pathToFileURL(process.argv[2]).href);
const { Float, ProtocolError, Unsendable } = sdk;

const NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Parse JSON in which 1.0 is not 1, and large integers are exact. */
function parse(text) {
  const marked = text.replace(NUMBER, (token) => {
    if (token.startsWith('"')) return token;
    if (/[.eE]/.test(token)) return `{"$float":${token}}`;
    return token.length > 15 ? `{"$big":"${token}"}` : token;
  });
  return JSON.parse(marked, (_, value) => {
    if (value?.$float !== undefined) return new Float(value.$float);
    return value?.$big === undefined ? value : BigInt(value.$big);
  });
}

/** Return JSON in which 1.0 is not 1, and large integers are exact. */
function json(value) {
  if (value instanceof Float) {
    const text = Number.isFinite(value.value) ? String(value.value) : "0";
    if (Object.is(value.value, -0)) return "-0.0";
    return /[.e]/.test(text) ? text : `${text}.0`;
  }
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `[${value.map(json).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}:${json(item)}`).join(",")}}`;
}

function stream(bytes) {
  const reader = new sdk.FrameReader();
  reader.feed(bytes);
  const bodies = [];
  try {
    for (let body = reader.next(); body; body = reader.next()) bodies.push(body.toString("hex"));
  } catch (error) {
    return { bodies, code: error.code, partial: false };
  }
  return { bodies, code: null, partial: reader.partial };
}

function conversation(frames) {
  const client = new sdk.Conversation();
  const messages = [];
  for (const frame of frames) {
    const bytes = Buffer.from(frame.bytes, "hex");
    if (frame.from === "server") {
      for (const byte of bytes) {
        client.feed(Buffer.from([byte]));
        for (let message = client.next(); message; message = client.next()) messages.push(message.type);
      }
    } else if (client.state === "login") {
      client.joined();
    } else {
      const { id } = sdk.decodeBody(bytes.subarray(4));
      if (id !== client.question && !client.mayAnswerLate(id)) throw new Error("out of turn");
      client.answered(id);
    }
  }
  return { messages };
}

function sent(message) {
  try {
    return { frame: sdk.encodeFrame(message).toString("hex") };
  } catch (error) {
    if (error instanceof Unsendable) return { refused: true };
    throw error;
  }
}

/** Return what the SDK says of a nonce: it is a field of `hello`. */
function nonce(value) {
  sdk.checkMessage(Object.assign(Object.create(null), { type: "hello", versions: [1], nonce: value, contest: "", server: "" }));
  return {};
}

/** Return the frame of an answer with the notes of some calls, and what the author reads. */
function noted({ board, calls, move }) {
  const lines = [];
  const notes = new sdk.Notes((line) => lines.push(line));
  notes.begin(board);
  for (const [name, ...given] of calls) {
    const values = given.map((value) => (value instanceof Float ? value.value : value));
    if (name === "end") notes.end();
    else if (name === "draw") notes.draw(values[0], { label: values[1], color: values[2], shape: values[3] });
    else notes[name](...values);
  }
  const frame = sdk.answerFrame({ type: "step", id: 31, move }, notes);
  return { frame: frame.toString("hex"), lines };
}

const COMMANDS = {
  body: (argument) => ({ value: sdk.decodeBody(Buffer.from(argument, "hex")) }),
  message: (argument) => ({ message: sdk.checkMessage(sdk.decodeBody(Buffer.from(argument, "hex"))) }),
  stream: (argument) => stream(Buffer.from(argument, "hex")),
  sent: (argument) => sent(parse(argument)),
  signature: (argument) => {
    const given = parse(argument);
    const token = sdk.canonicalToken(given.typed);
    const { nonce, client_nonce, dialled } = given;
    return {
      token,
      mac: sdk.sign(token, nonce),
      proof: sdk.serverProof(token, nonce, client_nonce),
      dialled_mac: sdk.sign(token, nonce, dialled),
      dialled_proof: sdk.serverProof(token, nonce, client_nonce, dialled),
    };
  },
  nonce: (argument) => nonce(parse(argument)),
  sha256: (argument) => ({ digest: createHash("sha256").update(Buffer.from(argument, "hex")).digest("hex") }),
  conversation: (argument) => conversation(parse(argument)),
  notes: (argument) => noted(parse(argument)),
  escaped: (argument) => ({ text: sdk.escaped(parse(argument)) }),
  trace: (argument) => ({ text: sdk.traceOf(new Error(parse(argument))) }),
  duration: (argument) => ({ text: sdk.duration(Number(argument)) }),
};

const answers = readFileSync(0, "utf8").split("\n").slice(0, -1).map((line) => {
  const space = line.indexOf(" ");
  const [command, argument] = space < 0 ? [line, ""] : [line.slice(0, space), line.slice(space + 1)];
  try {
    return json(COMMANDS[command](argument));
  } catch (error) {
    return JSON.stringify(error instanceof ProtocolError ? { code: error.code } : { failed: String(error) });
  }
});
process.stdout.write(answers.map((answer) => `${answer}\n`).join(""));
