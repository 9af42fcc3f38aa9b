"use strict";
// Everything from the run is shown by textContent, so that no output becomes part of the page.
(() => {
  const main = document.getElementById("labelling");
  const bytes = Uint8Array.from(atob(main.dataset.tasks), (c) => c.charCodeAt(0));
  const data = JSON.parse(new TextDecoder().decode(bytes));
  const at = (id) => document.getElementById(id);
  const key = `gatekeeper-labels:${data.contract}:${data.check}:${data.annotator}`;
  const name = (task) => `${task.fixture}\n${task.output}`;
  let verdicts = {};
  let scores = {};
  try {
    verdicts = JSON.parse(localStorage.getItem(key)) || {};
    scores = JSON.parse(localStorage.getItem(`${key}:scores`)) || {};
  } catch {
    // Without storage the verdicts last as long as the page.
  }
  let place = data.tasks.findIndex((task) => !(name(task) in verdicts));
  if (place < 0) place = data.tasks.length;

  const part = (id, text) => {
    at(id).textContent = text ?? "";
    const whole = at(`${id}-part`);
    if (whole) whole.hidden = text === null;
  };
  const lines = () =>
    data.tasks
      .filter((task) => name(task) in verdicts)
      .map((task) => {
        const row = { fixture: task.fixture, output: task.output, verdict: verdicts[name(task)] };
        row.annotator = data.annotator;
        if (data.check !== null) row.check = data.check;
        if (name(task) in scores) row.score = scores[name(task)];
        return `${JSON.stringify(row)}\n`;
      });
  let url = null;
  const show = () => {
    const found = lines();
    at("progress").textContent = `${found.length} of ${data.tasks.length} outputs have a label.`;
    if (url) URL.revokeObjectURL(url);
    url = URL.createObjectURL(new Blob(found, { type: "application/x-ndjson" }));
    at("save").href = url;
    const task = data.tasks[place];
    at("task").hidden = !task;
    if (!task) return;
    at("fixture").textContent = task.fixture;
    part("input", task.input);
    part("expected", task.expected);
    at("output").textContent = task.output;
    at("score").value = scores[name(task)] ?? "";
  };
  const step = (by) => {
    place = Math.min(data.tasks.length, Math.max(0, place + by));
    show();
  };
  const give = (verdict) => {
    if (place >= data.tasks.length) return;
    const score = at("score");
    if (!score.reportValidity()) return;
    const task = name(data.tasks[place]);
    verdicts[task] = verdict;
    if (score.value === "") delete scores[task];
    else scores[task] = score.valueAsNumber;
    try {
      localStorage.setItem(key, JSON.stringify(verdicts));
      localStorage.setItem(`${key}:scores`, JSON.stringify(scores));
    } catch {
      // As above.
    }
    step(1);
  };
  const actions = {
    p: () => give("pass"),
    f: () => give("fail"),
    s: () => step(1),
    b: () => step(-1),
  };
  at("pass").addEventListener("click", actions.p);
  at("fail").addEventListener("click", actions.f);
  at("skip").addEventListener("click", actions.s);
  at("back").addEventListener("click", actions.b);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    actions[event.key.toLowerCase()]?.();
  });
  show();
})();
