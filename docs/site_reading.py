"""What the check of the site asks a page in the browser: scripts that return faults.

Each script of ``ON_SCREEN`` and ``ON_PHONE`` returns a list of faults of the page in
that window, as text; the key says what is wrong with it. ``check_site.py`` runs them.
"""

# Words are needed of every image that is no ornament; a file name says nothing.
_IMAGES = """
const ornaments =
  ".navbar-brand, .sidebar-header-items, .modindextable, [aria-hidden=true]";
return [...document.images].filter(image => !image.closest(ornaments)).filter(image => {
  const words = (image.getAttribute("alt") || "").trim().split(/\\s+/).filter(Boolean);
  return words.length < 4 || /\\.(png|svg|jpe?g|gif)\\b/.test(words.join(" "));
}).map(image => `${image.currentSrc.split("/").pop()} alt="${image.alt}"`);
"""
_HEADINGS = """
const headings = [...document.querySelectorAll("main :is(h1, h2, h3, h4, h5, h6)")];
const level = heading => +heading.tagName[1];
const jumps = headings.filter(
  (heading, i) => i && level(heading) > level(headings[i - 1]) + 1);
const firsts = headings.filter(heading => level(heading) === 1).length;
return [...jumps.map(heading => heading.outerHTML.slice(0, 80)),
        ...(document.querySelector("main") && firsts !== 1 ? [`${firsts} of h1`] : [])];
"""
_SCOPES = """
return [...document.querySelectorAll("main table th:not([scope])")].slice(0, 1).map(
  cell => cell.outerHTML.slice(0, 80));
"""
# The buttons come when their script has loaded; what they copy goes by way of a text field.
_COPIES = """
const blocks = [...document.querySelectorAll("main div.highlight pre")];
const buttons = blocks.map(block => block.parentElement.querySelector("button.copybtn"));
const without = blocks.filter((block, i) => !buttons[i]);
const copied = [], copy = document.execCommand;
document.execCommand = () => copied.push(document.activeElement.value);
buttons.filter(Boolean).forEach(button => button.click());
document.execCommand = copy;
const wrong = copied.filter(text => !text.trim() || /^(>>> |\\.\\.\\. |\\$ )/m.test(text));
const missed = buttons.filter(Boolean).length - copied.length;
return [...without.map(block => `no button: ${block.textContent.slice(0, 60)}`),
        ...wrong.map(text => `copies ${text.slice(0, 60)}`),
        ...(missed ? [`${missed} buttons copy nothing`] : [])];
"""
_TURNING = """
return [...document.querySelectorAll(".prev-next-area a, .prev-next-title")].filter(
  link => link.scrollWidth > link.clientWidth + 1
    || link.scrollHeight > link.clientHeight + 1
    || link.getBoundingClientRect().right > document.documentElement.clientWidth + 1
).map(link => link.textContent.trim().replace(/\\s+/g, " "));
"""
_SIDEBAR = """
const sidebar = document.querySelector(".bd-sidebar-primary");
if (!sidebar) return [];
const links = [...sidebar.querySelectorAll("nav.bd-docs-nav a")];
return links.filter(link => link.offsetParent).length > 2 ? [] : ["no sidebar"];
"""
# Tables of this many columns keep their first one in sight while they are scrolled.
STICKY_FROM = 4
_STICKY = f"""
const scrolled = [...document.querySelectorAll("main .pst-scrollable-table-container")];
return scrolled.filter(box => box.scrollWidth > box.clientWidth + 1).filter(box => {{
  const row = [...box.querySelectorAll("tr")].pop();
  if (!row || row.children.length < {STICKY_FROM} || row.firstElementChild.colSpan > 1)
    return false;
  box.scrollLeft = box.scrollWidth;
  const left = row.children[0].getBoundingClientRect().left;
  const moved = left < box.getBoundingClientRect().left - 3;  // borders aside
  box.scrollLeft = 0;
  return moved;
}}).map(box => box.textContent.trim().replace(/\\s+/g, " ").slice(0, 60));
"""
_CONTENTS = """
const here = document.querySelectorAll("main article section section").length;
const toggle = document.querySelector("button.secondary-toggle");
return here > 3 && document.querySelector(".bd-main") && !(toggle && toggle.offsetParent)
  ? [`${here} sections and no contents`] : [];
"""
# Letters of a drawn figure, in CSS pixels: Matplotlib writes letters as outlines that it
# scales by a hundredth of their size, or as text. Superscripts are not counted.
SMALLEST_LETTERS = 7
_LETTERS = f"""
const drawn = [...document.querySelectorAll("main img")].filter(
  image => image.currentSrc.split("?")[0].endsWith(".svg") && image.naturalWidth > 200);
return drawn.map(image => {{
  const request = new XMLHttpRequest();
  request.open("GET", image.currentSrc, false);
  request.send();
  const svg = new DOMParser().parseFromString(request.responseText, "image/svg+xml");
  const box = svg.documentElement.getAttribute("viewBox").split(/\\s+/).map(Number);
  const ratio = image.getBoundingClientRect().width / box[2];
  const outlined = [...svg.querySelectorAll("g[id^=text_] > g[transform]")].map(
    group => 100 * parseFloat((group.getAttribute("transform").match(
      /scale\\(([\\d.]+)/) || [0, NaN])[1]));
  const written = [...svg.querySelectorAll("text")].map(text => parseFloat(
    (text.getAttribute("style") || "").match(/([\\d.]+)px/)?.[1]));
  const smallest = Math.min(...[...outlined, ...written].filter(size => size > 0));
  return [image.currentSrc.split("/").pop(), smallest * ratio];
}}).filter(([, pixels]) => pixels < {SMALLEST_LETTERS} - 0.05).map(
  ([name, pixels]) => `${{name}} ${{pixels.toFixed(1)}} px`);
"""

ON_SCREEN = {
    "image without words": _IMAGES,
    "order of headings": _HEADINGS,
    "table header without scope": _SCOPES,
    "copy button": _COPIES,
    "link to a neighbor is clipped": _TURNING,
}
ON_PHONE = {
    "link to a neighbor is clipped": _TURNING,
    "first column does not stick": _STICKY,
    "long page": _CONTENTS,
    "letters of a figure": _LETTERS,
}
SIDEBAR = {"no sidebar": _SIDEBAR}
