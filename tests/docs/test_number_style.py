"""Pages and docstrings write a measure as .642: no zero before the point, no percent.

What code prints stays as Python prints it. Values of parameters are code, ``0.025``. Times
and sizes keep the zero, with their unit beside them or at the head of their table.
"""

import re

import pytest
from page_prose import docstrings, line_of, pages, prose

UNIT = r"\s*(?:[mµ]?s|ns|[kMGT]i?B|%|seconds?|milliseconds?|microseconds?)\b"
WITH_ZERO = re.compile(rf"(?<![\w.])0\.\d{{3,}}(?!\d)(?!{UNIT}|\s*%)")
MEASURE = r"\b(?:m?AP|n?DCG|NDCG|RAMAP|[Aa]verage precision|[Rr]ecall)(?:@\d+)?\b"
PERCENT = re.compile(
    rf"{MEASURE}[^.%\n]{{0,30}}?\s\d+(?:\.\d+)?\s?%(?! (?:of|confidence))"
    rf"|\b\d+(?:\.\d+)?\s?% (?:of )?{MEASURE}"
    rf"|{MEASURE},? in percent"
)
# Numbers of tables of times, whose unit the sentence before the table names
TIMES = {"user_guide/scale_measured.rst": {"0.004", "0.014"}}
DEFAULT = re.compile(r"default=.*")


def wrongly_written(text):
    """Lines and numbers of measures that have a zero before the point, or are percent."""
    text = DEFAULT.sub(lambda found: " " * len(found[0]), prose(text))
    for pattern in (WITH_ZERO, PERCENT):
        for found in pattern.finditer(text):
            yield line_of(text, found.start()), found[0]


@pytest.mark.parametrize("page", pages())
def test_measures_of_pages(page):
    found = [
        (line, number)
        for line, number in wrongly_written(pages()[page])
        if number not in TIMES.get(page, ())
    ]
    assert found == []


def test_measures_of_docstrings():
    texts = docstrings().items()
    assert [(name, *each) for name, text in texts for each in wrongly_written(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "AP is 0.642.",
        "* - 0.642",
        "a gain of +0.006 ±0.002",
        "recall of 58.2 %",
        "Mean AP in percent:",
    ],
)
def test_wrong_numbers_are_found(text):
    assert len(list(wrongly_written(text))) >= 1


@pytest.mark.parametrize(
    "text",
    [
        "AP is .642, and recall 1.000.",
        "0.001 ms for a row",
        "``learning_rate_init=0.025``",
        "alpha : float, default=0.003",
        ">>> 0.123\n0.123\n",
        "codes keep 97.1 percent of the nDCG@10 of floats",
        "intervals of 95 %",
    ],
)
def test_right_numbers_are_left(text):
    assert list(wrongly_written(text)) == []
