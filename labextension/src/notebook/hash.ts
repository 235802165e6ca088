/**
 * The hash of a cell's source, equal to the kernel's `source_hash`.
 *
 * Computed here and at once: `crypto.subtle` is asynchronous, and absent where a server is reached
 * over plain http by a host name; an edit must be checked and applied in one go.
 */

const K = new Uint32Array(64);
const START = new Uint32Array(8);

/** The first 32 bits of the fractional parts of the square and cube roots of the first primes. */
function fillConstants(): void {
  let found = 0;
  for (let candidate = 2; found < 64; candidate++) {
    let prime = true;
    for (let divisor = 2; divisor * divisor <= candidate; divisor++) {
      prime &&= candidate % divisor !== 0;
    }
    if (prime) {
      const fraction = (root: number) => ((root % 1) * 2 ** 32) >>> 0;
      if (found < 8) {
        START[found] = fraction(Math.sqrt(candidate));
      }
      K[found++] = fraction(Math.cbrt(candidate));
    }
  }
}

const rotate = (x: number, n: number): number => (x >>> n) | (x << (32 - n));

function sha256(bytes: Uint8Array): Uint32Array {
  if (K[0] === 0) {
    fillConstants();
  }
  const blocks = (bytes.length + 9 + 63) >> 6;
  const padded = new DataView(new ArrayBuffer(blocks * 64));
  new Uint8Array(padded.buffer).set(bytes);
  padded.setUint8(bytes.length, 0x80);
  padded.setUint32(blocks * 64 - 8, Math.floor(bytes.length / 2 ** 29));
  padded.setUint32(blocks * 64 - 4, bytes.length << 3);
  const at = (array: Uint32Array, index: number): number => array[index] ?? 0;
  const state = START.slice();
  const w = new Uint32Array(64);
  for (let block = 0; block < blocks; block++) {
    for (let i = 0; i < 16; i++) {
      w[i] = padded.getUint32(block * 64 + i * 4);
    }
    for (let i = 16; i < 64; i++) {
      const x = at(w, i - 15);
      const y = at(w, i - 2);
      const s0 = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3);
      const s1 = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10);
      w[i] = at(w, i - 16) + s0 + at(w, i - 7) + s1;
    }
    let [a, b, c, d, e, f, g, h] = state as unknown as number[] as [
      number, number, number, number, number, number, number, number
    ];
    for (let i = 0; i < 64; i++) {
      const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + at(K, i) + at(w, i)) | 0;
      const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((value, i) => {
      state[i] = at(state, i) + value;
    });
  }
  return state;
}

/** First 12 hex digits of the SHA-256 of `source` as UTF-8; lone surrogates count as `?`. */
export function sourceHash(source: string): string {
  const bytes = new TextEncoder().encode(source.replace(/\p{Surrogate}/gu, '?'));
  return [...sha256(bytes).subarray(0, 2)]
    .map(word => word.toString(16).padStart(8, '0'))
    .join('')
    .slice(0, 12);
}
