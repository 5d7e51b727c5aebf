"""Numbers of README and of tables are those of their files, and the check sees others."""

import runpy
from pathlib import Path

CHECK = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "check_numbers.py"))
README = (Path(__file__).parents[2] / "README.md").read_text()


def test_all_numbers_are_those_of_their_tables():
    assert not list(CHECK["faults"]())


def test_a_wrong_number_is_told():
    assert "| 0.670 |" in README
    (fault,) = CHECK["wrong_cells"](README.replace("| 0.670 |", "| 0.671 |"))
    assert "is 0.670, not 0.671" in fault
    renamed = README.replace("| ITQ, no labels |", "| ITQ |")
    assert all("is None" in fault for fault in CHECK["wrong_cells"](renamed))
    assert list(CHECK["wrong_cells"](renamed))
