"""Numbers in sentences of the guide are those of the CSV files of the benchmarks."""

import re
from functools import cache

import pytest
from guide_tables import NotMeasuredError, pages, plain
from measured_sentences import SENTENCES

NUMBER = r"(?:[-+]?[\d.]*\d|all)"


@cache
def texts():
    return {page: plain("\n".join(lines)) for page, lines in pages().items()}


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda s: s.text[:40])
def test_numbers(sentence):
    """Sentences whose rows are not all measured are only looked for."""
    try:
        expected = sentence.filled()
    except NotMeasuredError:
        expected = None
    pattern = re.escape(sentence.text).replace(r"\{\}", NUMBER)
    found = [
        (page, match[0])
        for page, text in texts().items()
        for match in re.finditer(pattern, text)
    ]
    assert found, (
        f"No page says: {sentence.text} Where a sentence was written anew, write it anew "
        "in measured_sentences.py, too."
    )
    for page, said in found:
        assert expected is None or said == expected, f"{page} says: {said}"
