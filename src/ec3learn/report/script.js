"use strict";
// Reading needs none of this: it adds sorting, filtering, and names of the cells of heat maps.
const collator = new Intl.Collator(undefined, { numeric: true });

function value(row, column) {
  const cell = row.cells[column];
  return cell.dataset.v !== undefined ? Number(cell.dataset.v) : cell.textContent.trim();
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") {
    return (Number.isNaN(a) ? Infinity : a) - (Number.isNaN(b) ? Infinity : b) || 0;
  }
  return collator.compare(a, b);
}

function sortBy(table, head, column) {
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows, (row, i) => ({ row, i, key: value(row, column) }));
  rows.sort((a, b) => (down ? compare(b.key, a.key) : compare(a.key, b.key)) || a.i - b.i);
  body.append(...rows.map(({ row }) => row));
}

for (const table of document.querySelectorAll("table.sortable")) {
  Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
    if (head.classList.contains("fixed")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sortBy(table, head, column));
  });
}

for (const box of document.querySelectorAll(".filter")) {
  const table = document.getElementById(box.dataset.table);
  const rows = Array.from(table.tBodies[0].rows);
  const input = box.querySelector("input");
  const status = box.querySelector("output");
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const apply = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    table.classList.toggle("searched", words.length > 0); // rows that are folded away are found too
    rows.forEach((row, i) => {
      row.hidden = !words.every((word) => texts[i].includes(word));
      n += !row.hidden;
    });
    status.textContent = `${n} of ${rows.length} rows`;
  };
  input.addEventListener("input", apply);
  apply();
  box.hidden = false;
}

for (const heat of document.querySelectorAll("table.heat")) {
  const status = document.getElementById(heat.dataset.status);
  const names = Array.from(heat.tBodies[0].rows, (row) => row.cells[0].querySelector("bdi").textContent);
  const tell = (event) => {
    const cell = event.target.closest("td");
    if (!cell) return;
    const row = cell.parentNode;
    status.textContent = `\u2068${names[row.sectionRowIndex]}\u2069 and \u2068${names[cell.cellIndex - 1]}\u2069: ${cell.textContent.trim()} %`;
  };
  heat.addEventListener("mouseover", tell);
}

for (const button of document.querySelectorAll("button.copy")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const code = document.getElementById(button.dataset.from);
    const done = button.textContent;
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Selected: press Ctrl+C";
    }
    setTimeout(() => (button.textContent = done), 2000);
  });
}
