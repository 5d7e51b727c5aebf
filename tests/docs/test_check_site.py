"""The reader of the built site finds each fault, and none where there is none."""

import base64
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
CHECK_SITE = runpy.run_path(str(DOCS / "check_site.py"))
PIXEL = "R0lGODlhAQABAAAAACH5BAEAAAAALAAAAAABAAEAAAIBAAA="
SOUND = """<!doctype html><meta charset="utf-8"><link rel="icon" href="pixel.gif">
<title>Sound</title><main><h1>Sound</h1><img src="pixel.gif" alt="One pixel and no more">
<a id="here" href="#here">here</a>
<pre style="overflow: auto">short</pre><table><tr><th scope="col">a</th></tr></table>
<ul id="search-results"><li><a href="index.html">
</a></ul></main>"""
SCROLLED = """<main>
<div class="pst-scrollable-table-container" style="overflow: auto; width: 50px">
<table><tr><td style="{}">one</td><td>two</td><td>three</td><td>four</td></tr></table>
</div></main>"""
CODE = """<main><div class="highlight"><pre>&gt;&gt;&gt; 1</pre>{}</div></main>"""
BUTTON = """<button class="copybtn" onclick="
const text = document.createElement('textarea');
text.value = '{}'; document.body.append(text); text.select(); document.execCommand('copy');
text.remove()">copy</button>"""
DRAWING = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 460 200" width="460"
height="200"><g id="text_1"><g transform="translate(0 9) scale({} -0.1)"></g></g></svg>"""
SOUND += SCROLLED.format("position: sticky; left: 0")
SOUND += CODE.format(BUTTON.format("1"))
SOUND += (
    '<main><img src="large.svg" alt="Letters that are large enough" width="350"></main>'
)
FAULTS = {
    '<main><img src="pixel.gif"></main>': "image without words",
    '<main><img src="pixel.gif" alt="a picture named pixel.gif"></main>': "image without",
    "<main><h3>skips one</h3></main>": "order of headings",
    "<main><h1>second</h1></main>": "order of headings",
    "<main><table><tr><th>a</th></tr></table></main>": "table header without scope",
    CODE.format(""): "copy button: no button",
    CODE.format(BUTTON.format(">>> 1")): "copy button: copies",
    CODE.format(
        '<button class="copybtn">copy</button>'
    ): "copy button: 1 buttons copy nothing",
    """<div class="prev-next-area"><a style="display: block; width: 50px; overflow: hidden">
    averylongtitleofthenextpage</a></div>""": "link to a neighbor is clipped",
    SCROLLED.format(""): "first column does not stick",
    """<main class="bd-main"><article><section><section></section><section></section>
    <section></section><section></section></section></article></main>""": "long page",
    '<main><img src="small.svg" alt="Letters that are too small" width="350"></main>': (
        "letters of a figure"
    ),
    '<div class="bd-sidebar-primary"></div>': "no sidebar",
    '<img src="missing.gif">': "image does not load",
    '<a href="nowhere.html">link</a>': "dead link",
    '<a href="index.html#there">link</a>': "link to no such place",
    '<a href="mailto:mAP@1000">mAP@1000</a>': "is no mail address",
    '<script>console.error("oh")</script>': "console",
    '<script src="http://127.0.0.2:9/x.js"></script>': "asks another host",
    '<span class="math">\\(x\\)</span>': "formula is not set",
    '<main><pre style="overflow: auto; width: 50px">longer than it</pre></main>': "clipped",
    '<div style="width: 2000px; height: 1px"></div>': "wider than 1280 px",
    '<div style="width: 600px; height: 1px"></div>': "wider than 390 px",
}


def test_every_fault_is_found(tmp_path, monkeypatch):
    if reason := CHECK_SITE["why_not"]():
        pytest.skip(reason)
    (tmp_path / "pixel.gif").write_bytes(base64.b64decode(PIXEL))
    (tmp_path / "large.svg").write_text(DRAWING.format("0.12"))
    (tmp_path / "small.svg").write_text(DRAWING.format("0.06"))
    (tmp_path / "index.html").write_text(SOUND)
    (tmp_path / "search.html").write_text(SOUND)
    for number, fault in enumerate(FAULTS):
        (tmp_path / f"{number}.html").write_text(SOUND + fault)
    pages = tuple(f"{number}.html" for number in range(len(FAULTS)))
    monkeypatch.setitem(CHECK_SITE["read_page"].__globals__, "WITH_SIDEBAR", pages)
    problems = CHECK_SITE["check"](tmp_path, searches={"ties": "index.html"}, switched=None)
    assert sorted(problems) == sorted(f"{number}.html" for number in range(len(FAULTS)))
    for number, expected in enumerate(FAULTS.values()):
        assert any(found.startswith(expected) for found in problems[f"{number}.html"])
