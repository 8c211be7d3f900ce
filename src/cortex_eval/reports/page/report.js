"use strict";
// The page reads without this script. It adds the list of all cases with filters, search and keys, and the colours.
(() => {
  const root = document.documentElement;
  const element = (id) => document.getElementById(id);
  root.classList.add("has-js");

  // Colours: those of the system, light or dark.
  const themes = ["auto", "light", "dark"];
  const button = element("theme");
  function paint(theme) {
    root.dataset.theme = theme;
    button.textContent = "Colours: " + theme;
    try { localStorage.setItem("cortex-theme", theme); } catch { /* a page from a file may not be allowed to */ }
  }
  let kept = "auto";
  try { kept = localStorage.getItem("cortex-theme") || "auto"; } catch { /* as above */ }
  paint(themes.includes(kept) ? kept : "auto");
  button.addEventListener("click", () => paint(themes[(themes.indexOf(root.dataset.theme) + 1) % themes.length]));

  // What scrolls inside itself can be reached and moved with the keyboard, and has a name.
  function nameOf(box) {
    if (box.matches(".say")) return box.matches(".u") ? "What was asked" : "The reply";
    return box.matches(".want") ? "What was expected" : box.querySelector("table").getAttribute("aria-label") ?? "Scores";
  }
  function reach(part) {
    for (const box of part.querySelectorAll(".scroll, .say, .want")) {
      const scrolls = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
      if (scrolls === box.hasAttribute("tabindex")) continue;
      if (!scrolls) for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
      else {
        box.tabIndex = 0;
        box.setAttribute("role", "region");
        box.setAttribute("aria-label", nameOf(box));
      }
    }
  }
  addEventListener("resize", () => reach(document));
  document.addEventListener("toggle", (event) => reach(event.target), true); // what was closed had no size
  reach(document);

  const bar = element("filters");
  if (!bar) return;

  // One line per case, in the order of the page: [number in the run, id, state, score, category, tier, language, what
  // was asked, slowest reply in ms, place among the packed cases or -1].
  const STATES = ["error", "failed", "other", "passed"];
  const TAGS = { error: ["t-warn", "! error"], failed: ["t-fail", "✕ failed"], other: ["t-none", "– no verdict"], passed: ["t-pass", "✓ passed"] };
  const STEP = 50, PRINTED = 500; // cases on the screen at a time, and on paper
  const FEW = 50; // up to so many, those that passed are on paper too
  const broken = new Set(JSON.parse(element("newly-broken")?.textContent ?? "[]")); // passed in the baseline, fail now
  const quarantined = new Set(JSON.parse(element("quarantined")?.textContent ?? "[]")); // in none of the figures
  const cases = JSON.parse(element("case-list").textContent).map((row, place) => ({
    place, body: null, number: row[0], id: row[1], state: STATES[row[2]], score: row[3], category: row[4] ?? "", tier: String(row[5] ?? ""),
    language: row[6] ?? "", asked: row[7], slowest: row[8], packed: row[9], node: element("c" + row[0]), text: null,
  }));
  const ORDERS = {
    "": (a, b) => a.place - b.place,
    score: (a, b) => (a.score ?? 2) - (b.score ?? 2) || a.place - b.place,
    slow: (a, b) => (b.slowest ?? -1) - (a.slowest ?? -1) || a.place - b.place,
    run: (a, b) => a.number - b.number,
  };

  // Packed cases: a hundred together, as zlib in base64; unpacked when one of them is wanted.
  let packs = null;
  const unpacked = new Map();
  function unpack(number) {
    if (!packs) packs = JSON.parse(element("case-bodies").textContent);
    if (!unpacked.has(number)) {
      const bytes = Uint8Array.from(atob(packs[number]), (sign) => sign.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
      unpacked.set(number, new Response(stream).json());
    }
    return unpacked.get(number);
  }
  async function bodyOf(each) {
    return each.packed < 0 ? null : (await unpack(Math.floor(each.packed / 100)))[each.packed % 100];
  }

  function make(tag, kind, text) {
    const made = document.createElement(tag);
    if (kind) made.className = kind;
    if (text !== undefined) made.textContent = text;
    return made;
  }
  function nodeOf(each) {
    if (each.node) return each.node;
    const [kind, label] = TAGS[each.state];
    const node = make("details", "case");
    node.dataset.state = each.state;
    const line = make("summary");
    const ask = make("span", "ask", each.asked);
    if (quarantined.has(each.id)) ask.prepend(make("span", "tag t-none", "quarantine"), " ");
    line.append(make("span", "tag " + kind, label), make("code", "", each.id), ask,
      make("span", "n num", each.score === null ? "–" : each.score.toFixed(2)));
    node.append(line);
    each.node = node;
    const fill = (body) => {
      if (body === null) node.append(make("p", "labels last", "The conversation of this case is not in this page; the note above the list says where it is."));
      else line.insertAdjacentHTML("afterend", body); // made and escaped with the page, and its policy runs no script
      if (node.open) reach(node);
    };
    if (each.body === null) bodyOf(each).then(fill);
    else fill(each.body);
    return node;
  }

  const list = element("list"), empty = element("no-case"), shown = element("shown"), further = element("further");
  const chips = [...bar.querySelectorAll("button")], picks = [...bar.querySelectorAll("select")];
  const search = bar.querySelector("input");
  const state = { state: "", category: "", tier: "", language: "", order: "", q: "", ids: "" };
  let found = [], limit = STEP, asked = 0;

  function read() {
    const address = new URLSearchParams(location.hash.slice(1));
    for (const name in state) state[name] = address.get(name) || "";
  }
  function idOf(part) { // an address that somebody wrote by hand may not be well formed
    try { return decodeURIComponent(part); } catch { return part; }
  }
  function textOf(each) { // null: packed, and not looked at yet
    if (each.text === null && each.packed < 0) {
      const all = each.node ? each.node.textContent : [each.id, each.asked, each.category, each.language].join(" ");
      each.text = all.toLowerCase();
    }
    return each.text;
  }
  const SIGNS = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'" };
  function plain(body) { // the words of a packed case; marks within a line leave no gap
    const words = body.replace(/<\/?(?:b|del|ins|span|wbr)\b[^>]*>/g, "").replace(/<[^>]*>/g, " ");
    return words.replace(/&(?:amp|lt|gt|quot|#x27);/g, (sign) => SIGNS[sign]);
  }
  async function readAll() {
    const packed = cases.filter((each) => each.packed >= 0 && each.text === null).sort((a, b) => a.packed - b.packed);
    for (const each of packed) each.text = [each.id, each.asked, plain(await bodyOf(each))].join(" ").toLowerCase();
  }
  function fits(each, words, ids) {
    if (ids && !ids.has(each.id)) return false;
    const is = quarantined.has(each.id) ? "quarantine" : each.state; // the chips count as the figures do
    if (state.state && state.state !== is && !(state.state === "broken" && broken.has(each.id))) return false;
    if (!["category", "tier", "language"].every((name) => !state[name] || (each[name] || "(none)") === state[name])) return false;
    return !words || (textOf(each) ?? each.id.toLowerCase() + " " + each.asked.toLowerCase()).includes(words);
  }
  function show() {
    const words = state.q.trim().toLowerCase();
    const ids = state.ids ? new Set(state.ids.split(",").map(idOf)) : null;
    found = cases.filter((each) => fits(each, words, ids)).sort(ORDERS[state.order] || ORDERS[""]);
    draw();
    for (const chip of chips) chip.setAttribute("aria-pressed", String(chip.value === state.state && !ids));
    for (const pick of picks) pick.value = state[pick.name];
    if (search.value !== state.q) search.value = state.q;
    const now = ++asked;
    if (words && cases.some((each) => textOf(each) === null)) {
      shown.hidden = false;
      shown.textContent += " so far; reading what was said …";
      readAll().then(() => { if (now === asked) show(); });
    }
  }
  function draw(most = limit) {
    list.replaceChildren(...found.slice(0, most).map(nodeOf));
    empty.hidden = found.length > 0;
    const left = found.length - most;
    shown.hidden = found.length === cases.length && left <= 0;
    shown.textContent = Math.min(most, found.length).toLocaleString("en") + " of " + found.length.toLocaleString("en") + (found.length === 1 ? " case" : " cases") + (state.ids ? ", chosen by a link" : "");
    further.hidden = left <= 0;
    further.textContent = "Show " + Math.min(STEP, Math.max(left, 0)) + " more";
  }
  function keep() { // the filters are in the address
    history.replaceState(null, "", "#" + new URLSearchParams(Object.entries(state).filter(([, value]) => value)));
  }
  function set(name, value) {
    if (name !== "q" && name !== "order") state.ids = "";
    state[name] = value;
    limit = STEP;
    keep();
    show();
  }
  function move(step) {
    const seen = [...list.children];
    const at = seen.findIndex((each) => each.contains(document.activeElement));
    if (step > 0 && at === seen.length - 1 && !further.hidden) further.click();
    const now = [...list.children];
    const next = now[Math.min(Math.max(at + step, 0), now.length - 1)];
    if (next) next.querySelector("summary").focus();
  }

  function arrive() { // a link chose cases: the eye and the keyboard are led to the first, and the only one is opened
    read(); limit = STEP; show();
    if (!state.ids) return;
    const first = list.firstElementChild;
    if (first && found.length === 1) first.open = true;
    element("cases").scrollIntoView();
    if (first) first.querySelector("summary").focus({ preventScroll: true });
    const line = first?.getBoundingClientRect();
    if (line && line.top > innerHeight * 0.6) first.scrollIntoView();
  }
  function back() { // from within a case to its line, closed; with Escape
    const within = document.activeElement.closest("details.case[open]");
    if (!within) return;
    within.open = false;
    within.querySelector("summary").focus();
  }

  for (const chip of chips) chip.addEventListener("click", () => set("state", chip.value));
  for (const pick of picks) pick.addEventListener("change", () => set(pick.name, pick.value));
  search.addEventListener("input", () => set("q", search.value));
  further.addEventListener("click", () => { limit += STEP; draw(); });
  addEventListener("hashchange", () => {
    if (!element(location.hash.slice(1))) arrive();
    else if (Object.values(state).some(Boolean)) keep(); // the browser went to a section; what was filtered stays so
  });
  addEventListener("click", (event) => { // the same link once more changes no address, and leads there all the same
    const link = event.target.closest("a[href^='#ids=']");
    if (link && link.hash === location.hash) arrive();
  });
  element("show-all").addEventListener("click", () => {
    for (const name in state) state[name] = "";
    set("q", "");
    search.focus();
  });
  const keys = element("keys");
  element("close-keys").addEventListener("click", () => keys.close());
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea") || keys.open) return;
    if (event.key === "/") { event.preventDefault(); search.focus(); }
    else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "Escape") back();
    else if (event.key === "?") keys.showModal();
  });

  // On paper: what failed is open, what passed is a line or, of many, not there; more of them than on the screen.
  const isProblem = (each) => each.state === "failed" || each.state === "error";
  let closed = [];
  addEventListener("beforeprint", () => {
    const all = found, isBrief = all.length > FEW && all.some(isProblem);
    if (isBrief) found = all.filter((each) => isProblem(each) || each.node?.open);
    draw(Math.max(limit, PRINTED));
    found = all;
    if (element("on-paper")) element("on-paper").hidden = !isBrief;
    closed = [...document.querySelectorAll("#fixes > .more:not([open]), details.case:not([open]):is([data-state=failed], [data-state=error])")];
    for (const each of closed) each.open = true;
  });
  async function readForPaper() { // a printer does not wait for what is packed
    const packed = cases.filter((each) => isProblem(each) && each.packed >= 0).slice(0, PRINTED);
    for (const number of new Set(packed.map((each) => Math.floor(each.packed / 100)))) {
      const bodies = await unpack(number);
      for (const each of packed) if (Math.floor(each.packed / 100) === number) each.body = bodies[each.packed % 100];
      unpacked.delete(number);
    }
    root.classList.add("paper-ready");
  }
  (window.requestIdleCallback ?? setTimeout)(readForPaper);
  addEventListener("afterprint", () => {
    for (const each of closed) each.open = false;
    draw();
  });

  bar.hidden = false;
  if (location.hash && !element(location.hash.slice(1))) arrive();
  else show();
  const opened = list.querySelector(":scope > [open]"); // of those with a problem, one that happened to be at hand
  if (opened && opened !== list.firstElementChild && !location.hash) {
    opened.open = false;
    list.firstElementChild.open = true;
  }
})();
