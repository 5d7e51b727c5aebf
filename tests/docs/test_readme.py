"""What the README shows is what its code prints."""

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


def test_there_are_outputs():
    assert len(SHOWN) == 2


@pytest.mark.parametrize(("code", "output"), SHOWN, ids=["first", "second"])
def test_code_prints_the_output_below_it(code, output):
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(code, README.name, "exec"), {"__name__": "__main__"})
    assert printed.getvalue() == output
