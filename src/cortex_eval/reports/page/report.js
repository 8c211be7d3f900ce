"use strict";
// Filters for the cases; their state is in the address, so that a view can be sent to a colleague.
(() => {
  const bar = document.getElementById("filters");
  if (!bar) return;
  const cases = [...document.querySelectorAll("details.case")];
  const chips = [...bar.querySelectorAll("button")];
  const picks = [...bar.querySelectorAll("select")];
  const search = bar.querySelector("input");
  const empty = document.getElementById("no-case");
  const state = { state: "", category: "", tier: "", language: "", q: "" };

  function read() {
    const asked = new URLSearchParams(location.hash.slice(1));
    for (const name in state) state[name] = asked.get(name) || "";
  }
  function show() {
    const words = state.q.toLowerCase();
    let shown = 0;
    for (const each of cases) {
      const fits = ["state", "category", "tier", "language"].every((n) => !state[n] || each.dataset[n] === state[n]);
      each.hidden = !(fits && (!words || each.textContent.toLowerCase().includes(words)));
      if (!each.hidden) shown += 1;
    }
    empty.hidden = shown > 0;
    for (const chip of chips) chip.setAttribute("aria-pressed", String(chip.value === state.state));
    for (const pick of picks) pick.value = state[pick.name];
    if (search.value !== state.q) search.value = state.q;
  }
  function set(name, value) {
    state[name] = value;
    const kept = new URLSearchParams(Object.entries(state).filter(([, v]) => v));
    history.replaceState(null, "", "#" + kept);
    show();
  }
  function move(step) {
    const seen = cases.filter((each) => !each.hidden);
    const at = seen.findIndex((each) => each.contains(document.activeElement));
    const next = seen[Math.min(Math.max(at + step, 0), seen.length - 1)];
    if (next) next.querySelector("summary").focus();
  }

  for (const chip of chips) chip.addEventListener("click", () => set("state", chip.value));
  for (const pick of picks) pick.addEventListener("change", () => set(pick.name, pick.value));
  search.addEventListener("input", () => set("q", search.value));
  addEventListener("hashchange", () => { read(); show(); });
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
    if (event.key === "/") { event.preventDefault(); search.focus(); }
    else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
  });
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = cases.filter((each) => !each.open);
    for (const each of closed) each.open = true;
  });
  addEventListener("afterprint", () => { for (const each of closed) each.open = false; });
  bar.hidden = false;
  read();
  show();
})();
