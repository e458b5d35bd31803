// What the reader sees: each `div.live` names its parts in `data-parts`, and in
// `data-sentence` the one that its still example shows.
"use strict";

live.make = (kind, properties = {}, ...inside) => {
  const made = document.createElement(kind);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value; else made.setAttribute(name, value);
  }
  made.append(...inside);
  return made;
};

live.digits = (value, places = 4) => value.toFixed(places).replace("-", "−");

// One bar a column; `largest` is the value that fills half the height.
live.bars = (row, largest) => [...row].map((value, c) => {
  const height = Math.max(-1, Math.min(1, value / largest)) * 29;
  return `M${c + 0.5} 30v${(-height).toFixed(2)}`;
}).join("");

live.start = (root) => {
  const make = live.make;
  const parts = root.dataset.parts.split(" ");
  const first = root.dataset.sentence;
  const still = [...root.childNodes];
  let found = null, turn = 0, late = 0, linking = 0, begun = false;
  const draws = () => Float32Array.from({ length: live.D }, Math.random);
  const state = { text: first, chosen: 0, column: 0, pad: 0, rate: 0.1, training: true, draws: draws() };

  const status = make("p", { className: "live-status" });
  status.setAttribute("role", "status");
  const again = make("button", { type: "button", textContent: "Try again", hidden: true });
  again.addEventListener("click", () => change({}));
  const sections = {};

  // ---- the sentence, and what can be done to it
  const input = make("textarea", { rows: 2, spellcheck: false, dir: "auto", value: state.text });
  const label = make("label", {}, "Your sentence", input);
  const say = (text) => { if (status.textContent !== text) status.textContent = text; };
  input.addEventListener("input", () => begun && change({ text: input.value, chosen: 0, pad: 0 }));
  sections.sentence = make("div", {}, label);

  // ---- tokens and ids
  const list = make("ol", { className: "live-tokens" });
  list.setAttribute("aria-label", "Tokens and their ids");
  const shapes = make("p", { className: "live-shapes" });
  sections.tokens = make("div", {}, list, shapes);
  list.addEventListener("click", (event) => {
    const item = event.target.closest("li");
    if (item) choose([...list.children].indexOf(item));
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    choose(Math.min(list.children.length - 1, Math.max(0, state.chosen + step)));
    list.children[state.chosen].firstChild.focus();
  });
  const choose = (chosen) => { state.chosen = chosen; draw(); };

  const drawTokens = () => {
    while (list.children.length > found.ids.length) list.lastChild.remove();
    found.ids.forEach((id, p) => {
      let item = list.children[p];
      if (!item) {
        item = make("li", {}, make("button", { type: "button" }, make("bdi"), " ", make("small")));
        list.append(item);
      }
      const [name, number] = item.firstChild.querySelectorAll("bdi, small");
      if (name.textContent !== found.tokens[p]) name.textContent = found.tokens[p];
      if (number.textContent !== String(id)) number.textContent = id;
      const pressed = String(p === state.chosen);
      if (item.firstChild.getAttribute("aria-pressed") !== pressed) item.firstChild.setAttribute("aria-pressed", pressed);
    });
    const n = found.ids.length;
    shapes.textContent = `ids (1, ${n}) · token rows (1, ${n}, 384) + position rows (${n}, 384) → sum (1, ${n}, 384)`;
  };

  // ---- the rows of the chosen token
  const chart = (name) => {
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    const mark = document.createElementNS("http://www.w3.org/2000/svg", "path");
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 384 60");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("role", "img");
    mark.setAttribute("class", "mark");
    svg.append(mark, path);
    const title = make("p", { className: "live-title" });
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      look(Math.floor(384 * (event.clientX - box.left) / box.width));
    });
    const draw = (row, said, largest) => {
      path.setAttribute("d", live.bars(row, largest));
      mark.setAttribute("d", `M${state.column + 0.5} 0v60`);
      title.textContent = `${name(said)}: column ${state.column} is ${live.digits(row[state.column])}`;
      const top = row.reduce((best, value, c) => (Math.abs(value) > Math.abs(row[best]) ? c : best), 0);
      svg.setAttribute("aria-label", `384 bars. The largest is ${live.digits(row[top])}, in column ${top}.`);
    };
    return { box: make("div", { className: "live-chart" }, title, svg), draw };
  };
  const charts = [
    chart((said) => `Token row of ${said.name}, id ${said.id}`),
    chart((said) => `Position row ${said.p}`),
    chart(() => "Their sum"),
  ];
  const dropped = chart(() => "After dropout");
  const look = (column) => {
    state.column = Math.min(live.D - 1, Math.max(0, column));
    slide.value = state.column;
    drawRows();
  };
  const slide = make("input", { type: "range", min: 0, max: live.D - 1, value: 0 });
  slide.addEventListener("input", () => look(Number(slide.value)));
  const share = make("p");
  sections.row = make("div", {}, ...charts.map((c) => c.box), make("label", { className: "live-slide" }, "Column", slide), share);

  const drawRows = () => {
    const p = state.chosen;
    if (!found || !found.sums[p]) return;
    const rows = [found.tokenRows[p], found.positionRows[p], found.sums[p]];
    const said = { name: found.tokens[p], id: found.ids[p], p };
    const sizes = rows.flatMap((row) => [...row].map(Math.abs)).sort((a, b) => a - b);
    const largest = sizes[Math.floor(0.98 * sizes.length)];
    charts.forEach((c, i) => c.draw(rows[i], said, largest));
    const percent = (100 * live.share(rows[0], rows[1])).toFixed(1);
    share.textContent = `The position's share of the sum, in squares: ${percent} %. The one bar in fifty that is longest leaves the frame and is cut.`;
    const after = state.training ? live.dropout(rows[2], state.rate, state.draws) : rows[2];
    dropped.draw(after, said, largest);
    const gone = after.reduce((n, value) => n + (value === 0), 0);
    outcome.textContent = state.training
      ? `In training, at the rate ${state.rate}: ${gone} of 384 are zero in this draw, the others are multiplied by ${(1 / (1 - state.rate)).toFixed(2)}.`
      : "In evaluation nothing is dropped: the sum goes on as it is.";
  };

  // ---- dropout
  const rate = make("input", { type: "range", min: 0, max: 0.9, step: 0.1, value: 0.1 });
  rate.addEventListener("input", () => { state.rate = Number(rate.value); drawRows(); });
  const training = make("input", { type: "checkbox", checked: true });
  training.addEventListener("change", () => { state.training = training.checked; drawRows(); });
  const fresh = make("button", { type: "button", textContent: "Draw again" });
  fresh.addEventListener("click", () => { state.draws = draws(); drawRows(); });
  const outcome = make("p");
  outcome.setAttribute("aria-live", "polite");
  sections.dropout = make("div", {}, dropped.box,
    make("label", { className: "live-slide" }, "Rate", rate),
    make("label", {}, training, " train mode"), " ", fresh, outcome);

  // ---- nearest rows
  const near = make("ol", { className: "live-near" });
  const nearTitle = make("p");
  sections.neighbours = make("div", {}, nearTitle, near);
  const drawNear = async (mine) => {
    if (!parts.includes("neighbours") || !found.sums[state.chosen]) { near.replaceChildren(); return; }
    const id = found.ids[state.chosen];
    const [others, tokenizer] = [await live.neighbours(id), await live.tokenizer()];
    if (mine !== turn || id !== found.ids[state.chosen]) return;
    nearTitle.textContent = `The rows nearest to that of ${found.tokens[state.chosen]}, by cosine:`;
    near.replaceChildren(...others.map((other) => {
      const part = live.parts(tokenizer)[other.id];
      const name = typeof part === "string" ? live.show(part)
        : part ? `bytes ${[...part].map((b) => b.toString(16).toUpperCase()).join(" ")}` : "<|endoftext|>";
      return make("li", {}, make("bdi", { textContent: name }), ` ${live.digits(other.cosine, 3)}`);
    }));
  };

  // ---- changes that show what the chapters prove
  const told = make("p");
  told.setAttribute("aria-live", "polite");
  const link = (text, page, claim) => make("a", { href: new URL(`../notebooks/${page}.html#claim-${claim}`, live.folder).href, textContent: text });
  const tell = (...said) => told.replaceChildren(...said);
  const equal = (a, b) => Boolean(a && b) && a.every((value, c) => value === b[c]);
  const button = (name, act) => {
    const made = make("button", { type: "button", textContent: name });
    made.addEventListener("click", act);
    return made;
  };
  const swap = async () => {
    const before = found;
    const words = input.value.split(/(\s+)/);
    const at = words.flatMap((word, i) => (/\S/.test(word) ? [i] : []));
    const [i, j] = [at[1], at.find((k) => k > at[1] && words[k] !== words[at[1]])];
    if (j === undefined) { tell("Swapping takes three words or more, two of them different."); return; }
    [words[i], words[j]] = [words[j], words[i]];
    input.value = words.join("");
    await change({ text: input.value, pad: 0 });
    const count = before.ids.filter((id, p) => id !== found.ids[p]).length;
    const same = [...before.ids].sort().join() === [...found.ids].sort().join();
    tell(`“${words[j]}” and “${words[i]}” have changed places. ${same ? "The set of token rows is the same" : "Some tokens are others now"}, and ${count} of ${found.ids.length} positions hold another sum. What a mean makes of order: `, link("Claim 3.1", "03_positional_embeddings", "3-1"), ".");
  };
  const repeat = async () => {
    if (!found.ids.length) return;
    const word = input.value.trim().split(/\s+/).at(-1) ?? "";
    input.value = `${input.value.trimEnd()} ${word} ${word}`;
    await change({ text: input.value, pad: 0 });
    const a = found.ids.length - 1;
    const b = found.ids.lastIndexOf(found.ids[a], a - 1);
    state.chosen = a;
    draw();
    if (b < 0) { tell("The last token stands there once."); return; }
    const rows = equal(found.tokenRows[a], found.tokenRows[b]) ? "one token row" : "two token rows";
    const sums = equal(found.sums[a], found.sums[b]) ? "equal sums" : "different sums";
    tell(`Positions ${b} and ${a} hold the same token: ${rows}, ${sums}. Who pulls at a row that is used twice: `, link("Claim 2.3", "02_lookup_tables", "2-3"), ".");
  };
  const padLeft = async () => {
    const before = found;
    await change({ pad: state.pad ? 0 : 2 });
    if (!state.pad) { tell("The padding is gone."); return; }
    const k = state.pad, rest = before.ids.slice(0, found.ids.length - k);
    const tokens = rest.filter((_, p) => equal(before.tokenRows[p], found.tokenRows[p + k])).length;
    const sums = rest.filter((_, p) => equal(before.sums[p], found.sums[p + k])).length;
    tell(`Two padding tokens in front. ${tokens} of ${rest.length} token rows are as before, ${sums} of ${rest.length} sums: all moved two columns on. The cure is `, link("Claim 3.10", "03_positional_embeddings", "3-10"), ".");
  };
  sections.change = make("div", {}, button("Swap two words", swap), " ", button("Repeat the last word", repeat), " ", button("Pad on the left", padLeft), told);

  // ---- to take along
  const copied = make("p");
  copied.setAttribute("aria-live", "polite");
  const code = make("textarea", { rows: 6, readOnly: true, hidden: true, className: "live-code" });
  code.setAttribute("aria-label", "Python that prints the same numbers");
  const copy = async (text, what) => {
    try {
      await navigator.clipboard.writeText(text);
      copied.textContent = `${what} is copied.`;
    } catch {
      code.value = text;
      code.hidden = false;
      code.select();
      copied.textContent = `${what} stands below: copy it from there.`;
    }
  };
  sections.take = make("div", {},
    button("Copy as Python", () => copy(live.python(found, state.chosen), "The cell")), " ",
    button("Copy a link to this sentence", () => { address(); copy(location.href, "The link"); }), copied, code);

  const draw = () => {
    if (!found) return;
    state.chosen = Math.max(0, Math.min(state.chosen, found.ids.length - 1));
    drawTokens();
    for (const name of ["row", "dropout", "neighbours", "take"]) sections[name].hidden = !found.sums[state.chosen];
    drawRows();
    drawNear(turn).catch((error) => say(`${error.message}.`));
  };

  // The address carries the sentence, in its fragment: no server sees it.
  const address = () => {
    const sent = encodeURIComponent(live.cut(state.text).toWellFormed());
    try {
      history.replaceState(null, "", state.text === first ? location.pathname : `#s=${sent}`);
    } catch { /* some browsers allow so many a minute */ }
  };

  async function change(news) {
    Object.assign(state, news);
    const mine = ++turn;
    clearTimeout(late);
    late = setTimeout(() => say("Loading rows …"), 300);
    again.hidden = true;
    try {
      const next = await live.look(state.text, state.pad);
      if (mine !== turn) return;
      found = next;
      draw();
      clearTimeout(linking);
      if (root.id === "live") linking = setTimeout(address, 300);
      if (found.missing) throw found.missing;
      const n = found.ids.length;
      say(found.isCut ? `Longer than this page works with: it stops at ${live.LONGEST} characters or ${live.POSITIONS} tokens, here after ${n}.`
        : n ? `${n} token${n > 1 ? "s" : ""}.` : "Nothing typed yet.");
    } catch (error) {
      if (mine !== turn) return;
      say(`${error.message}. Is the site complete? All that needs no such rows works.`);
      again.hidden = false;
    } finally {
      clearTimeout(late);
    }
  }

  const wanted = () => {
    const sent = new URLSearchParams(location.hash.slice(1)).get("s");
    return root.id === "live" && sent ? live.cut(sent) : first;
  };
  // The still example stands until the reader does something: only then come the
  // tokenizer and the rows.
  root.prepend(sections.sentence, status, again);
  say("A click into the field loads the tokenizer and the first rows, some 700 kB.");
  const begin = () => {
    root.removeEventListener("focusin", begin);
    still.forEach((node) => node.remove());
    root.append(...parts.filter((name) => name !== "sentence").map((name) => sections[name]));
    begun = true;
    return change({ text: input.value });
  };
  root.addEventListener("focusin", begin);
  input.value = wanted();
  if (root.id === "live") {
    addEventListener("hashchange", () => {
      if (wanted() !== state.text) { input.value = wanted(); if (!begun) begin(); else change({ text: input.value, chosen: 0, pad: 0 }); }
    });
    if (input.value !== first) begin();
  }
};

// A cell that prints the chosen token's sum. Rows that the package lacks are in it.
live.python = (found, p) => {
  const base64 = (row) => btoa(String.fromCharCode(...new Uint8Array(row.buffer, row.byteOffset, row.byteLength)));
  const rows = new Map(found.ids.map((id, i) => [id, base64(found.tokenRows[i])]));
  const start = [...found.sums[p].slice(0, 4)];
  return `import base64

import numpy as np
import torch

from book_helpers.whisper import load_whisper_tables
from embedding_layer import TransformerEmbeddings

ids = torch.tensor([[${found.ids.join(", ")}]])  # (1, ${found.ids.length})
rows = {  # token rows of Whisper tiny.en, float32
${[...rows].map(([id, text]) => `    ${id}: "${text}",`).join("\n")}
}
layer = TransformerEmbeddings(50257, 384, 448, dropout=0.1).eval()
with torch.no_grad():
    layer.position_embeddings.weight.copy_(load_whisper_tables().positions)
    for token_id, text in rows.items():
        row = np.frombuffer(base64.b64decode(text), "<f4")
        layer.token_embeddings.weight[token_id] = torch.tensor(row)
    print(layer(ids)[0, ${p}, :4].tolist())
# the page: [${start.join(", ")}]
`;
};

document.querySelectorAll(".live").forEach(live.start);
