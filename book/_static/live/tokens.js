// GPT-2's tokens of a text, with gpt-tokenizer (MIT), which is loaded when asked.
"use strict";

const live = {};
live.folder = new URL("..", document.currentScript.src).href;

live.load = (file) => new Promise((done, fail) => {
  const script = document.createElement("script");
  script.src = live.folder + file;
  script.onload = done;
  script.onerror = () => { script.remove(); fail(new Error(`${file} could not be loaded`)); };
  document.head.append(script);
});

// As OpenAI wrote it, but for white space: \s is JavaScript's there, which takes
// U+FEFF for a space and U+0085 for none. GPT-2's is Unicode's.
live.pieces = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

live.tokenizer = async () => {
  if (!window.GPTTokenizer_r50k_base) await live.load("vendor/tokenizer/r50k_base.js");
  const tokenizer = window.GPTTokenizer_r50k_base;
  tokenizer.bytePairEncodingCoreProcessor.tokenSplitRegex = live.pieces;
  return tokenizer;
};

// What each id stands for: text, or bytes that are none.
live.parts = (tokenizer) => tokenizer.bytePairEncodingCoreProcessor.bytePairRankDecoder;

// Ids of any text. Half a surrogate pair becomes U+FFFD, as in UTF-8.
live.encode = (tokenizer, text) =>
  tokenizer.encode(text.toWellFormed(), { disallowedSpecial: new Set() });

// What a token is called on the page: spaces and control characters made
// visible; a piece of a character is named by its bytes.
live.show = (text) => text
  .replace(/ /g, "␣").replace(/\n/g, "⏎").replace(/\t/g, "⇥")
  .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => `U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`)
  .replace(/^\p{M}/u, "◌$&");

live.names = (tokenizer, text, ids) => {
  const utf8 = new TextEncoder();
  const parts = live.parts(tokenizer);
  const characters = [];  // the character of each byte, and where it begins
  let begin = 0;
  for (const character of text.toWellFormed()) {
    const size = utf8.encode(character).length;
    for (let i = 0; i < size; i++) characters.push({ character, begin, size });
    begin += size;
  }
  let at = 0;
  return ids.map((id) => {
    const part = parts[id];
    const size = typeof part === "string" ? utf8.encode(part).length : part.length;
    const first = characters[at], last = characters[at + size - 1];
    const whole = first.begin === at && last.begin + last.size === at + size;
    if (typeof part === "string" && whole) { at += size; return live.show(part); }
    const seen = new Map(characters.slice(at, at + size).map((c) => [c.begin, c]));
    const name = [...seen.values()].map((c) => {
      const from = Math.max(at, c.begin) - c.begin + 1;
      const to = Math.min(at + size, c.begin + c.size) - c.begin;
      if (to - from + 1 === c.size) return live.show(c.character);
      return `${live.show(c.character)} ${from === to ? `byte ${from}` : `bytes ${from} to ${to}`} of ${c.size}`;
    }).join(" ");
    at += size;
    return name;
  });
};
