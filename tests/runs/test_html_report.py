"""The report of a comparison: what the page holds, and what it does in a real browser."""

import hashlib
import json
import runpy
import warnings
from base64 import b64encode
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_talr.runs import RunEvaluation, compare_runs
from sklearn_talr.runs._report_pictures import draw_means, draw_tiers

CHECK_SITE = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "check_site.py"))
MISSING = "\N{EN DASH}"
MEASURES = ["AP", "nDCG(dcg='exp-log2')@10"]
HOSTILE = [
    "</script><script>document.title = 'owned'</script>",
    '" onmouseover="document.title = \'owned\'" x="',
    "<img src=x onerror=\"document.title = 'owned'\">&amp;",
    "\x1b[31m\u202egnp\udcff",
    "plain",
]
SIZES = {"wide": CHECK_SITE["SCREEN"], "phone": CHECK_SITE["PHONE"]}


def evaluations(n_runs, n_queries, names=None, width=0.05, measures=MEASURES, query="q{}"):
    """Values of runs, each better than the one before, all but the first with ties."""
    rng = np.random.default_rng(0)
    queries = [query.format(number) for number in range(n_queries)]
    for run in range(n_runs):
        shape = n_queries, len(measures)
        values = rng.uniform(0.1, 0.6, shape) + 0.03 * run
        moved = width * min(run, 1) * rng.uniform(0, 1, shape)
        name = names[run] if names else f"run {run}"
        ends = values - moved, values + moved, values
        yield RunEvaluation(name, list(measures), queries, values, *ends)


def compared(*args, alpha=0.05, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that ties matter
        return compare_runs(*evaluations(*args, **kwargs), alpha=alpha, test="t")


def write_page(path, comparison):
    path.write_text(comparison.to_html(), "utf-8")
    return path.as_uri()


class Page(HTMLParser):
    """Elements of a page: name, attributes, and the text that stands directly in each."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in ("meta", "link"):
            self.open.append(self.elements[-1])

    def handle_startendtag(self, tag, attrs):
        self.elements.append([tag, dict(attrs), ""])

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        if self.open:
            self.open[-1][2] += data

    def of(self, tag):
        return [(attrs, text) for name, attrs, text in self.elements if name == tag]


def test_the_page_is_whole_and_asks_nobody():
    text = compared(4, 30, names=HOSTILE[:4], query="<b>{}</b>").to_html()
    page = Page(text)
    assert "http" not in text.replace("http-equiv", "")
    assert [a["href"] for a, _ in page.of("link")] == ["data:,"]
    names = {name for _, attrs, _ in page.elements for name in attrs}
    assert not [name for name in names if name in ("src", "style") or name[:2] == "on"]
    policy = page.of("meta")[1][0]["content"]
    script, style = page.of("script")[-1][1], page.of("style")[0][1]
    for part, body in (("script-src", script), ("style-src", style)):
        digest = b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{part} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert page.of("html")[0][0]["lang"] == "en"
    ids = [attrs["id"] for _, attrs, _ in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {attrs["for"] for attrs, _ in page.of("label")} <= set(ids)


def test_names_are_text_and_nothing_else():
    comparison = compared(5, 12, names=HOSTILE, query="</script><b>\u202e{}")
    text = comparison.to_html()
    page = Page(text)
    assert len(page.of("script")) == 2
    assert not page.of("img")
    assert not page.of("b")
    assert text.encode("utf-8")  # no surrogate is left
    assert "\x1b" not in text
    assert "\u202e" not in text
    shown = json.loads(page.of("script")[0][1])["queries"]
    assert shown == [rf"</script><b>\u202e{number}" for number in range(12)]
    options = [shown for attrs, shown in page.of("option") if attrs["value"] == "3"]
    assert options == [r"\x1b[31m\u202egnp\udcff"] * 2
    for name in (*HOSTILE[:3], HOSTILE[4]):
        assert [shown for _, shown in page.of("option")].count(name) == 2


def test_tables_have_captions_heads_and_the_numbers_of_the_comparison():
    comparison = compared(3, 40)
    page = Page(comparison.to_html())
    n_tables = 2 * len(MEASURES) + 1
    assert len(page.of("table")) == len(page.of("caption")) == n_tables
    assert {attrs.get("scope") for attrs, _ in page.of("th")} == {"col", "row"}
    boxes = [a for a, _ in page.of("div") if a.get("class") == "wide"]
    assert len({box["aria-label"] for box in boxes}) == n_tables
    assert all(box["tabindex"] == "0" for box in boxes)
    values = [float(a["data-value"]) for a, _ in page.of("td") if "data-value" in a]
    place = 0
    for measure in range(len(MEASURES)):
        order = np.argsort(-comparison.means[:, measure])
        columns = comparison.means, comparison.means_low, comparison.worst
        means = np.stack([column[order, measure] for column in columns], axis=1)
        assert_array_equal(np.reshape(values[place : place + 9], (3, 3)), means)
        pairs = np.reshape(values[place + 9 : place + 9 + 3 * 7], (3, 7))
        columns = "difference low adjusted_p_value separated effect_size lowest undecided"
        for column, found in zip(columns.split(), pairs.T):
            expected = getattr(comparison, column)[:, measure]
            if column == "separated":
                expected = expected - 0.5 * comparison.depends_on_ties[:, measure]
            assert_array_equal(found, expected)
        place += 9 + 3 * 7
    assert len(values) == place


def test_a_warning_tells_of_separations_that_ties_undo():
    with pytest.warns(UserWarning, match="not separated from it in every order"):
        comparison = compare_runs(*evaluations(2, 1000, width=0.2, measures=["AP"]))
    assert comparison.depends_on_ties.sum() == 1
    text = comparison.to_html()
    assert "1 of 1 separation would not hold in every order" in text
    assert "<strong>yes</strong>, depends<br>on ties: p = " in text
    assert "would not hold" not in compared(2, 40).to_html()


def test_values_of_queries_are_those_of_the_evaluations():
    runs = list(evaluations(3, 25, query="</script>{}"))
    runs[1].expected[3, 0] = np.nan
    text = compare_runs(*runs, test="t").to_html()
    (attrs, body), _ = Page(text).of("script")
    assert attrs == {"type": "application/json", "id": "values"}
    data = json.loads(body)
    assert data["queries"] == runs[0].queries
    for measure, of_runs in enumerate(data["values"]):
        for run, columns in zip(runs, of_runs):
            given = run.expected, run.worst, run.best
            for column, values in zip(given, columns):
                if values is None:
                    assert run is runs[0]  # which has no ties
                else:
                    found = np.array(values, dtype=float)
                    assert_allclose(found, column[:, measure], atol=6e-7)
    assert data["values"][0][1][0][3] is None


def test_degenerate_comparisons():
    """Equal runs have p = 1; equal differences have an infinite effect."""
    values = np.full((4, 1), 0.5)
    runs = [
        RunEvaluation(name, ["AP"], list("abcd"), v, v, v, v)
        for name, v in (("a", values), ("b", values), ("c", values + 0.25))
    ]
    page = Page(compare_runs(*runs, test="t").to_html())
    cells = [(attrs["data-value"], text) for attrs, text in page.of("td") if attrs]
    assert ("1.0", "1.0000") in cells
    assert ("-Infinity", "-∞") in cells
    assert ("0.0", "<0.0001") in cells
    single = [RunEvaluation(n, ["AP"], ["q"], *[values[:1]] * 4) for n in "ab"]
    assert "1 query; " in compare_runs(*single, test="t").to_html()


class Picture:
    """What a picture shows, in the units of its axis."""

    def __init__(self, svg):
        page = Page(svg)
        grid = [a["d"] for a, _ in page.of("path") if a["class"] == "grid"]
        ticks = [float(t) for a, t in page.of("text") if a["class"] == "tick"]
        places = [float(d[1:].split()[0]) for d in grid]
        assert len(ticks) >= 3
        self.scale = np.polyfit(places, ticks, 1)
        self.page = page

    def values(self, tag, kind, key):
        found = [float(a[key]) for a, _ in self.page.of(tag) if a["class"] == kind]
        return np.polyval(self.scale, found)

    def heights(self, kind):
        return [int(a["cy"]) for a, _ in self.page.of("circle") if a["class"] == kind]


def test_pictures_show_means_intervals_ties_and_tiers():
    names, means = ["best", "<b>" * 30, "worst"], [0.31, 0.24, 0.2]
    intervals = [(mean - 0.04, mean + 0.02) for mean in means]
    ties = [(mean - 0.1, mean + 0.11) for mean in means]
    picture = Picture(draw_means(names, means, intervals, ties))
    digits = {"atol": 2e-4}  # of a tenth of a pixel
    assert_allclose(picture.values("circle", "dot", "cx"), means, **digits)
    assert_allclose(picture.values("rect", "ties", "x"), [low for low, _ in ties], **digits)
    assert np.diff(picture.heights("dot")).tolist() == [36, 36]
    lines = [a["d"] for a, _ in picture.page.of("path") if a["class"] == "line"]
    ends = [[d[1:].split()[0], d.split("H")[1].split("m")[0]] for d in lines]
    assert_allclose(np.polyval(picture.scale, np.array(ends, float)), intervals, **digits)
    labels = [text for a, text in picture.page.of("text") if a["class"] == "name"]
    assert labels == ["best", ("<b>" * 30)[:45] + "…", "worst"]
    picture = Picture(draw_tiers(names, means, intervals, [[0, 2], [1]]))
    assert_allclose(picture.values("circle", "dot", "cx"), means, **digits)
    first, second, third = picture.heights("dot")
    paths = [(a["class"], a["d"].split(" ")[1]) for a, _ in picture.page.of("path")]
    notches = [d for kind, d in paths if kind == "tier member"]
    assert notches == [f"{y}h-7" for y in (first, third, second)]
    bars = [d for kind, d in paths if kind == "tier"]
    assert bars == [f"{first}V{third}", f"{second}V{second}"]


@pytest.mark.parametrize("n_tiers", [1, 3, 40])
def test_tiers_stand_beside_the_axis(n_tiers):
    names, means = ["a", "b"], [1.0, 0.0]
    svg = draw_tiers(names, means, [(m, m) for m in means], [[0, 1]] * n_tiers)
    page = Page(svg)
    dots = [float(a["cx"]) for a, _ in page.of("circle")]
    tiers = [a["d"] for a, _ in page.of("path") if a["class"] == "tier"]
    tiers = [float(d.split(" ")[0].removeprefix("M")) for d in tiers]
    assert 0 < min(dots) < max(dots) < min(tiers) - 7
    assert max(tiers) < 360


@pytest.mark.parametrize("value", [0.0, 0.5, 1e-7, 120.0])
def test_pictures_of_equal_means(value):
    nan = float("nan")
    for interval in ((value, value), (nan, nan)):
        svg = draw_means(["a", "b"], [value] * 2, [interval] * 2, [(value, value)] * 2)
        assert_allclose(Picture(svg).values("circle", "dot", "cx"), value, atol=1e-4)


@pytest.fixture(scope="module")
def browser():
    if reason := CHECK_SITE["why_not"]():
        pytest.skip(reason)
    browser = CHECK_SITE["start_browser"]()
    yield browser
    browser.quit()


def resize(browser, size, scheme="light"):
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


COLUMN = """
const [selector, column] = arguments;
const rows = [...document.querySelectorAll(selector + " tbody tr")];
return rows.map(row => row.cells[column].textContent);
"""
CLICK = """
const [selector, column] = arguments;
document.querySelectorAll(selector + " thead button")[column].click();
"""
CHOOSE = """
const [id, place] = arguments;
document.getElementById(id).value = place;
document.getElementById(id).dispatchEvent(new Event("change"));
"""
SORTED_BY = """
const heads = document.querySelectorAll(arguments[0] + " thead th[aria-sort]");
return [...heads].map(head => [head.cellIndex, head.getAttribute("aria-sort")]);
"""
# Least contrast of a text with what is behind it, by the formula of WCAG
CONTRAST = """
const channels = color => color.match(/[\\d.]+/g).map(Number);
const linear = x => x <= .04045 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4;
const light = color => channels(color).slice(0, 3).map(x => linear(x / 255))
  .reduce((sum, x, place) => sum + x * [.2126, .7152, .0722][place], 0);
const behind = element => {
  const color = getComputedStyle(element).backgroundColor;
  const seen = channels(color)[3] !== 0;
  return seen ? color : behind(element.parentElement);
};
const ratio = element => {
  const text = element.closest("svg") ? "fill" : "color";
  const pair = [light(getComputedStyle(element)[text]), light(behind(element))].sort();
  return (Math.max(...pair) + .05) / (Math.min(...pair) + .05);
};
const texts = document.querySelectorAll("main :is(h1, h2, p, caption, th, td, button," +
  " select, label, figcaption, text, strong, th span)");
return Math.min(...[...texts].map(ratio));
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_the_page_fits_and_can_be_read(browser, tmp_path, scheme, size):
    comparison = compared(5, 60, names=HOSTILE)
    resize(browser, SIZES[size], scheme)
    browser.get(write_page(tmp_path / "report.html", comparison))
    assert browser.title == "Comparison of 5 runs"
    assert browser.get_log("browser") == []
    assert browser.execute_script(CHECK_SITE["OVERFLOWING"]) == []
    assert browser.execute_script(CONTRAST) >= 4.5
    page = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (page == "rgb(255, 255, 255)") == (scheme == "light")
    heights = browser.execute_script(
        "return [...document.querySelectorAll('button, select')]"
        ".filter(each => each.offsetParent).map(each => each.offsetHeight)"
    )
    assert min(heights) >= 24
    read = browser.execute_script(CHECK_SITE["READ"])
    assert read["elsewhere"] == read["broken"] == []


def test_no_column_of_pairs_is_off_the_screen(browser, tmp_path):
    names = [f"a run of a rather long name, number {number}" for number in range(2)]
    runs = evaluations(2, 1000, width=0.2, measures=["AP"])
    runs = [replace(run, name=name) for run, name in zip(runs, names)]
    with pytest.warns(UserWarning, match="not separated from it in every order"):
        comparison = compare_runs(*runs)
    resize(browser, (1100, 1300))
    browser.get(write_page(tmp_path / "report.html", comparison))
    hidden = "const t = document.querySelector('.pairs').parentElement;"
    assert browser.execute_script(f"{hidden} return t.scrollWidth - t.clientWidth") <= 0


def test_a_measure_is_chosen(browser, tmp_path):
    resize(browser, SIZES["wide"])
    browser.get(write_page(tmp_path / "report.html", compared(3, 30)))
    shown = (
        "return [...document.querySelectorAll('section.measure')]"
        ".filter(section => section.offsetParent).map(section => section.ariaLabel)"
    )
    for place in (0, 1, 0):
        browser.execute_script(CHOOSE, "measure", place)
        assert browser.execute_script(shown) == [MEASURES[place]]
        tally = browser.find_element("id", "tally").text
        assert tally.startswith(f"{MEASURES[place]}: the first run is better in ")


def test_each_column_sorts_either_way(browser, tmp_path):
    comparison = compared(3, 40)
    resize(browser, SIZES["wide"])
    browser.get(write_page(tmp_path / "report.html", comparison))
    assert browser.execute_script(SORTED_BY, "table.queries") == [[1, "descending"]]
    keys = {"yes": 1, "no": 0} | {f"q{place}": place for place in range(40)}
    signs = {"ascending": 1, "descending": -1}
    for column in range(7):
        one, other = signs if not column else reversed(signs)
        for direction in (one, other, one):
            browser.execute_script(CLICK, "table.queries", column)
            sorted_by = browser.execute_script(SORTED_BY, "table.queries")
            assert sorted_by == [[column, direction]]
            cells = browser.execute_script(COLUMN, "table.queries", column)
            numbers = np.array([keys.get(cell, cell) for cell in cells], dtype=float)
            assert_array_equal(numbers, np.sort(numbers)[:: signs[direction]])
    browser.execute_script(CLICK, "section.measure:not([hidden]) .pairs", 1)
    cells = browser.execute_script(COLUMN, "section.measure:not([hidden]) .pairs", 1)
    assert cells == [f"{d:+.4f}" for d in sorted(comparison.difference[:, 0], reverse=True)]


def test_numbers_that_are_none_come_last_either_way(browser, tmp_path):
    runs = list(evaluations(2, 6))
    runs[1].expected[[1, 4], 0] = np.nan
    browser.get(write_page(tmp_path / "report.html", compare_runs(*runs, test="t")))
    for _ in range(3):
        browser.execute_script(CLICK, "table.queries", 3)
        assert browser.execute_script(COLUMN, "table.queries", 3)[-2:] == [MISSING, MISSING]


def test_pairs_and_their_differences(browser, tmp_path):
    comparison = compared(3, 20)
    browser.get(write_page(tmp_path / "report.html", comparison))
    for measure, first, second in ((0, 0, 1), (1, 2, 0), (0, 1, 2), (1, 1, 1)):
        for box, place in (("measure", measure), ("first", first), ("second", second)):
            browser.execute_script(CHOOSE, box, place)
        queries = browser.execute_script(COLUMN, "table.queries", 0)
        order = [comparison.queries.index(query) for query in queries]
        one, two = (
            {
                column: getattr(comparison.evaluations[run], column)[order, measure]
                for column in ("expected", "worst", "best")
            }
            for run in (first, second)
        )
        expected = [
            one["expected"] - two["expected"],
            one["expected"],
            two["expected"],
            one["worst"] - two["best"],
            one["best"] - two["worst"],
        ]
        for column, numbers in enumerate(expected, 1):
            found = browser.execute_script(COLUMN, "table.queries", column)
            assert_allclose(np.array(found, dtype=float), numbers, atol=6e-5)
        decide = (expected[3] < 0) & (expected[4] > 0)
        found = browser.execute_script(COLUMN, "table.queries", 6)
        assert_array_equal(np.array(found) == "yes", decide)
        assert f"Ties decide in {decide.sum()}." in browser.find_element("id", "tally").text
        heads = browser.find_elements("css selector", "table.queries thead th")
        assert [head.text for head in heads[2:4]] == [f"run {first}", f"run {second}"]


def test_the_keyboard_alone_will_do(browser, tmp_path):
    from selenium.webdriver.common.keys import Keys

    resize(browser, SIZES["wide"])
    browser.get(write_page(tmp_path / "report.html", compared(3, 20)))
    active = "return document.activeElement.id || document.activeElement.textContent"
    seen = []
    for _ in range(80):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        seen.append(browser.execute_script(active))
        if seen[-1] == "Ties decide":
            break
    for reached in ("measure", "first", "second", "Mean", "Effect size", "Lowest"):
        assert reached in seen
    for key, direction in ((Keys.ENTER, "descending"), (Keys.SPACE, "ascending")):
        browser.switch_to.active_element.send_keys(key)
        assert browser.execute_script(SORTED_BY, "table.queries") == [[6, direction]]
    browser.find_element("id", "second").send_keys("run 2")
    head = browser.find_elements("css selector", "table.queries thead th")[3]
    assert head.text == "run 2"


def test_many_queries_and_runs(browser, tmp_path):
    names = [f"system {number}" for number in range(10)]
    comparison = compared(10, 1000, names=names)
    browser.get(write_page(tmp_path / "report.html", comparison))
    assert browser.get_log("browser") == []
    browser.execute_script(CHOOSE, "second", 9)
    browser.execute_script(CLICK, "table.queries", 0)
    queries = browser.execute_script(COLUMN, "table.queries", 0)
    assert queries == [f"q{number}" for number in range(1000)]


def test_hostile_names_do_nothing(browser, tmp_path):
    comparison = compared(5, 10, names=HOSTILE, query="<img src=x onerror=alert({})>")
    browser.get(write_page(tmp_path / "report.html", comparison))
    for run in range(5):
        browser.execute_script(CHOOSE, "first", run)
        browser.execute_script(CLICK, "table.queries", 2)
    assert browser.title == "Comparison of 5 runs"
    assert browser.execute_script("return document.images.length") == 0
    assert browser.get_log("browser") == []
    shown = browser.execute_script(COLUMN, "table.queries", 0)
    assert sorted(shown) == sorted(comparison.queries)


def test_without_scripts_all_measures_are_shown(browser, tmp_path):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(write_page(tmp_path / "report.html", compared(3, 10)))
        sections = browser.find_elements("css selector", "section.measure")
        assert [section.is_displayed() for section in sections] == [True, True]
        assert not browser.find_element("id", "measure").is_displayed()
        assert "needs JavaScript" in browser.find_element("css selector", "noscript").text
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
