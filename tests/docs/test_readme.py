"""What the README shows is what its code prints and its picture says."""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from drawn_pictures import draw

README = Path(__file__).parents[2] / "README.md"
SHOWN = re.findall(
    r"^```python\n(.*?)^```\n\n^```\n(.*?)^```",
    README.read_text(encoding="utf-8"),
    re.DOTALL | re.MULTILINE,
)


@pytest.mark.parametrize(
    ("code", "output"), SHOWN, ids=["embeddings", "labels", "rankings", "length"]
)
def test_code_prints_the_output_below_it(code, output):
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(code, README.name, "exec"), {"__name__": "__main__"})
    assert printed.getvalue() == output


def test_words_of_the_picture_are_those_of_the_script_that_draws_it():
    words = draw("landing.py")
    text = README.read_text("utf-8")
    alt = re.search(r"!\[([^]]*)\]\(docs/_static/retrieval.png\)", text)
    assert " ".join(alt[1].split()) == words
