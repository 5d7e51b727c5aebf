"""The reader of the built site finds each fault, and none where there is none."""

import base64
import runpy
from pathlib import Path

import pytest

CHECK_SITE = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "check_site.py"))
PIXEL = "R0lGODlhAQABAAAAACH5BAEAAAAALAAAAAABAAEAAAIBAAA="
SOUND = """<!doctype html><meta charset="utf-8"><link rel="icon" href="pixel.gif">
<title>Sound</title><main><img src="pixel.gif"><a id="here" href="#here">here</a>
<pre style="overflow: auto">short</pre><ul id="search-results"><li><a href="index.html">
</a></ul></main>"""
FAULTS = {
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


def test_every_fault_is_found(tmp_path):
    if reason := CHECK_SITE["why_not"]():
        pytest.skip(reason)
    (tmp_path / "pixel.gif").write_bytes(base64.b64decode(PIXEL))
    (tmp_path / "index.html").write_text(SOUND)
    (tmp_path / "search.html").write_text(SOUND)
    for number, fault in enumerate(FAULTS):
        (tmp_path / f"{number}.html").write_text(SOUND + fault)
    problems = CHECK_SITE["check"](tmp_path, searches={"ties": "index.html"})
    assert sorted(problems) == sorted(f"{number}.html" for number in range(len(FAULTS)))
    for number, expected in enumerate(FAULTS.values()):
        assert any(found.startswith(expected) for found in problems[f"{number}.html"])
