// The signature of a login: HMAC-SHA256. A page that comes over plain HTTP has no crypto.subtle.

const TOKEN = /^[abcdefghjkmnpqrstuvwxyz23456789]{12}$/;

/** Return a token as `canonical_token` in getstep.wire does: lower case, three groups of four, with dashes. */
export function canonicalToken(text) {
  const letters = text.replace(/[-\s]/g, "").toLowerCase();
  return TOKEN.test(letters) ? `${letters.slice(0, 4)}-${letters.slice(4, 8)}-${letters.slice(8)}` : text;
}

/** Return the signature of a nonce for the login on this page, as `sign_page_login` in getstep.wire does. */
export const signPageLogin = (token, nonce) => hex(signed(token, `login v1:${nonce}`));

/** Return the new token that the page has masked with the old one. */
export function unmasked(digits, token, nonce) {
  const mask = signed(token, `new token v1:${nonce}`);
  return String.fromCharCode(...digits.match(/../g).map((pair, n) => parseInt(pair, 16) ^ mask[n]));
}

const encoded = (text) => new TextEncoder().encode(text);
const signed = (token, text) => hmac(encoded(token), encoded(`getstep page ${text}`));

function hmac(key, message) {
  const block = new Uint8Array(64);
  block.set(key.length > 64 ? sha256(key) : key);
  const inner = sha256(joined(block.map((byte) => byte ^ 0x36), message));
  return sha256(joined(block.map((byte) => byte ^ 0x5c), inner));
}

const joined = (one, other) => Uint8Array.from([...one, ...other]);
const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** The first 32 bits of the fractional parts of square or cube roots of the first primes (FIPS 180-4). */
function roots(count, power) {
  const primes = [];
  for (let n = 2; primes.length < count; n++) if (primes.every((prime) => n % prime)) primes.push(n);
  return primes.map((prime) => ((prime ** power % 1) * 2 ** 32) | 0);
}

function sha256(bytes) {
  const constants = roots(64, 1 / 3);
  const hash = roots(8, 1 / 2);
  const padded = new Uint8Array((((bytes.length + 8) >> 6) + 1) << 6);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 4, 8 * bytes.length);
  const turn = (x, n) => (x >>> n) | (x << (32 - n));
  const w = new Int32Array(64);
  for (let start = 0; start < padded.length; start += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getInt32(start + 4 * i);
    for (let i = 16; i < 64; i++) {
      const [x, y] = [w[i - 15], w[i - 2]];
      w[i] = w[i - 16] + w[i - 7] + (turn(x, 7) ^ turn(x, 18) ^ (x >>> 3)) + (turn(y, 17) ^ turn(y, 19) ^ (y >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = hash;
    for (let i = 0; i < 64; i++) {
      const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + constants[i] + w[i]) | 0;
      const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [a, b, c, d, e, f, g, h] = [(one + two) | 0, a, b, c, (d + one) | 0, e, f, g];
    }
    [a, b, c, d, e, f, g, h].forEach((value, i) => (hash[i] = (hash[i] + value) | 0));
  }
  return Uint8Array.from(hash.flatMap((value) => [24, 16, 8, 0].map((n) => value >> n)));
}
