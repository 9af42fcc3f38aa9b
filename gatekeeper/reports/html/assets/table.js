// Tables that a reader sorts. The report and the site share it.
"use strict";
const Tables = (() => {
  function compare(a, b) {
    if (a === "" || b === "") return (a === "") - (b === ""); // not known: last in both directions
    const [x, y] = [Number(a), Number(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
  }

  function sortBy(heading, table) {
    const column = [...heading.parentNode.children].indexOf(heading);
    const down = heading.getAttribute("aria-sort") === "ascending";
    const rows = [...table.tBodies[0].rows];
    const key = (row) => row.cells[column].dataset.key;
    rows.sort((a, b) => {
      const unknown = key(a) === "" || key(b) === "";
      return compare(key(a), key(b)) * (down && !unknown ? -1 : 1);
    });
    table.tBodies[0].append(...rows);
    for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  }

  /** Headings become buttons; the keys are in `data-key` of each cell. */
  function makeSortable(table) {
    for (const heading of table.querySelectorAll("th[data-sort]")) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = heading.textContent;
      button.addEventListener("click", () => sortBy(heading, table));
      heading.replaceChildren(button);
    }
  }

  /** Shows the rows that `wanted` accepts, and returns how many. */
  function filter(table, wanted) {
    const rows = [...table.tBodies[0].rows];
    for (const row of rows) row.hidden = !wanted(row);
    return rows.filter((row) => !row.hidden).length;
  }

  return { makeSortable, filter };
})();
