/* What a link, a table of contents or the search leads to is opened: a folded
   section, a folded cell, a covered answer. It runs after predict.js. */
document.addEventListener("DOMContentLoaded", () => {
  const open = (target) => {
    for (let box = target; box; box = box.parentElement) {
      if (box.matches("details")) box.open = true;
      // What the browser sends when its own search finds something covered.
      if (box.matches(".answer[hidden]")) box.dispatchEvent(new Event("beforematch"));
      const below = box === target && box.querySelector(":scope > details.deeper");
      if (below) below.open = true;
    }
  };
  const arrive = () => {
    let target = null;
    try { target = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch { /* no address */ }
    if (!target) return;
    open(target);
    target.scrollIntoView();
  };
  arrive();
  window.addEventListener("hashchange", arrive);
  // A link to where the address already points changes nothing in it.
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href*="#"]');
    if (link && link.href === location.href) arrive();
  });
  // Sphinx marks the words that were searched for 10 ms after this event.
  setTimeout(() => document.querySelectorAll("article .highlighted").forEach(open), 30);
});
