/* Paper is white, whichever theme is chosen. */
const paper = matchMedia("print");
paper.addEventListener("change", () => {
  const page = document.documentElement.dataset;
  if (paper.matches) [page.shown, page.theme] = [page.theme, "light"];
  else page.theme = page.shown;
});

/* A table, formula or picture wider than its place is scrolled by keys too. */
const scrolled = (() => {
  const mark = (box) => {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  };
  const sizes = new ResizeObserver((seen) => seen.forEach((s) => mark(s.target)));
  const boxes = ".pst-scrollable-table-container, div.math, .book-figure, .widget-still, .widget-html-content";
  return () => document.querySelectorAll(boxes).forEach((box) => sizes.observe(box));
})();
document.addEventListener("DOMContentLoaded", scrolled);

/* Load the widget manager when a saved widget comes near the screen, swap the
   still picture for it, and name the slider's handle for screen readers. */
document.addEventListener("DOMContentLoaded", () => {
  const views = document.querySelectorAll('script[type="application/vnd.jupyter.widget-view+json"]');
  if (!views.length) return;
  const base = new URL("vendor/widgets/embed.js", document.querySelector('script[src*="book.js"]').src);

  // A caption that has stood still for half a second is announced.
  let waiting = 0;
  const tell = (box) => {
    let status = box.querySelector("[role=status]");
    if (!status) {
      status = document.createElement("p");
      status.setAttribute("role", "status");
      status.className = "visually-hidden";
      box.append(status);
    }
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const captions = [...box.querySelectorAll(".widget-html-content p")];
      const shown = captions.find((caption) => caption.checkVisibility());
      status.textContent = shown ? shown.textContent.trim() : "";
    }, 500);
  };

  const name = (root) => {
    root.querySelectorAll(".widget-slider, .jupyter-widgets.widget-inline-hbox").forEach((row) => {
      const label = row.querySelector(".widget-label");
      const readout = row.querySelector(".widget-readout");
      const handle = row.querySelector(".noUi-handle");
      if (!handle || handle.hasAttribute("aria-label")) return;
      handle.setAttribute("aria-label", label ? label.textContent.trim() : "slider");
      const say = () => handle.setAttribute("aria-valuetext", readout ? readout.textContent.trim() : "");
      say();
      const changed = () => { say(); tell(row.closest(".widget-subarea")); };
      if (readout) new MutationObserver(changed).observe(readout, { childList: true, characterData: true, subtree: true });
    });
    // These buttons have an icon and no word; play turns into pause.
    const words = { "fa-play": "Play", "fa-pause": "Pause", "fa-stop": "Stop", "fa-retweet": "Repeat" };
    root.querySelectorAll(".widget-play button").forEach((button) => {
      const icon = Object.keys(words).find((drawn) => button.querySelector(`.${drawn}`));
      if (!icon) return;
      button.setAttribute("aria-label", words[icon]);
      if (icon === "fa-retweet") button.setAttribute("aria-pressed", button.classList.contains("mod-active"));
    });
  };

  let loaded = false;
  const load = () => {
    if (loaded) return;
    loaded = true;
    new MutationObserver((_, watcher) => {
      document.querySelectorAll(".widget-still").forEach((still) => {
        const live = still.parentElement.querySelector(".widget-subarea, .jupyter-widgets");
        if (live && live.querySelector("svg")) still.remove();
      });
      name(document);
      scrolled();
    }).observe(document.querySelector("main") || document.body,
      { childList: true, subtree: true, attributes: true, attributeFilter: ["class"] });
    // The manager waits for the page's load event, which is over: run its
    // listener when the script has come.
    const add = window.addEventListener;
    const starts = [];
    window.addEventListener = (type, listener, ...rest) =>
      type === "load" ? starts.push(listener) : add.call(window, type, listener, ...rest);
    const script = document.createElement("script");
    script.src = base;
    script.onload = () => {
      window.addEventListener = add;
      starts.forEach((start) => start());
    };
    document.head.append(script);
  };
  const near = new IntersectionObserver((seen) => { if (seen.some((s) => s.isIntersecting)) load(); }, { rootMargin: "600px" });
  views.forEach((view) => near.observe(view.parentElement));
});

/* A click on a heading sorts the table, a second one turns the order round. */
document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("table.sortable").forEach((table) => {
    const [head, ...rows] = table.rows;
    const value = (row, column) => {
      const cell = row.cells[column];
      const said = cell.dataset.value ?? cell.textContent;
      return said !== "" && !isNaN(said) ? Number(said) : said;
    };
    [...head.cells].forEach((cell, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...cell.childNodes);
      cell.append(button);
      button.addEventListener("click", () => {
        const turned = cell.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        [...head.cells].forEach((other) => other.removeAttribute("aria-sort"));
        cell.setAttribute("aria-sort", turned > 0 ? "ascending" : "descending");
        rows.sort((a, b) => turned * (value(a, column) > value(b, column) ? 1 : -1));
        rows.forEach((row) => row.parentElement.append(row));
      });
    });
  });
});
