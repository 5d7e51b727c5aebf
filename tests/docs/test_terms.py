"""Every page says what a term means where it first uses it."""

import re

import pytest
from page_prose import line_of, pages, prose

# A term of the glossary, and how pages write it
TERMS = {
    "addend": r"(?i:\baddends?\b)",
    "additive bits": r"(?i:additive bits)",
    "affinity": r"(?i:affinit(y|ies))",
    "average precision": r"\bm?AP\b|(?i:average precision)",
    "binary query": r"(?i:binary quer(y|ies))",
    "bit dropout": r"(?i:\bbit dropout\b)",
    "BM25": r"\bBM25\b",
    "CCA": r"\bCCA\b",
    "early descent": r"(?i:\bearly descent\b)",
    "epoch": r"(?i:\bepochs?\b)",
    "Hamming distance": r"Hamming distances?",
    "int8": r"\bint8\b",
    "ITQ": r"\bITQ\b",
    "logit": r"(?i:\blogits?\b)",
    "LSH": r"\bLSH\b",
    "MaxSim": r"\bMaxSim\b",
    "NDCG": r"\bn?DCG\b|\bNDCG\b",
    "numba": r"(?i:\bnumba\b)",
    "one-hot predictions": r"(?i:one-hot)",
    "ONNX": r"\bONNX\b",
    "product quantization": r"\bPQ\b|(?i:product quantization)",
    "qrels": r"\bqrels\b",
    "RaBitQ": r"\bRaBitQ\b",
    "RAMAP": r"\bRAMAP\b",
    "recall": r"(?i:\brecall\b)",
    "relaxed bit": r"(?i:relaxed bits?)",
    "shortlist": r"(?i:shortlists?)",
    "stratum": r"(?i:\bstrat(um|a)\b)",
    "TALR": r"\bTALR\b",
    "teacher": r"(?i:\bteachers?\b)",
    "temperature": r"(?i:\btemperatures?\b)",
    "two stages": r"(?i:\btwo[- ]stages?\b)",
    "weight decay": r"(?i:\bweight decay\b)",
    "weighted query": r"(?i:weighted quer(y|ies))",
}
NEAR = 160  # characters: about a sentence
READ_IN_ORDER = re.compile(r"user_guide/(?!index|comparison/).*|quickstart\.rst")
PAGES = {name: text for name, text in pages().items() if READ_IN_ORDER.fullmatch(name)}

HEADING = re.compile(r"^.+\n([=~^-])\1{3,}$", re.MULTILINE)
DIRECTIVE = re.compile(
    r"^( *)\.\. (plot|figure|image|_[\w-]+|include|seealso)?:.*\n(\1 +.*\n|\n(?=\1 ))*",
    re.MULTILINE,
)
ROLE = re.compile(r":(?!term)\w+(:\w+)?:`(?!glossary )[^`]*`")
TERM = re.compile(r":term:`[^`]*`")
EMPHASIS = re.compile(r"(?<![*\w])\*(?![\s*])[^*]+\*(?!\*)")


def running_text(text):
    """Prose without headings, pictures and names of pages, classes and functions."""
    text = prose(text)
    for left_out in (HEADING, DIRECTIVE, ROLE):
        text = left_out.sub(lambda found: re.sub(r"\S", " ", found[0]), text)
    return text


def is_explained(text, pattern, found):
    """Whether a use is a link to the glossary, or says itself what the term means.

    A link may also follow within the sentence, and pages of reference may send the reader
    to the glossary as a whole. A page explains a term itself in emphasis,
    where it introduces it, or in parentheses: the *recall* is ..., average precision (AP),
    recall (the share of the neighbors found).
    """
    start, end = found.span()
    if "</glossary>`" in text[:start]:
        return True
    for link in TERM.finditer(text, max(start - NEAR, 0), end + NEAR):
        if link.end() > start and re.search(pattern, link[0]):
            return True
    if any(span.start() < start < span.end() for span in EMPHASIS.finditer(text)):
        return True
    return text[start - 1] == "(" or bool(re.match(r"\s+\(", text[end:]))


def unexplained(text):
    """Lines and terms of a page whose first use does not tell what they mean."""
    text = running_text(text)
    for term, pattern in TERMS.items():
        pattern = pattern.replace(" ", r"\s+")
        found = re.search(pattern, text)
        if found and not is_explained(text, pattern, found):
            yield line_of(text, found.start()), term


@pytest.mark.parametrize("page", PAGES)
def test_terms_are_explained_at_first_use(page):
    assert list(unexplained(PAGES[page])) == []


def test_every_term_is_in_the_glossary():
    entries = re.findall(r"^   (\S.*)$", pages()["glossary.rst"], re.MULTILINE)
    assert set(TERMS) <= set(entries)


@pytest.mark.parametrize(
    "text",
    [
        "An :term:`average precision` of .9. AP is high.",
        "Average precision (AP) of .9.",
        "The *recall of ten* is .9.",
        "A recall (the share of the neighbors found) of .9.",
        "AP at the top\n-------------\n\nHeadings have no links.",
        "``AP`` is code.",
        "See :doc:`recall`.",
    ],
)
def test_explained_terms_are_left(text):
    assert list(unexplained(text)) == []


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("An AP of .9." + 20 * " And so on." + ":term:`AP`", "average precision"),
        ("Rank by\nHamming\ndistance.", "Hamming distance"),
        ("ITQ finds less.", "ITQ"),
    ],
)
def test_unexplained_terms_are_found(text, term):
    assert [found for _, found in unexplained(text)] == [term]
