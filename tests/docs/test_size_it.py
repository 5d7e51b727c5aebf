"""The calculator of the page "Size an index": bytes of real indexes, and a real browser."""

import json
import re
import runpy
import sys
from importlib import import_module
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from sklearn_talr.hashing import AdditiveHasher
from sklearn_talr.neighbors import HammingNeighbors, HashedNeighbors

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
with mock.patch.object(sys, "path", [str(DOCS), *sys.path]):
    CHECK_SITE = runpy.run_path(str(DOCS / "check_site.py"))
SCRIPT = (DOCS / "_static" / "size_it.js").read_text(encoding="utf-8")
CONSTANTS = json.loads(re.search(r"const CONSTANTS = (\{.*?\n  \});", SCRIPT, re.S)[1])
PAGE = """<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width"><title>Size</title>
<link rel="stylesheet" href="site.css"><main>{form}</main>
<script src="size_it.js"></script>"""
NOTHING = "\N{EN DASH}"
BITS = [1, 8, 9, 16, 17, 32, 33, 64, 65, 100, 128, 256, 512]


def index_bytes(items, bits, terms):
    """What the page says an index takes."""
    return items * (-(-bits // 8) + terms)


@pytest.mark.parametrize("n_bits", BITS)
def test_indexes_take_the_bytes_that_the_page_says(n_bits):
    bits = np.random.default_rng(n_bits).integers(0, 2, (100, n_bits), dtype=np.uint8)
    neighbors = HammingNeighbors().fit(bits)
    assert round(neighbors.n_bytes_per_item_ * 100) == index_bytes(100, n_bits, 0)


@pytest.mark.parametrize(
    ("metric", "terms"), [("inner_product", 1), ("cosine", 1), ("euclidean", 2)]
)
def test_files_and_memory_of_a_hasher_and_its_index(metric, terms, tmp_path):
    """The hasher, and a few kilobytes, are in the folder, too."""
    X = np.random.default_rng(0).normal(size=(900, 12)).astype(np.float32)
    hasher = AdditiveHasher(24, metric=metric, word_size=1, max_iter=2, random_state=0)
    sizes = []
    for n_items in (300, 900):
        index = HashedNeighbors(hasher).fit(X[:n_items])
        memory = index_bytes(n_items, 24, terms)
        assert round(index.n_bytes_per_item_ * n_items) == memory
        index.save(tmp_path / str(n_items))
        files = (tmp_path / str(n_items)).rglob("*.*")
        sizes.append(sum(path.stat().st_size for path in files if path.is_file()) - memory)
    assert abs(np.diff(sizes)[0]) < 1_024
    assert 0 < sizes[0] < 64_000


def test_milliseconds_are_those_of_the_measured_file(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    path = ROOT / "benchmarks" / "results" / "size.csv"
    assert CONSTANTS["ms"] == import_module("_size_constants").constants(path)


def test_the_page_has_the_constants_of_its_calculator():
    page = (DOCS / "user_guide" / "size_it.rst").read_text(encoding="utf-8")
    for name, way in [("bits", "Hamming"), ("weights", "weighted"), ("floats", "floats")]:
        (row,) = re.findall(rf"^{name} .*", page, re.M)
        assert [float(x) for x in row.split()[-3:]] == list(CONSTANTS["ms"][way].values())
    call, item, unit = CONSTANTS["ms"]["floats"].values()
    for ms, items in re.findall(r"\* (\d+) ms among ([\d ]+) items", page):
        n_items = int(items.replace(" ", ""))
        assert abs(call + (item + 384 * unit) * n_items / 1e6 - int(ms)) < 0.03 * int(ms)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The form alone on a page, in a browser."""
    if reason := CHECK_SITE["why_not"]():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("size")
    form = (DOCS / "user_guide" / "size_it.html").read_text(encoding="utf-8")
    (folder / "index.html").write_text(PAGE.format(form=form), encoding="utf-8")
    for name in ("size_it.js", "site.css"):
        (folder / name).write_bytes((DOCS / "_static" / name).read_bytes())
    with CHECK_SITE["Site"](folder) as site:
        yield site


@pytest.fixture
def form(site):
    """Functions that fill a field, by its name, and read an output."""
    site.open("index.html")

    def fill(**values):
        for name, value in values.items():
            site.browser.execute_script(
                """const fields = document.querySelector("form").elements;
                const field = fields.namedItem(arguments[0]);
                field.value = arguments[1];
                field.dispatchEvent(new Event("input", {bubbles: true}));""",
                name,
                value,
            )
        texts = site.browser.execute_script(
            """return Object.fromEntries([...document.querySelectorAll("[data-output]")]
            .map(element => [element.dataset.output, element.textContent]));"""
        )
        return {name: text.replace("\xa0", " ") for name, text in texts.items()}

    return fill


def messages(site):
    """What stands beside the fields that are marked, by their names."""
    return site.browser.execute_script(
        """return Object.fromEntries(
        [...document.querySelectorAll("[aria-invalid=true]")].map(field => [field.name,
        document.getElementById(field.getAttribute("aria-describedby")).textContent]));"""
    )


def test_the_browser_computes_the_same_bytes(site, form):
    cases = [
        [items, bits, terms]
        for items in (1, 1_000, 10**6, 2**31, 10**12)
        for bits in BITS
        for terms in (0, 1, 2)
    ]
    found = site.browser.execute_script(
        """const rest = {features: 1, own: 0, keep: 0};
        return arguments[0].map(([items, bits, terms]) =>
        sizeIt.estimate({items, bits, terms, ...rest}).index);""",
        cases,
    )
    assert found == [index_bytes(*case) for case in cases]


def test_the_form_shows_memory_time_and_advice(site, form):
    shown = form()
    assert shown["index"] == "33 MB"
    assert shown["perItem"] == "33 bytes"
    assert shown["rescored"] == shown["own"] == "0 bytes"
    assert shown["advice"].endswith("46.5 times less memory. Take codes.")
    assert form(terms="0")["index"] == "32 MB"
    assert form(keep="4", own="100")["all"] == "1.67 GB"  # 1 536 + 100 + 32 MB
    weighted, binary = (form(query=kind)["time"] for kind in ("weights", "bits"))
    assert weighted != binary
    assert "n_candidates=1000" in form(query="weights", wait="10")["advice"]
    assert "share the items out" in form(items="1e9")["advice"]
    assert "quick enough" in form(items="5000", wait="100")["advice"]
    assert "no less memory" in form(items="1e9", features="4")["advice"]
    assert messages(site) == {}
    assert site.errors() == []


def test_numbers_are_read_as_people_write_them(site, form):
    for text in (
        "1000000",
        "1 000 000",
        "1,000,000",
        "1_000_000",
        "1e6",
        "1.0E+6",
        " 1e6 ",
    ):
        assert form(items=text)["index"] == "33 MB", text
    assert form(items="2")["index"] == "66 bytes"
    for text in (
        "",
        "many",
        "-1",
        "1/2",
        "0x10",
        "1e",
        "12,34",
        "1,0000",
        "NaN",
        "Infinity",
    ):
        assert form(items=text)["index"] == NOTHING, text
        assert messages(site) == {"items": "Write a number, such as 1 000 000 or 1e6."}


def test_what_cannot_be_is_marked_beside_its_field(site, form):
    for name, value, message in [
        ("items", "0", "An index holds at least 1 item."),
        ("items", "1.5", "Write a whole number."),
        ("items", "1e16", "At most 1,000,000,000,000,000 for items."),
        ("items", "1e999", "At most 1,000,000,000,000,000 for items."),
        ("bits", "0", "At least 1 for bits."),
        ("bits", "65537", "At most 65,536 for bits."),
        ("features", "0", "At least 1 for numbers in an embedding."),
        ("own", "1e10", "At most 1,000,000,000 for bytes of ids and metadata."),
    ]:
        before = form(items="1e6")
        shown = form(**{name: value})
        assert messages(site) == {name: message}
        assert set(shown.values()) == {NOTHING, "Correct what is marked above."}
        site.browser.execute_script("document.querySelector('form').reset()")
        site.browser.execute_async_script("setTimeout(arguments[0], 1)")
        assert form() == before


def test_the_largest_numbers_have_units_and_no_exponents(site, form):
    shown = form(items="1e15", bits="65536", features="1e6", keep="4", own="1e9")
    assert shown["all"].endswith(" ZB")
    assert shown["time"].endswith(" years")
    assert not re.search("NaN|Infinity|undefined|e[+]", " ".join(shown.values()))


def test_every_field_has_a_label_and_is_reached_by_the_keyboard(site, form):
    from selenium.webdriver import ActionChains, Keys

    names = site.browser.execute_script(
        """return [...document.querySelectorAll("input, select")].map(field =>
        [field.name, [...field.labels].map(label => label.textContent.trim()).join()]);"""
    )
    assert len(names) == 8
    assert all(label for _, label in names)
    reached = []
    for _ in names:
        ActionChains(site.browser).send_keys(Keys.TAB).perform()
        reached.append(site.browser.switch_to.active_element.get_attribute("name"))
    assert reached == [name for name, _ in names]
    field = site.browser.find_element("name", "bits")
    field.clear()
    field.send_keys("64")
    assert form()["index"] == "9 MB"


@pytest.mark.parametrize("size", ["SCREEN", "PHONE"])
def test_the_form_is_no_wider_than_the_window(site, size):
    site.resize(CHECK_SITE[size])
    site.open("index.html")
    assert site.browser.execute_script(CHECK_SITE["OVERFLOWING"]) == []
    site.resize(CHECK_SITE["SCREEN"])
