"""The report of a comparison: what the page holds, and what it does in a real browser."""

import hashlib
import json
import warnings
from base64 import b64encode
from html.parser import HTMLParser

import numpy as np
import pytest
from browser import FIND_LOADED, FIND_OVERFLOWING, start_browser, why_no_browser
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_talr.runs import RunEvaluation, compare_runs

MEASURES = ["AP", 'nDCG(dcg="exp-log2")@10']
HOSTILE = [
    "</script><script>document.title = 'owned'</script>",
    '" onmouseover="document.title = \'owned\'" x="',
    "<img src=x onerror=\"document.title = 'owned'\">&amp;",
    "\x1b[31m\u202egnp\udcff",
    "plain",
]
SIZES = {"wide": (1280, 900), "phone": (390, 844)}  # CSS pixels


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
        if tag not in ("img", "input", "link", "meta"):
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
    assert all(a["src"].startswith("data:image/svg+xml;") for a, _ in page.of("img"))
    names = {name for _, attrs, _ in page.elements for name in attrs}
    assert not [name for name in names if name == "style" or name[:2] == "on"]
    policy = page.of("meta")[1][0]["content"]
    script, style = page.of("script")[-1][1], page.of("style")[0][1]
    assert len(page.of("style")) == 1
    for part, body in (("script-src", script), ("style-src", style)):
        digest = b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{part} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    ids = [attrs["id"] for _, attrs, _ in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {attrs["for"] for attrs, _ in page.of("label")} <= set(ids)


def test_names_are_text_and_nothing_else():
    comparison = compared(5, 12, names=HOSTILE, query="</script><b>\u202e{}")
    text = comparison.to_html()
    page = Page(text)
    assert len(page.of("script")) == 2
    assert len(page.of("img")) == len(MEASURES)
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


def test_tables_have_the_numbers_of_the_comparison():
    comparison = compared(3, 40)
    page = Page(comparison.to_html())
    assert len(page.of("table")) == len(page.of("caption")) == 2 * len(MEASURES) + 1
    cells = iter([text for _, text in page.of("td")])
    for measure in range(len(MEASURES)):
        order = np.argsort(-comparison.means[:, measure])
        for run in order:
            for column in ("means", "means_low", "means_high", "worst", "best"):
                assert next(cells) == f"{getattr(comparison, column)[run, measure]:.4f}"
            for column in ("rank_low", "rank_high"):
                assert next(cells) == str(getattr(comparison, column)[run, measure])
            behind = comparison.means[order[0], measure] - comparison.means[run, measure]
            assert next(cells) == f"{behind:.4f}"
            low, high, p_value = (next(cells) for _ in range(3))
            assert float(low) <= behind + 5e-5
            assert behind <= float(high) + 5e-5
            assert p_value == "1.0000" or run != order[0]
            assert next(cells).isalpha()  # tiers
        for pair in range(3):
            of_pair = [next(cells) for _ in range(11)]
            assert of_pair[0] == f"{comparison.difference[pair, measure]:.4f}"
            assert of_pair[-2] == str(comparison.significant[pair, measure])
            assert of_pair[-1] == str(comparison.depends_on_ties[pair, measure])
    assert next(cells, None) is None


def test_degenerate_comparisons():
    """Equal runs have p = 1; equal differences have an infinite effect."""
    values = np.full((4, 1), 0.5)
    runs = [
        RunEvaluation(name, ["AP"], list("abcd"), v, v, v, v)
        for name, v in (("a", values), ("b", values), ("c", values + 0.25))
    ]
    cells = [text for _, text in Page(compare_runs(*runs, test="t").to_html()).of("td")]
    assert {"1.0000", "-inf", "<0.0001"} <= set(cells)
    single = [RunEvaluation(n, ["AP"], ["q"], *[values[:1]] * 4) for n in "ab"]
    assert "1 query " in compare_runs(*single, test="t").to_html()


@pytest.fixture(scope="module")
def browser():
    if reason := why_no_browser():
        pytest.skip(reason)
    browser = start_browser()
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
const canvas = document.createElement("div");
canvas.style.backgroundColor = "Canvas";  // white, or what a dark scheme has
document.body.append(canvas);
const behind = element => {
  const color = getComputedStyle(element).backgroundColor;
  if (channels(color)[3] !== 0) return color;
  return element.parentElement ? behind(element.parentElement)
    : getComputedStyle(canvas).backgroundColor;
};
const ratio = element => {
  const pair = [light(getComputedStyle(element).color), light(behind(element))].sort();
  return (Math.max(...pair) + .05) / (Math.min(...pair) + .05);
};
const texts = document.querySelectorAll("body :is(h1, h2, p, caption, th, td, button," +
  " select, label, strong)");
return Math.min(...[...texts].map(ratio));
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_the_page_fits_and_can_be_read(browser, tmp_path, scheme, size):
    comparison = compared(5, 60, names=HOSTILE)
    resize(browser, SIZES[size], scheme)
    browser.get(write_page(tmp_path / "report.html", comparison))
    assert browser.title == "Comparison of 5 systems"
    assert browser.get_log("browser") == []
    assert browser.execute_script(FIND_OVERFLOWING) == []
    assert browser.execute_script(CONTRAST) >= 4.5
    heights = browser.execute_script(
        "return [...document.querySelectorAll('button, select')]"
        ".filter(each => each.offsetParent).map(each => each.offsetHeight)"
    )
    assert min(heights) >= 24
    loaded = browser.execute_script(FIND_LOADED)
    assert loaded["addresses"] == loaded["broken"] == []


def test_many_systems_have_ranks_and_are_found(browser, tmp_path):
    """45 systems: no letters, no table of 990 pairs, one measure without ties."""
    comparison = compared(45, 12, width=0, measures=["AP"])
    text = comparison.to_html()
    assert len(Page(text).of("table")) == 2
    heads = [shown for _, shown in Page(text).of("th")]
    assert {"rank_low", "behind"} <= set(heads)
    assert not {"tiers", "worst", "undecided"} & set(heads)
    for size in SIZES.values():
        resize(browser, size)
        browser.get(write_page(tmp_path / "report.html", comparison))
        assert browser.execute_script(FIND_OVERFLOWING) == []
    assert browser.get_log("browser") == []
    shown = (
        "const input = document.querySelector('.find input'); input.value = arguments[0];"
        "input.dispatchEvent(new Event('input'));"
        "return [...document.querySelectorAll('table.runs tbody tr')]"
        ".filter(row => row.offsetParent).map(row => row.cells[0].textContent)"
    )
    found = browser.execute_script(shown, "RUN 4")
    assert sorted(found) == sorted(["run 4", *(f"run 4{i}" for i in range(5))])
    assert len(browser.execute_script(shown, "")) == 45


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


def test_each_column_sorts_either_way(browser, tmp_path):
    comparison = compared(3, 40)
    resize(browser, SIZES["wide"])
    browser.get(write_page(tmp_path / "report.html", comparison))
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


def test_hostile_names_do_nothing(browser, tmp_path):
    comparison = compared(5, 10, names=HOSTILE, query="<img src=x onerror=alert({})>")
    browser.get(write_page(tmp_path / "report.html", comparison))
    for run in range(5):
        browser.execute_script(CHOOSE, "first", run)
        browser.execute_script(CLICK, "table.queries", 2)
    assert browser.title == "Comparison of 5 systems"
    assert browser.execute_script("return document.images.length") == len(MEASURES)
    assert browser.get_log("browser") == []
    shown = browser.execute_script(COLUMN, "table.queries", 0)
    assert sorted(shown) == sorted(comparison.queries)
