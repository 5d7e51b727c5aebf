"""The style and the script of the report, which the page holds."""

STYLE = """
:root {
  --ink: #1b1f24; --page: #ffffff; --pale: #5b6570; --line: #c9d1d9; --band: #f3f5f7;
  --accent: #0072b2; --ties: #d55e00; --note: #fff4e5;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6e9ec; --page: #14181d; --pale: #a3adb8; --line: #3a434d; --band: #1d232a;
    --accent: #56b4e9; --ties: #e69f00; --note: #33270f;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 80rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6rem; line-height: 1.2; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .5rem; overflow-wrap: anywhere; }
p { max-width: 45rem; overflow-wrap: anywhere; }
.warning { background: var(--note); border-left: .3rem solid var(--ties);
  padding: .5rem .8rem; }
.wide { overflow-x: auto; margin: 1rem 0; }
.wide:focus-visible, button:focus-visible, select:focus-visible {
  outline: 3px solid var(--accent); outline-offset: 2px; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--pale); font-size: .9rem; padding-bottom: .5rem; }
caption span { display: block; position: sticky; left: 0;
  max-width: min(45rem, calc(100vw - 3.2rem)); }
th, td { padding: .3rem .5rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
th:first-child { text-align: left; }
tbody th { font-weight: 500; max-width: 24rem; white-space: normal;
  overflow-wrap: anywhere; min-width: 9rem; }
.pairs th, .pairs td { padding: .3rem .35rem; }
.pairs tbody th { min-width: 11rem; }
.queries tbody th { min-width: 5rem; }
tbody th span { color: var(--pale); font-weight: 400; }
thead th { vertical-align: bottom; white-space: normal; }
tbody tr:nth-child(even) { background: var(--band); }
th button { font: inherit; font-weight: 600; color: inherit; background: none; border: 0;
  padding: .4rem 0; min-height: 2rem; cursor: pointer; text-align: inherit; }
th button::after { content: "\\2195"; color: var(--pale); padding-left: .3rem; }
th[aria-sort=ascending] button::after { content: "\\2191"; color: var(--accent); }
th[aria-sort=descending] button::after { content: "\\2193"; color: var(--accent); }
.choices { display: flex; flex-wrap: wrap; gap: 0 1.5rem; }
.choices p { max-width: 100%; margin: .5rem 0; }
.choices select { max-width: min(20rem, 100%); }
select { font: inherit; color: inherit; background: var(--page); max-width: 100%;
  border: 1px solid var(--pale); border-radius: .3rem; padding: .4rem; min-height: 2.4rem; }
.pictures { display: flex; flex-wrap: wrap; gap: 1.5rem; margin: 1rem 0; }
figure { margin: 0; flex: 1 1 20rem; max-width: 34rem; }
figcaption { color: var(--pale); font-size: .9rem; }
svg { display: block; width: 100%; }
svg text { font: 12px system-ui, sans-serif; fill: var(--ink); }
svg .name { paint-order: stroke; stroke: var(--page); stroke-width: 4; }
svg .tick { text-anchor: middle; fill: var(--pale); }
svg .grid, svg .guide { stroke: var(--line); fill: none; }
svg .guide { stroke-dasharray: 2 3; }
svg .dot { fill: var(--accent); }
svg .line { stroke: var(--accent); stroke-width: 2; fill: none; }
svg .ties { fill: var(--ties); opacity: .45; }
svg .tier { stroke: var(--pale); stroke-width: 2; fill: none; }
[hidden] { display: none; }
@media print { .choice, .choices { display: none; } .wide { overflow: visible; } }
"""

SCRIPT = """
"use strict";
const $ = id => document.getElementById(id);
const data = JSON.parse($("values").textContent);
const collator = new Intl.Collator("en", {numeric: true});

function keyOf(row, column, kind) {
  const cell = row.cells[column];
  return kind === "text" ? cell.textContent : Number(cell.dataset.value);
}

// Text ascends by number and letter; numbers that are none come last either way.
function compare(one, other, kind, sign) {
  if (kind === "text") return sign * collator.compare(one, other);
  if (isNaN(one) || isNaN(other)) return isNaN(one) - isNaN(other);
  return sign * (one - other);
}

function sort(table) {
  const heads = [...table.tHead.rows[0].cells];
  const column = heads.findIndex(head => head.hasAttribute("aria-sort"));
  if (column < 0) return;
  const kind = heads[column].dataset.kind;
  const sign = heads[column].getAttribute("aria-sort") === "ascending" ? 1 : -1;
  const body = table.tBodies[0];
  const rows = [...body.rows].map(row => [keyOf(row, column, kind), row]);
  rows.sort((one, other) => compare(one[0], other[0], kind, sign));
  body.append(...rows.map(pair => pair[1]));
}

function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const first = head.dataset.kind === "text" ? "ascending" : "descending";
      const second = first === "ascending" ? "descending" : "ascending";
      const next = head.getAttribute("aria-sort") === first ? second : first;
      heads.forEach(each => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", next);
      sort(table);
    });
  }
}

function shown(value, signed) {
  if (!Number.isFinite(value)) return "\\u2013";
  return (signed && value > 0 ? "+" : "") + value.toFixed(4);
}

function cell(row, value, text) {
  const td = row.insertCell();
  td.dataset.value = value;
  td.textContent = text;
}

// Differences of rounded values that are no differences.
const isAbove = value => value > 5e-7;

// Columns of a pair: both values, their difference, and what ties can make of it.
function differences(measure, first, second) {
  const [a, aWorst, aBest] = data.values[measure][first];
  const [b, bWorst, bBest] = data.values[measure][second];
  const at = (values, place, other) => (values || other)[place] ?? NaN;
  return data.queries.map((query, place) => {
    const x = at(a, place), y = at(b, place);
    const low = at(aWorst, place, a) - at(bBest, place, b);
    const high = at(aBest, place, a) - at(bWorst, place, b);
    const decide = isAbove(-low) && isAbove(high);
    return {query, x, y, difference: x - y, low, high, decide};
  });
}

function showQueries() {
  const [measure, first, second] =
    ["measure", "first", "second"].map(id => Number($(id).value));
  const table = document.querySelector("table.queries");
  const [, , one, two] = table.tHead.rows[0].cells;
  one.querySelector("button").textContent = $("first").selectedOptions[0].textContent;
  two.querySelector("button").textContent = $("second").selectedOptions[0].textContent;
  const body = document.createElement("tbody");
  const rows = differences(measure, first, second);
  for (const values of rows) {
    const row = body.insertRow();
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = values.query;
    row.append(head);
    cell(row, values.difference, shown(values.difference, true));
    cell(row, values.x, shown(values.x));
    cell(row, values.y, shown(values.y));
    cell(row, values.low, shown(values.low, true));
    cell(row, values.high, shown(values.high, true));
    cell(row, Number(values.decide), values.decide ? "yes" : "no");
  }
  table.tBodies[0].replaceWith(body);
  sort(table);
  const count = test => rows.filter(test).length;
  const name = $("measure").selectedOptions[0].textContent;
  $("tally").textContent = `${name}: the first run is better in `
    + `${count(row => isAbove(row.difference))} of ${rows.length} queries, worse in `
    + `${count(row => isAbove(-row.difference))}. Ties decide in `
    + `${count(row => row.decide)}.`;
}

function showMeasure() {
  [...document.querySelectorAll("section.measure")].forEach((section, place) => {
    section.hidden = place !== Number($("measure").value);
  });
  showQueries();
}

document.querySelectorAll("table").forEach(sortable);
document.querySelector(".choice").hidden = false;
$("second").value = "1";
$("measure").addEventListener("change", showMeasure);
$("first").addEventListener("change", showQueries);
$("second").addEventListener("change", showQueries);
showMeasure();
"""
