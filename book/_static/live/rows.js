// Rows of Whisper tiny.en's two tables, in the pieces that tools/live.py cuts.
"use strict";

live.D = 384;
live.POSITIONS = 448;
live.WIDE = 192;  // kept apart: here rows vary ten times as much
live.NEAREST = 5;
live.arrived = new Map();  // what a piece's script has handed over
live.asked = new Map();  // piece -> promise

// Two bytes a character. Behind a "[" stands one that no script can hold, with
// its highest bit changed.
live.piece = (name, number, size, text) => {
  const codes = new Uint16Array(Math.ceil(size / 2));
  for (let i = 0, at = 0; at < codes.length; i++) {
    codes[at++] = text[i] === "[" ? text.charCodeAt(++i) ^ 0x8000 : text.charCodeAt(i);
  }
  live.arrived.set(name + number, new Uint8Array(codes.buffer, 0, size));
};

// Unzips a piece; zlib's checksum refuses one that is damaged.
live.unzip = async (bytes) => {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
};

live.ask = (name, number) => {
  const key = name + number;
  const bring = async () => {
    for (let attempt = 1; ; attempt++) {
      try {
        live.arrived.delete(key);
        await live.load(`table/${name}${String(number).padStart(3, "0")}.js`);
        return await live.unzip(live.arrived.get(key));
      } catch (error) {
        if (attempt === 3) throw new Error(`The rows ${key} could not be read`);
        await new Promise((done) => setTimeout(done, 300 * attempt));
      }
    }
  };
  if (!live.asked.has(key)) {
    live.asked.set(key, bring().catch((error) => { live.asked.delete(key); throw error; }));
  }
  return live.asked.get(key);
};

live.mean = async () => new Float32Array(await live.ask("positions", 0), 0, live.D);

// What 16 bits mean as float16: a sign, five bits of exponent, ten of fraction.
live.half = (bits) => {
  const exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const size = exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24;
  return bits >> 15 ? -size : size;
};

live.positionRow = async (p) => {
  const part = await live.ask("positions", Math.floor(p / 64));
  const bits = new Uint16Array(part, 4 * live.D + 2 * live.D * (p % 64), live.D);
  return Float32Array.from(bits, live.half);
};

live.tokenPiece = async (id) => {
  const part = await live.ask("rows", Math.floor(id / 256));
  const n = part.byteLength / (4 + 4 + 4 * live.NEAREST + live.D);
  const i = id % 256, k = live.NEAREST;
  return {
    scale: new Float32Array(part, 0, n)[i],
    wide: new Float32Array(part, 4 * n, n)[i],
    cosines: new Int16Array(part, 8 * n + 2 * k * i, k),
    nearest: new Uint16Array(part, 8 * n + 2 * k * n + 2 * k * i, k),
    bytes: new Int8Array(part, 8 * n + 4 * k * n + live.D * i, live.D),
  };
};

// mean + scale * byte, rounded to float32 at each step as NumPy does.
live.tokenRow = async (id) => {
  const { scale, wide, bytes } = await live.tokenPiece(id);
  const mean = await live.mean();
  const row = Float32Array.from(bytes, (byte, c) => Math.fround(byte * scale) + mean[c]);
  row[live.WIDE] = wide;
  return row;
};

live.neighbours = async (id) => {
  const { cosines, nearest } = await live.tokenPiece(id);
  return Array.from(nearest, (other, i) => ({ id: other, cosine: cosines[i] / 32767 }));
};
