"""The README shows the output of its code, and describes its picture as the guide does."""

import ast
import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

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


def test_the_picture_has_the_alternative_text_of_its_script():
    script = README.parent / "docs" / "plots" / "landing.py"
    words = ast.get_docstring(ast.parse(script.read_text("utf-8")))
    text = README.read_text("utf-8")
    alt = re.search(r"!\[([^]]*)\]\(docs/_static/retrieval.png\)", text)
    assert alt[1].split() == words.split()
