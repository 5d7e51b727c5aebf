"use strict";
const $ = id => document.getElementById(id);
const data = JSON.parse($("values").textContent);
const collator = new Intl.Collator("en", {numeric: true});
const number = text => parseFloat(text.replace("<", "").replace("inf", "Infinity"));

// Names by number and letter; what has no number comes last either way.
function sort(table) {
  const head = table.querySelector("thead th[aria-sort]");
  if (!head) return;
  const sign = head.getAttribute("aria-sort") === "ascending" ? 1 : -1;
  const column = head.cellIndex;
  const rows = [...table.tBodies[0].rows].map(row => [row.cells[column].textContent, row]);
  rows.sort(([a], [b]) => {
    if (a === "\u2013" || b === "\u2013") return (a === "\u2013") - (b === "\u2013");
    return sign * ((column && number(a) - number(b)) || collator.compare(a, b));
  });
  table.tBodies[0].append(...rows.map(pair => pair[1]));
}

for (const head of document.querySelectorAll("thead th")) {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...head.childNodes);
  head.append(button);
  button.addEventListener("click", () => {
    const ends = ["ascending", "descending"];
    const first = head.cellIndex ? 1 : 0;
    const next = ends[head.getAttribute("aria-sort") === ends[first] ? 1 - first : first];
    for (const each of head.parentElement.cells) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", next);
    sort(head.closest("table"));
  });
}

function show() {
  const [measure, first, second] =
    ["measure", "first", "second"].map(id => Number($(id).value));
  document.querySelectorAll("section.measure").forEach((section, place) => {
    section.hidden = place !== measure;
  });
  const values = (run, column) => data.values[(measure * data.n_runs + run) * 3 + column];
  const table = document.querySelector("table.queries");
  const minus = (a, b) => a === null || b === null ? null : a - b;
  const shown = value => value === null ? "\u2013" : value.toFixed(4);
  const body = document.createElement("tbody");
  data.queries.forEach((query, place) => {
    const [a, low, high] = [0, 1, 2].map(column => values(first, column)[place]);
    const [b, lowB, highB] = [0, 1, 2].map(column => values(second, column)[place]);
    const least = minus(low, highB), most = minus(high, lowB);
    const cells = [minus(a, b), a, b, least, most].map(shown);
    const row = body.insertRow();
    const head = document.createElement("th");
    head.textContent = query;
    row.append(head);
    for (const text of [...cells, least < -5e-7 && most > 5e-7 ? "yes" : "no"])
      row.insertCell().textContent = text;
  });
  table.tBodies[0].replaceWith(body);
  sort(table);
}

for (const find of document.querySelectorAll(".find")) {
  find.hidden = false;
  find.querySelector("input").addEventListener("input", event => {
    const text = event.target.value.toLowerCase();
    for (const row of find.parentElement.querySelectorAll("table.runs tbody tr"))
      row.hidden = !row.cells[0].textContent.toLowerCase().includes(text);
  });
}

document.querySelector(".choice").hidden = false;
$("second").value = "1";
for (const id of ["measure", "first", "second"]) $(id).addEventListener("change", show);
show();
