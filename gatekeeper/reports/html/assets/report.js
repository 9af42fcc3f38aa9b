// The page's only script: sorts and filters, unpacks the results and shows them page by page.
// Every text goes into the page as text, never as HTML.
"use strict";
(() => {
  const FIXTURES_A_PAGE = 50;
  const CHECKS_AT_FIRST = 8;
  const MOST_CATEGORIES = 12;
  const RUNS_IN_A_ROW = 14;
  const REPETITIONS_A_STEP = 5;
  const LONGEST_COMPARED = 60_000; // characters of two texts; beyond, words are not compared
  const COMPARE_MS = 1500;
  const PLACES = { fixture: { id: 0, category: 1, change: 2, base: 3, head: 4, basePassed: 5, headPassed: 6, notes: 7, baseInput: 8, headInput: 9, errors: 10, cells: 11, past: 12, files: 13, samples: 14 },
    sample: { arm: 0, repetition: 1, passed: 2, output: 3, raw: 4, facts: 5, error: 6, repairs: 7, checkResults: 8 } };
  const named = (places) => (row) => Object.fromEntries(Object.entries(places).map(([name, at]) => [name, row[at]]));
  const asSample = named(PLACES.sample);
  const asFixture = named(PLACES.fixture);

  const byId = (id) => document.getElementById(id);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const many = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
  const later = (wait, run) => { let timer; return () => { clearTimeout(timer); timer = setTimeout(run, wait); }; };

  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "on") for (const [event, run] of Object.entries(value)) made.addEventListener(event, run);
      else if (value === true) made.setAttribute(name, "");
      else if (value !== false && value != null) made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child != null && child !== false));
    return made;
  }

  function icon(name, label) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("class", `icon ${name}`);
    if (label) svg.setAttribute("role", "img");
    svg.setAttribute(label ? "aria-label" : "aria-hidden", label || "true");
    const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
    use.setAttribute("href", `#i-${name}`);
    svg.append(use);
    return svg;
  }

  // The table of contracts

  function filterContracts() {
    const wanted = byId("contract-search").value.trim().toLowerCase();
    const verdict = byId("contract-verdict").value;
    const table = byId("contract-table");
    const shown = Tables.filter(table, (row) =>
      row.cells[0].dataset.key.toLowerCase().includes(wanted) && (!verdict || row.dataset.verdict === verdict));
    const total = table.tBodies[0].rows.length;
    byId("contract-count").textContent = shown === total ? many(shown, "contract") : `${shown} of ${many(total, "contract")}`;
  }

  // Words that differ

  const segments = typeof Intl.Segmenter === "function" ? new Intl.Segmenter("en", { granularity: "word" }) : undefined;

  /** Both texts with what differs in <del> and <ins>, or null where that would take too long. */
  function differing(before, after) {
    if (before.length + after.length > LONGEST_COMPARED) return null;
    const parts = Diff.diffWordsWithSpace(before, after, { timeout: COMPARE_MS, intlSegmenter: undefined });
    if (!parts) return null;
    const [left, right] = [document.createDocumentFragment(), document.createDocumentFragment()];
    for (const { value, added, removed } of parts) {
      if (!added) left.append(removed ? element("del", {}, value) : value);
      if (!removed) right.append(added ? element("ins", {}, value) : value);
    }
    return [left, right];
  }

  function sideBySide(before, after, mark) {
    const compared = mark && before != null && after != null && before !== after;
    const [left, right] = (compared && differing(before, after)) || [before, after];
    const skipped = compared && left === before && element("p", { class: "quiet" }, "These are too long to be compared word by word.");
    return { left, right, skipped };
  }

  // The results: fixtures, and what each check found on both arms

  let data;
  let texts;
  let pictures; // the addresses of pictures, by their digests
  let shown; // the evaluation
  let columns = []; // the places of the checks that are shown
  let chosen = [];
  let page = 0;

  async function unpack() {
    const bytes = Uint8Array.from(atob(byId("packed").textContent.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    data = await new Response(stream).json();
    texts = data.texts;
    pictures = JSON.parse(byId("pictures")?.textContent || "{}");
    for (const evaluation of data.evaluations) evaluation.fixtures = evaluation.fixtures.map(asFixture);
  }

  const text = (at) => (at < 0 ? null : texts[at]);
  const samplesOf = (fixture) => fixture.samples.map(asSample);
  const gates = (check) => shown.checks[check][1] !== "warn";
  const failedChecks = (fixture) => fixture.cells.filter(([check, , , passed, of]) => passed < of && gates(check)).map(([check]) => check);
  const checkName = (check) => text(shown.checks[check][0]);

  const STATES = {
    broke: (fixture) => fixture.change === "broke",
    fixed: (fixture) => fixture.change === "fixed",
    failing: (fixture) => fixture.headPassed === false,
    differs: (fixture) => {
      const outputs = new Map();
      for (const sample of samplesOf(fixture)) outputs.set(sample.repetition, (outputs.get(sample.repetition) ?? new Set()).add(sample.output));
      return [...outputs.values()].some((set) => set.size > 1);
    },
    lost: (fixture) => fixture.errors.length > 0 || fixture.samples.some((row) => row[PLACES.sample.error] >= 0),
    repaired: (fixture) => fixture.samples.some((row) => row[PLACES.sample.repairs].length > 0),
    unsteady: (fixture) => /[fm]/.test(fixture.past),
  };

  function fill(select, entries, first) {
    select.replaceChildren(element("option", { value: "" }, first), ...entries.map(([value, label]) => element("option", { value }, label)));
    select.closest("label").hidden = entries.length === 0;
  }

  function chooseEvaluation(at) {
    byId("evaluation").value = at;
    shown = data.evaluations[at];
    const { fixtures, checks } = shown;
    const failures = checks.map(() => 0);
    for (const fixture of fixtures) for (const [check, , , passed, of] of fixture.cells) failures[check] += of - passed;
    const ranked = [...checks.keys()].sort((a, b) => gates(b) - gates(a) || failures[b] - failures[a] || a - b);
    const byText = ([, a], [, b]) => a.localeCompare(b);
    fill(byId("category"), categoriesOf(fixtures).map((c) => [c, text(c)]).sort(byText), "all");
    fill(byId("check"), ranked.filter((check) => failures[check] && gates(check)).map((check) => [check, checkName(check)]).sort(byText), "any");
    const arms = fixtures.some(hasBase) ? ", on base → head" : "";
    byId("help").textContent = `A cell has the samples that passed${arms}. Arrow keys move between fixtures, Enter opens one, Escape closes it.`;
    byId("columns").hidden = checks.length <= CHECKS_AT_FIRST;
    byId("columns").textContent = `Show all ${checks.length} checks`;
    columns = byId("columns").getAttribute("aria-pressed") === "true" ? ranked : ranked.slice(0, CHECKS_AT_FIRST);
    showHead();
  }

  const categoriesOf = (fixtures) => [...new Set(fixtures.map((fixture) => fixture.category))].filter((c) => c >= 0);
  const hasRuns = () => shown.runs.length > 0;

  function showHead() {
    const heading = (label, more) => element("th", { scope: "col" }, label, more && element("small", {}, more));
    byId("matrix").tHead.replaceChildren(element("tr", {}, heading("Fixture"), heading("Result"),
      ...columns.map((check) => heading(checkName(check), !gates(check) && "only a warning")), hasRuns() && heading("Past runs")));
  }

  /** How often each check fails on head, over all fixtures and by category; a cell leads to its fixtures. */
  function showCategories() {
    const all_ = [["all fixtures", "", chosen]];
    for (const c of categoriesOf(chosen)) all_.push([text(c), c, chosen.filter((fixture) => fixture.category === c)]);
    const failing = (fixtures) => fixtures.filter(STATES.failing).length;
    const [total, ...rest] = all_;
    rest.sort(([, , a], [, , b]) => failing(b) / b.length - failing(a) / a.length);
    const rows = rest.length > 1 ? [total, ...rest.slice(0, MOST_CATEGORIES)] : chosen.length > 1 ? [total] : [];
    byId("categories").replaceChildren(...rows.map(([label, category, fixtures]) => element("tr", {},
      element("th", { scope: "row" }, label), element("td", {}, `${failing(fixtures)} of ${fixtures.length} fail`),
      ...columns.map((check) => shareCell(label, category, check, fixtures)), hasRuns() && element("td", {}))));
  }

  function shareCell(label, category, check, fixtures) {
    let [failed, of] = [0, 0];
    for (const fixture of fixtures) for (const [at, , , passed, samples] of fixture.cells) if (at === check) { failed += samples - passed; of += samples; }
    if (!of) return element("td", { class: "none" }, "–");
    const said = [`${Math.round((1000 * failed) / of) / 10} % fail`, element("small", {}, `${failed} of ${of}`)];
    if (!failed || !gates(check)) return element("td", { class: failed ? "" : "quiet" }, ...said);
    const go = () => filter({ category: category === "" ? byId("category").value : category, check });
    return element("td", { class: `h${Math.max(1, Math.round((9 * failed) / of))}` },
      element("button", { type: "button", title: `Show the fixtures of ${label} that fail ${checkName(check)}`, on: { click: go } }, ...said));
  }

  function filter(choice) {
    for (const [id, value] of Object.entries(choice)) byId(id).value = value;
    choose();
    byId("fixtures").querySelector(".fixture")?.focus();
  }

  function matches(fixture, wanted) {
    if (!wanted) return true;
    const has = (at) => at >= 0 && texts[at].toLowerCase().includes(wanted);
    return has(fixture.id) || has(fixture.category) || has(fixture.baseInput) || has(fixture.headInput)
      || fixture.samples.some((row) => has(row[PLACES.sample.output]) || row[PLACES.sample.checkResults].some(([, , message]) => has(message)));
  }

  function choose() {
    const { fixtures } = shown;
    const wanted = byId("text").value.trim().toLowerCase();
    const state = STATES[byId("state").value];
    const category = byId("category").value;
    const check = byId("check").value;
    chosen = fixtures.filter((fixture) => (!state || state(fixture)) && (!category || fixture.category === Number(category))
      && (!check || failedChecks(fixture).includes(Number(check))) && matches(fixture, wanted));
    page = 0;
    const of = chosen.length === fixtures.length ? "" : ` of ${fixtures.length.toLocaleString("en")}`;
    byId("found").textContent = `${chosen.length.toLocaleString("en")}${of} ${fixtures.length === 1 ? "fixture" : "fixtures"}`;
    showCategories();
    showPage();
  }

  function showPage() {
    const pages = Math.max(1, Math.ceil(chosen.length / FIXTURES_A_PAGE));
    const from = page * FIXTURES_A_PAGE;
    byId("fixtures").replaceChildren(...chosen.slice(from, from + FIXTURES_A_PAGE).map(fixtureRow));
    byId("page").textContent = `Page ${page + 1} of ${pages}`;
    byId("previous").disabled = page === 0;
    byId("next").disabled = page + 1 >= pages;
    for (const id of ["previous", "page", "next"]) byId(id).hidden = pages === 1;
  }

  const CHANGES = { broke: ["fail", "broke"], fixed: ["pass", "fixed"], same: null };

  function fixtureStatus(fixture) {
    if (fixture.change && CHANGES[fixture.change]) return CHANGES[fixture.change];
    if (fixture.headPassed === null) return STATES.lost(fixture) ? ["error", "not known"] : ["info", "not sampled"];
    return fixture.headPassed ? ["pass", "passes"] : ["fail", "fails"];
  }

  /** Of a run of one revision, or a new contract, there is none. */
  const hasBase = (fixture) => fixture.basePassed !== null || fixture.base !== "–" || samplesOf(fixture).some((sample) => !sample.arm);

  function fixtureRow(fixture) {
    const [name, label] = fixtureStatus(fixture);
    const button = element("button", { type: "button", class: "fixture", "aria-expanded": "false" }, element("b", {}, text(fixture.id)));
    const cells = new Map(fixture.cells.map((cell) => [cell[0], cell]));
    const tally = hasBase(fixture) ? `${fixture.base} → ${fixture.head}` : fixture.head;
    const row = element("tr", {},
      element("th", { scope: "row" }, button, fixture.category >= 0 && element("span", { class: "tag" }, text(fixture.category))),
      element("td", {}, element("span", { class: `state ${name}` }, icon(name, ""), label), element("small", { class: "tally" }, tally)),
      ...columns.map((check) => checkCell(cells.get(check), gates(check))),
      hasRuns() && element("td", {}, pastRuns(fixture.past.slice(-RUNS_IN_A_ROW))));
    row.addEventListener("click", ({ target }) => { if (!getSelection().toString() || target.closest("button")) toggle(row, button, fixture); });
    return row;
  }

  function toggle(row, button, fixture) {
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) { row.nextElementSibling.remove(); return; }
    const body = element("div", { class: "samples" });
    // The address can be sent to somebody, and opens this fixture.
    history.replaceState(null, "", `#fixture=${encodeURIComponent(shown.name)}/${encodeURIComponent(text(fixture.id))}`);
    row.after(element("tr", { class: "detail" }, element("td", { colspan: row.cells.length }, body)));
    fillFixture(body, fixture);
  }

  function checkCell(cell, gate) {
    if (!cell) return element("td", { class: "none" }, "–");
    const [, before, ofBase, now, of] = cell;
    const [old, tally] = [`${before}/${ofBase}`, `${now}/${of}`];
    const said = !ofBase || old === tally ? (of ? tally : "–") : `${old} → ${of ? tally : "–"}`;
    const state = now < of ? (gate ? ["fail", "fails"] : ["inconclusive", "warning"]) : before < ofBase && of ? ["pass", "no longer fails"] : null;
    const changed = ofBase && of && now / of !== before / ofBase;
    return element("td", { class: state ? (changed || !ofBase ? `${state[0]} changed` : state[0]) : "quiet" }, state && icon(...state), said);
  }

  const RUNS = { p: "passed", f: "failed", m: "mixed", "-": "not measured" };

  function pastRuns(past) {
    const counts = Object.entries(RUNS).map(([letter, said]) => [past.split(letter).length - 1, said]).filter(([n]) => n);
    const label = `past runs, oldest first: ${counts.map(([n, said]) => `${n} ${said}`).join(", ")}`;
    return element("span", { class: "past", role: "img", "aria-label": label, title: label }, ...[...past].map((letter) => element("i", { class: letter === "-" ? "n" : letter })));
  }

  function pastSentence({ past }) {
    const when = (letter) => shown.runs.filter((_, at) => past[at] === letter);
    const days = (letter, verb) => { const found = when(letter); return found.length ? `${verb} in ${found.length} (${found.slice(-3).join(", ")}${found.length > 3 ? " and before" : ""})` : ""; };
    const passed = `passed in ${when("p").length} of ${many(shown.runs.length, "run")} of the default branch since ${shown.runs[0]}`;
    return [passed, days("f", "failed"), days("m", "failed in some samples")].filter(Boolean).join(", ");
  }

  /** Arrow keys move between fixtures, Escape closes the one that has the focus. */
  function onKey(event) {
    const row = event.target.closest("tr");
    const own = (row.classList.contains("detail") ? row.previousElementSibling : row).querySelector(".fixture");
    if (event.key === "Escape") {
      if (own.getAttribute("aria-expanded") === "true") own.click();
      own.focus();
      return;
    }
    const buttons = all("#fixtures .fixture");
    const to = { ArrowDown: buttons.indexOf(own) + 1, ArrowUp: buttons.indexOf(own) - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (to === undefined || event.target !== own || !buttons[to]) return;
    event.preventDefault();
    buttons[to].focus();
  }

  // Export of the fixtures that are shown

  function save(name, type, content) {
    const href = URL.createObjectURL(new Blob([content], { type }));
    element("a", { href, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(href), 10_000);
  }

  const exported = () => chosen.map((fixture) => ({
    contract: shown.name, fixture: text(fixture.id), category: text(fixture.category), result: fixtureStatus(fixture)[1],
    base_passed: fixture.basePassed, head_passed: fixture.headPassed,
    checks: Object.fromEntries(fixture.cells.map(([check, ...counts]) => [checkName(check), counts])),
    past: Object.fromEntries([...fixture.past].map((letter, at) => [shown.runs[at], RUNS[letter]])),
  }));

  // As in the other CSV files, no text begins a formula.
  const FORMULA = /((?:^|[\n\t;])\s*)('*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/g;
  const csvCell = (value) => (value == null ? "" : typeof value === "string" ? `"${value.replace(FORMULA, "$1'$2").replaceAll('"', '""')}"` : String(value));

  function csv() {
    const counts = ["base passed", "base samples", "head passed", "head samples"];
    const names = [...shown.checks.keys()].map(checkName);
    const rows = exported().map(({ checks, past, ...facts }) => [...Object.values(facts), ...names.flatMap((name) => checks[name] ?? counts.map(() => null))]);
    const head = ["contract", "fixture", "category", "result", "base_passed", "head_passed", ...names.flatMap((name) => counts.map((count) => `${name}: ${count}`))];
    return [head, ...rows].map((row) => `${row.map(csvCell).join(",")}\r\n`).join("");
  }

  function fillFixture(body, fixture) {
    const input = text(fixture.headInput) ?? text(fixture.baseInput);
    const other = text(fixture.baseInput);
    if (input != null) body.append(block("Input", input, fixture.headInput >= 0 ? fixture.headInput : fixture.baseInput));
    if (other != null && other !== input) body.append(block("Input on base", other, fixture.baseInput));
    for (const [path, digest] of fixture.files) body.append(fileOf(text(path), digest));
    if (fixture.past) body.append(element("p", { class: "quiet" }, pastRuns(fixture.past), ` ${pastSentence(fixture)}`));
    const notes = text(fixture.notes);
    if (notes) body.append(element("p", { class: "quiet" }, notes));
    for (const error of fixture.errors) body.append(element("p", { class: "message error" }, icon("error", "error"), element("span", {}, text(error))));
    const repetitions = new Map();
    for (const sample of samplesOf(fixture)) repetitions.set(sample.repetition, [...(repetitions.get(sample.repetition) ?? []), sample]);
    const rows = [...repetitions.entries()].sort(([a], [b]) => a - b);
    if (!rows.length) body.append(element("p", { class: "quiet" }, "No sample of this fixture was drawn before the answer was sure or the run ended, or none is in this file."));
    showRepetitions(body, rows, 0);
  }

  function showRepetitions(body, rows, from) {
    const to = from + REPETITIONS_A_STEP;
    for (const [repetition, samples] of rows.slice(from, to)) body.append(pair(repetition, samples, rows.length));
    if (rows.length <= to) return;
    const more = element("button", { type: "button" }, `Show ${Math.min(REPETITIONS_A_STEP, rows.length - to)} more of ${rows.length} repetitions`);
    more.addEventListener("click", () => {
      const next = body.childElementCount - 1;
      more.remove();
      showRepetitions(body, rows, to);
      body.children[next].querySelector("pre, summary")?.focus();
    });
    body.append(more);
  }

  function pair(repetition, samples, of) {
    const base = samples.find((sample) => !sample.arm);
    const head = samples.find((sample) => sample.arm);
    const shown = sideBySide(base && text(base.output), head && text(head.output), byId("words").checked);
    return element("div", { class: "pair" },
      of > 1 && element("h4", {}, `Repetition ${repetition + 1}`),
      element("div", { class: "columns" }, base && sampleCard("base", base, shown.left), head && sampleCard("head", head, shown.right)), shown.skipped);
  }

  function sampleCard(arm, sample, output) {
    const state = sample.passed === null ? ["error", "not measured"] : sample.passed ? ["pass", "passed"] : ["fail", "failed"];
    const facts = text(sample.facts);
    const card = element("div", { class: "card" },
      element("p", { class: "card-head" }, icon(state[0], state[1]), element("b", {}, arm), facts && element("span", { class: "quiet" }, facts)));
    if (sample.error >= 0) card.append(element("p", { class: "message error" }, icon("error", "call failed"), element("span", {}, text(sample.error))));
    if (sample.output >= 0) card.append(output === "" ? element("p", { class: "quiet" }, "(empty answer)") : element("pre", { tabindex: "0", "aria-label": `${arm} said` }, output), cutNote(sample.output));
    const good = sample.checkResults.filter(([, passed]) => passed === true).map(([check]) => text(check));
    for (const [check, passed, message, severity] of sample.checkResults) if (passed !== true) card.append(showCheckResult(text(check), passed, text(message), severity));
    if (good.length) card.append(element("p", { class: "message pass" }, icon("pass", "passed"), element("span", {}, good.join(", "))));
    for (const [check, , , , votes] of sample.checkResults) if (votes >= 0) card.append(judges(text(check), votes));
    if (sample.repairs.length) card.append(repairs(sample));
    return card;
  }

  function showCheckResult(check, passed, message, severity) {
    const [name, label] = passed === null ? ["error", "not applicable"] : passed ? ["pass", "passed"] : severity === "warn" ? ["inconclusive", "warning"] : ["fail", "failed"];
    return element("p", { class: `message ${name}` }, icon(name, label), element("span", {}, element("b", {}, check), message ? `: ${message}` : ""));
  }

  function judges(check, votes) {
    return element("details", {}, element("summary", {}, `Judges of ${check}`), block("What each judge said", text(votes), votes));
  }

  function repairs(sample) {
    const steps = sample.repairs.map(text).join(", ");
    const raw = text(sample.raw);
    return element("details", {}, element("summary", {}, `Repaired before the checks: ${steps}`), raw != null ? block("As the model said it", raw, sample.raw) : "");
  }

  function cutNote(at) {
    const missing = data.cut[at];
    return missing ? element("p", { class: "quiet" }, `${missing.toLocaleString("en")} more characters are in samples.jsonl.`) : "";
  }

  function fileOf(path, digest) {
    const shown = pictures[digest] && element("img", { src: pictures[digest], alt: path, loading: "lazy" });
    return element("figure", { class: "file" }, shown, element("figcaption", { class: "quiet" }, `${path} (SHA-256 ${digest.slice(0, 12)})`));
  }

  function block(label, content, at) {
    return element("div", { class: "block" }, element("h4", {}, label), element("pre", { tabindex: "0", "aria-label": label }, content), cutNote(at));
  }

  function comparePrompts(button) {
    const old = button.parentNode.nextElementSibling;
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (old?.classList.contains("prompts")) { old.hidden = open; return; }
    const [base, head] = data.evaluations[button.dataset.prompts].prompts;
    const shown = sideBySide(text(base), text(head), true);
    const column = (label, content, at) => element("div", { class: "card" }, element("p", { class: "card-head" }, element("b", {}, label)), element("pre", { tabindex: "0", "aria-label": `${label} prompt` }, content), cutNote(at));
    button.parentNode.after(element("div", { class: "prompts columns" }, column("base", shown.left, base), column("head", shown.right, head), shown.skipped));
  }

  function reset() {
    for (const id of ["text", "state", "category", "check"]) byId(id).value = "";
  }

  function show(evaluation, choice = {}) {
    reset();
    chooseEvaluation(evaluation);
    for (const [id, value] of Object.entries(choice)) {
      const option = [...byId(id).options].find((each) => each.textContent === value);
      if (option) byId(id).value = option.value;
    }
    choose();
    byId("samples").scrollIntoView();
    byId("samples-title").focus({ preventScroll: true });
  }

  async function startSamples() {
    byId("unpacking").hidden = false;
    try {
      await unpack();
    } catch (error) {
      byId("unpacking").textContent = "This browser cannot unpack the results; they are in fixtures.csv and samples.jsonl as well.";
      return;
    }
    byId("unpacking").hidden = true;
    byId("explorer").hidden = false;
    chooseEvaluation(0);
    choose();
    byId("evaluation").addEventListener("change", () => { reset(); chooseEvaluation(byId("evaluation").value); choose(); });
    for (const id of ["state", "category", "check"]) byId(id).addEventListener("change", choose);
    byId("text").addEventListener("input", later(150, choose));
    byId("words").addEventListener("change", showPage);
    byId("reset").addEventListener("click", () => { reset(); choose(); });
    const turn = (by) => () => { page += by; showPage(); byId("samples").scrollIntoView(); byId("samples-title").focus({ preventScroll: true }); };
    byId("previous").addEventListener("click", turn(-1));
    byId("next").addEventListener("click", turn(1));
    byId("columns").addEventListener("click", ({ currentTarget }) => {
      currentTarget.setAttribute("aria-pressed", String(currentTarget.getAttribute("aria-pressed") !== "true"));
      const choice = byId("check").value;
      chooseEvaluation(byId("evaluation").value);
      byId("check").value = choice;
      choose();
    });
    byId("fixtures").addEventListener("keydown", onKey);
    const name = () => `results-${shown.name.replace(/[^\w.-]+/g, "-")}`;
    byId("save-csv").addEventListener("click", () => save(`${name()}.csv`, "text/csv", csv()));
    byId("save-json").addEventListener("click", () => save(`${name()}.json`, "application/json", JSON.stringify(exported(), null, 2)));
    for (const button of all("[data-show]")) button.addEventListener("click", () => show(button.dataset.show));
    for (const button of all("[data-prompts]")) button.addEventListener("click", () => comparePrompts(button));
    all("[data-needs-script]:has([data-show], [data-prompts])").forEach((part) => { part.hidden = false; });
    openAnchor();
  }

  /** Of `#fixture=CONTRACT/NAME` or `#check=CONTRACT/NAME`, the kind, the contract and the name. */
  function anchor() {
    try {
      const found = /^#(fixture|check)=([^/]+)\/(.+)$/.exec(location.hash);
      return found ? [found[1], ...found.slice(2).map(decodeURIComponent)] : null;
    } catch {
      return null; // not what a report links to
    }
  }

  /** Open the fixture, or show the fixtures of head that fail the check. */
  function openAnchor() {
    const [kind, contract, name] = anchor() ?? [];
    const evaluation = data && kind ? data.evaluations.findIndex((each) => each.name === contract) : -1;
    if (evaluation < 0) return;
    show(evaluation, kind === "check" ? { check: name } : {});
    if (kind === "check") return;
    const at = chosen.findIndex((fixture) => text(fixture.id) === name);
    if (at < 0) { byId("found").textContent = `The fixture ${name} is not in this file; look in samples.jsonl.`; return; }
    page = Math.floor(at / FIXTURES_A_PAGE);
    showPage();
    const button = byId("fixtures").rows[at % FIXTURES_A_PAGE].querySelector(".fixture");
    button.click();
    button.scrollIntoView();
    button.focus({ preventScroll: true });
  }

  function openTarget() {
    if (anchor()) { openAnchor(); return; }
    const target = byId(location.hash.slice(1));
    if (target instanceof HTMLDetailsElement) target.open = true;
  }

  function start() {
    const table = byId("contract-table");
    if (table) {
      Tables.makeSortable(table);
      filterContracts();
      byId("contract-search").addEventListener("input", filterContracts);
      byId("contract-verdict").addEventListener("change", filterContracts);
      table.closest("section").querySelector(".controls").hidden = false;
    }
    addEventListener("hashchange", openTarget);
    addEventListener("beforeprint", () => all("details").forEach((part) => { part.open = true; }));
    openTarget();
    if (byId("packed")) startSamples();
  }

  start();
})();
