// The layer: row + position = sum, and dropout.
"use strict";

live.LONGEST = 2000;  // characters looked at: a key must not be late

live.cut = (text) => text.length <= live.LONGEST ? text
  : text.slice(0, live.LONGEST).replace(/[\uD800-\uDBFF]$/, "");  // no half a character

live.add = (a, b) => a.map((value, c) => value + b[c]);  // float32, as a and b

live.squares = (row) => row.reduce((sum, value) => sum + value * value, 0);

// How much of the sum's variance is the position's.
live.share = (token, position) => {
  const p = live.squares(position);
  return p / (live.squares(token) + p);
};

// Zero where the draw is below the rate, the rest times 1 / (1 - rate).
live.dropout = (row, rate, draws) =>
  row.map((value, c) => (draws[c] < rate ? 0 : value / (1 - rate)));

// `pad` copies of the end-of-text token in front, as a batch padded on the left.
// Rows that could not be read are null, and `missing` says why.
live.look = async (text, pad = 0) => {
  const tokenizer = await live.tokenizer();
  const seen = live.cut(text);
  const found = live.encode(tokenizer, seen);
  const names = live.names(tokenizer, seen, found);
  const room = live.POSITIONS - pad;
  const ids = [...Array(pad).fill(50256), ...found.slice(0, room)];
  const tokens = [...Array(pad).fill("<|endoftext|>"), ...names.slice(0, room)];
  let missing = null;
  const none = (error) => { missing = error; return null; };
  const tokenRows = await Promise.all(ids.map((id) => live.tokenRow(id).catch(none)));
  const positionRows = await Promise.all(ids.map((_, p) => live.positionRow(p).catch(none)));
  const sums = tokenRows.map((row, p) => row && positionRows[p] && live.add(row, positionRows[p]));
  const isCut = seen.length < text.length || found.length > room;
  return { ids, tokens, tokenRows, positionRows, sums, isCut, missing };
};

window.layer = {
  embed: async (text) => {
    const { ids, tokens, tokenRows, positionRows, sums, missing } = await live.look(text);
    if (missing) throw missing;
    return { ids, tokens, tokenRows, positionRows, sums };
  },
};
