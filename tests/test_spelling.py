"""One spelling in code and prose, American, as scikit-learn's; one word for one idea."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACES = "sklearn_talr", "tests", "benchmarks", "docs", "examples", "README.md"
BUILT = {"generated", "auto_examples", "_build", "plot_directive"}
BRITISH = re.compile(
    r"""
    neighbou | behaviou | colou | favou | honou | judgement | artefact | analyse[ds]? \b
    | (?<! [a-z]) centr (?: e | es | ed | ing ) (?! [a-z])
    | (?<! [a-z]) (?: grey | metre | programme | catalogue | whilst ) s? (?! [a-z])
    | (?: label | model | travel ) l (?: ed | ing )
    | (?: al | at | cogn | er | gan | im | ken | lar | ll | nar | near | nchron | om | or
        | ant | ptim | tor | trop | um | ymmetr | hit?en )
      is (?: e | ed | es | er | ers | ing | ation | ations | able ) (?! [a-z])
    """,
    re.VERBOSE | re.IGNORECASE,
)
# A query that keeps its real numbers is a weighted query, and nothing else
OTHER_WORDS = re.compile(
    r"""
    \b (?: float | floating | real | real[- ]valued | unquantized | full[- ]precision
        | continuous ) [-\s]+ quer (?: y | ies ) \b
    | \b asymmetric [-\s]+ (?: quer | distance | hamming | search | scor | hash | cod )
    """,
    re.VERBOSE | re.IGNORECASE,
)
PAPERS = "Asymmetric Distances for Binary Embeddings", "Asymmetric Deep Supervised Hashing"
AMERICAN_TOO = re.compile(
    r"advertis|exercis|otherwise|likewise|promis|surmis|televis", re.I
)


def texts():
    """All written files of the places, by their name."""
    for place in PLACES:
        path = ROOT / place
        files = [path] if path.is_file() else path.rglob("*")
        for file in files:
            ours = file != Path(__file__) and not BUILT & set(file.parts)
            if ours and file.suffix in {".py", ".rst", ".md"}:
                yield str(file.relative_to(ROOT)), file.read_text()


def british(text):
    """Numbers and words of the lines that have a British spelling."""
    return [
        (number, word)
        for number, line in enumerate(text.splitlines(), 1)
        for word in re.findall(r"\w+", line)
        if BRITISH.search(word) and not AMERICAN_TOO.search(word)
    ]


def test_one_spelling():
    found = [(name, *each) for name, text in texts() for each in british(text)]
    assert found == []


def test_british_words_are_found():
    text = """neighbours colour centred _centres labelled normalise optimiser quantisation
    regularised maximising binarise initialisation generalises judgements"""
    assert [word for _, word in british(text)] == text.split()


def test_american_words_are_left():
    text = "neighbors centered concentrated precise raised noise wise promised units"
    assert british(text) == []


def test_one_word_for_weighted_queries():
    found = []
    for name, text in texts():
        for title in PAPERS:
            text = text.replace(title, "")
        found += [(name, match[0]) for match in OTHER_WORDS.finditer(text)]
    assert found == []


def test_other_words_for_weighted_queries_are_found():
    text = "float queries, real-valued query, asymmetric distance, full-precision\nqueries"
    assert len(OTHER_WORDS.findall(text)) == 4
