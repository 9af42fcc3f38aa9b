// The site's only script: the theme, the table of contracts, older runs, and what a chart shows.
// Every text goes into the page as text, never as HTML.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const VERDICTS = ["pass", "fail", "inconclusive", "error"];

  // The theme

  const THEMES = ["system", "light", "dark"];

  function storedTheme() {
    try { return localStorage.getItem("gatekeeper-theme"); } catch { return null; }
  }

  function applyTheme(theme) {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    byId("theme").textContent = `Theme: ${theme}`;
  }

  function startTheme() {
    let theme = THEMES.includes(storedTheme()) ? storedTheme() : "system";
    applyTheme(theme);
    byId("theme").addEventListener("click", () => {
      theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
      applyTheme(theme);
      try { localStorage.setItem("gatekeeper-theme", theme); } catch { /* it lasts for this page */ }
    });
  }

  // The table of contracts. The address keeps the filter, so that it can be sent to somebody.

  function filterContracts() {
    const table = byId("contract-table");
    const words = byId("find").value.trim().toLowerCase();
    const status = byId("status").value;
    const shown = Tables.filter(table, (row) => row.dataset.text.toLowerCase().includes(words) && (!status || row.dataset.status === status));
    const total = table.tBodies[0].rows.length;
    byId("count").textContent = shown === total ? `${total} contract${total === 1 ? "" : "s"}` : `${shown} of ${total} contracts`;
  }

  function keepFilter() {
    const kept = [["find", byId("find").value.trim()], ["status", byId("status").value]].filter(([, value]) => value);
    history.replaceState(null, "", `#${new URLSearchParams(kept)}`);
  }

  function startContracts() {
    const choice = new URLSearchParams(location.hash.slice(1));
    byId("find").value = choice.get("find") ?? "";
    if ([...byId("status").options].some((each) => each.value === choice.get("status"))) byId("status").value = choice.get("status");
    filterContracts();
    for (const [id, event] of [["find", "input"], ["status", "change"]]) byId(id).addEventListener(event, () => { filterContracts(); keepFilter(); });
  }

  // The runs of a contract

  async function unpack() {
    const bytes = Uint8Array.from(atob(byId("packed").textContent.trim()), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  }

  function cell(tag, text, right) {
    const made = document.createElement(tag);
    made.textContent = text;
    if (right) made.className = "right";
    return made;
  }

  function showOlder(runs, table) {
    const right = [...table.tHead.rows[0].cells].map((each) => each.classList.contains("right"));
    for (const [, verdict, when, ...cells] of runs) {
      const row = table.tBodies[0].insertRow();
      const first = cell("th", when);
      first.scope = "row";
      const badge = cell("span", verdict || "–");
      if (VERDICTS.includes(verdict)) badge.className = `badge ${verdict}`;
      const second = cell("td", "");
      second.append(badge);
      row.append(first, second, ...cells.map((text, at) => cell("td", text, right[at + 2])), cell("td", "–"));
    }
  }

  /** Shows the run that is nearest to the pointer, below the chart. */
  function followPointer(figure, runs) {
    const svg = figure.querySelector("svg");
    const readout = figure.querySelector(".readout");
    const cursor = document.createElementNS("http://www.w3.org/2000/svg", "path");
    cursor.setAttribute("class", "cursor");
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const x = (event.clientX - box.left) / box.width * 1000;
      const [at, , when, rate, interval, samples, , latency, cost] = runs.reduce((a, b) => (Math.abs(b[0] - x) < Math.abs(a[0] - x) ? b : a));
      cursor.setAttribute("d", `M${at} 0V${svg.viewBox.baseVal.height}`);
      svg.append(cursor);
      readout.textContent = `${when}: ${rate} (${interval}) of ${samples} samples, ${latency}, ${cost}`;
    });
    svg.addEventListener("pointerleave", () => { cursor.remove(); readout.textContent = ""; });
  }

  async function startRuns() {
    const { shown, older } = await unpack();
    for (const figure of all(".plot.over-runs")) followPointer(figure, [...shown, ...older]);
    byId("older")?.addEventListener("click", (event) => {
      showOlder(older, byId("run-table"));
      const first = byId("run-table").tBodies[0].rows[shown.length];
      first.tabIndex = -1;
      first.focus();
      event.target.parentNode.remove();
    });
  }

  function start() {
    startTheme();
    for (const table of all("#contract-table, table[data-sortable]")) Tables.makeSortable(table);
    if (byId("contract-table")) startContracts();
    for (const part of all("[data-needs-script]")) part.hidden = false;
    if (byId("packed")) startRuns();
  }

  start();
})();
