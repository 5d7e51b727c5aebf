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
NUMBER = re.compile(r"\d+\.\d+")
# Training amplifies rounding, so its last digits differ between processors.
LEARNED, EXACT = 0.02, 1e-9


def numbers_of(text):
    """The numbers with a decimal point."""
    return [float(number) for number in NUMBER.findall(text)]


@pytest.mark.parametrize(
    ("shown", "tolerance"),
    zip(SHOWN, [LEARNED, EXACT, EXACT], strict=True),
    ids=["length", "embeddings", "run"],
)
def test_code_prints_the_output_below_it(shown, tolerance, tmp_path, monkeypatch):
    code, output = shown
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(code, README.name, "exec"), {"__name__": "__main__"})
    text = printed.getvalue()
    assert numbers_of(text) == pytest.approx(numbers_of(output), abs=tolerance)
    words = [re.sub(r"\s+", " ", NUMBER.sub("number", part)) for part in (text, output)]
    assert words[0] == words[1]


def test_the_picture_has_the_alternative_text_of_its_script():
    script = README.parent / "docs" / "plots" / "how_it_works.py"
    words = ast.get_docstring(ast.parse(script.read_text("utf-8")))
    text = README.read_text("utf-8")
    alt = re.search(r"!\[([^]]*)\]\(docs/_static/how_it_works.png\)", text)
    assert alt[1].split() == words.split()
