/* A **Predict.** takes a guess, then shows what answers it, the guess above it.
   Guesses and marks stay in this browser. Where nothing can be kept, or what
   was kept is damaged, the page works as if there were none. */
document.addEventListener("DOMContentLoaded", () => {
  const LONGEST = 200; // characters of a guess
  const questions = [...document.querySelectorAll(".predict")];
  const exercises = [...document.querySelectorAll("p.exercise")];
  if (!questions.length && !exercises.length) return;
  const key = "embedding-layer:" + location.pathname.split("/").pop();
  const kept = read();

  function read() {
    try {
      const found = JSON.parse(localStorage.getItem(key)) ?? {};
      const guesses = Object.entries(found.guesses ?? {});
      return {
        guesses: new Map(guesses.map(([question, guess]) => [question, guess.slice(0, LONGEST)])),
        done: new Set(found.done),
        all: found.all === true,
      };
    } catch {
      return { guesses: new Map(), done: new Set(), all: false };
    }
  }

  function keep() {
    const record = { guesses: Object.fromEntries(kept.guesses), done: [...kept.done], all: kept.all };
    try { localStorage.setItem(key, JSON.stringify(record)); } catch { /* for this visit only */ }
    tell();
  }

  function make(kind, properties, ...inside) {
    const made = Object.assign(document.createElement(kind), properties);
    made.append(...inside);
    return made;
  }

  const predictions = questions.map((box, number) => {
    const answer = box.nextElementSibling;
    const question = box.querySelector("p").textContent.trim();
    const form = make("form", { className: "guess" });
    const items = [...box.querySelectorAll(":scope > ul > li")];
    const button = make("button", { textContent: "Show what happens" });
    // Said when it changes, and where the focus goes, since the button is gone.
    const note = make("p", { className: "guessed", tabIndex: -1 });
    note.setAttribute("role", "status");
    let looked = false;

    if (items.length) {
      const choices = items.map((item, i) => {
        const radio = make("input", { type: "radio", name: `guess-${number}`, value: i });
        const words = make("span", {}, ...(item.querySelector("p") ?? item).cloneNode(true).childNodes);
        return make("label", {}, radio, words);
      });
      form.append(make("fieldset", {}, make("legend", { textContent: "Your guess" }), ...choices), button);
    } else {
      const line = make("input", { type: "text", maxLength: LONGEST, autocomplete: "off" });
      form.append(make("label", { textContent: "Your guess " }, line), button);
    }

    const guessed = () => {
      if (!items.length) return form.querySelector("input").value.trim().slice(0, LONGEST);
      const chosen = form.querySelector(":checked");
      return chosen ? items[chosen.value].textContent.trim() : "";
    };
    const draw = () => {
      const shown = kept.all || looked || kept.guesses.has(question);
      // Such a cover is lifted by the browser's own search in the page.
      if (shown) answer.removeAttribute("hidden");
      else answer.setAttribute("hidden", "until-found");
      box.classList.toggle("asks", !shown);
      form.hidden = shown;
      const guess = kept.guesses.get(question);
      note.textContent = guess ? `You guessed: ${guess}` : guess === "" ? "You looked without a guess." : "";
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      kept.guesses.set(question, guessed());
      keep();
      draw();
      note.focus();
    });
    // folds.js sends it too, for a link that leads into what is covered.
    answer.addEventListener("beforematch", () => { looked = true; draw(); });
    box.append(form);
    box.after(note);
    return {
      draw,
      made: () => Boolean(kept.guesses.get(question)),
      forget: () => { looked = false; form.reset(); },
    };
  });

  const marks = exercises.map((paragraph) => {
    const number = paragraph.id.replace("exercise-", "").replace("-", ".");
    const box = make("input", { type: "checkbox" });
    box.setAttribute("aria-label", `Exercise ${number} done`);
    box.addEventListener("change", () => {
      if (box.checked) kept.done.add(number); else kept.done.delete(number);
      keep();
    });
    paragraph.append(make("label", { className: "done" }, box, "done"));
    return { draw: () => { box.checked = kept.done.has(number); } };
  });

  const count = make("span", {});
  const all = make("input", { type: "checkbox" });
  const over = make("button", { type: "button", textContent: "Start over" });
  const drawAll = () => [...predictions, ...marks].forEach((part) => part.draw());

  function tell() {
    const said = [];
    const made = predictions.filter((part) => part.made()).length;
    const done = exercises.filter((e) => e.querySelector(".done :checked")).length;
    if (predictions.length) said.push(`${made} of ${predictions.length} guesses made`);
    if (exercises.length) said.push(`${done} of ${exercises.length} exercises done`);
    count.textContent = said.join(", ");
    all.checked = kept.all;
    over.hidden = !kept.guesses.size && !kept.done.size;
  }

  all.addEventListener("change", () => { kept.all = all.checked; keep(); drawAll(); });
  over.addEventListener("click", () => {
    kept.guesses.clear();
    kept.done.clear();
    kept.all = false;
    predictions.forEach((part) => part.forget());
    drawAll();
    keep();
    all.focus();
  });
  const line = make("p", { className: "progress-line" }, count);
  if (predictions.length) line.append(make("label", {}, all, "Show everything"));
  line.append(over);
  (document.querySelector("p.reading") ?? document.querySelector("h1")).after(line);
  drawAll();
  tell();
});
