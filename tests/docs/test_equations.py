"""The page of equations has every number of the papers, and names what there is."""

import importlib
import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "user_guide"
PAGE = (GUIDE / "equations.rst").read_text(encoding="utf-8")
# How many equations of each paper have a number, its appendix included
N_EQUATIONS = {
    "Tie-aware hashing": 78,
    "Radius-aware precision": 4,
    "Ranking SVM": 7,
}
SECTIONS = dict(
    zip(
        re.findall(r"^(.+)\n-{3,}\n", PAGE, re.M),
        re.split(r"^.+\n-{3,}\n", PAGE, flags=re.M)[1:],
    )
)
ROW = re.compile(r"^   \* - ([\d, to]+)\n((?:^ {5,}.*\n)+)", re.M)


def expand(numbers):
    """All numbers of "8, 9" or "21 to 23"."""
    for part in numbers.split(","):
        first, _, last = part.strip().partition(" to ")
        yield from range(int(first), int(last or first) + 1)


@pytest.mark.parametrize(("section", "n_equations"), N_EQUATIONS.items())
def test_every_equation_has_one_row(section, n_equations):
    rows = ROW.findall(SECTIONS[section])
    found = [number for numbers, _ in rows for number in expand(numbers)]
    assert found == list(range(1, n_equations + 1))


def test_every_row_says_what_computes_it_and_what_was_corrected():
    for numbers, cells in ROW.findall(PAGE):
        said, computed, corrected = re.split(r"^     - ", cells, flags=re.M)[1:]
        assert len(said.split()) > 1, numbers
        assert re.search(r":(func|class|obj):|^none", computed), numbers
        assert corrected.strip(), numbers


@pytest.mark.parametrize("name", sorted(set(re.findall(r"~sklearn_talr\.([\w.]+)`", PAGE))))
def test_names_exist(name):
    module, _, attribute = f"sklearn_talr.{name}".rpartition(".")
    assert hasattr(importlib.import_module(module), attribute)


def test_what_was_corrected_is_shown_on_the_page_it_names():
    for numbers, cells in ROW.findall(PAGE):
        if "**Corrected.**" in cells:
            assert ":doc:`soft_measures`" in cells, numbers
            first = next(expand(numbers))
            shown = (GUIDE / "soft_measures.rst").read_text(encoding="utf-8")
            assert re.search(rf"[Ee]q\.\s+{first}\b", shown), numbers
