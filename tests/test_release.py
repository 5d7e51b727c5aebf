"""What a release says of itself, and what is tested before it, agree."""

import ast
import re
from configparser import ConfigParser
from pathlib import Path

import pytest
import yaml
from sklearn.utils.fixes import parse_version

import sklearn_talr

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def bounds():
    """Least versions that setup.cfg allows, by name."""
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    required = config["options"]["install_requires"].split()
    return dict(requirement.split(">=") for requirement in required)


@pytest.fixture(scope="module")
def pins():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if "==" in line)


@pytest.fixture(scope="module")
def rows():
    """The matrix of noxfile.py, which needs nox to be imported."""
    text = (ROOT / "noxfile.py").read_text()
    return ast.literal_eval(
        re.search(r"^ROWS = (\{.*?^\})", text, re.DOTALL | re.MULTILINE)[1]
    )


@pytest.fixture(scope="module")
def workflow():
    return (ROOT / ".github" / "workflows" / "ci.yml").read_text()


def series(version):
    """1.6 of 1.6.1."""
    return version.split(".")[:2]


def test_citation_names_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == sklearn_talr.__version__


def test_the_oldest_row_is_what_setup_cfg_allows(rows, bounds):
    for name, version in rows["oldest"].items():
        assert series(version) == series(bounds[name])
    assert set(rows["oldest"]) == set(bounds) - {"torch"}


def test_rows_lie_between_the_oldest_and_what_is_pinned(rows, pins):
    assert rows["newest"] == {}
    for name in rows["oldest"]:
        named = [parse_version(row[name]) for row in rows.values() if name in row]
        assert named == sorted(named)
        assert named[-1] < parse_version(pins[name])


def test_the_workflow_pins_its_actions_and_has_no_secrets(workflow):
    used = re.findall(r"uses: (.*)", workflow)
    assert used
    for action in used:
        assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40} # v[0-9.]+", action)
    assert yaml.safe_load(workflow)["permissions"] == {"contents": "read"}
    assert "secrets." not in workflow


def test_the_workflow_runs_every_row_and_every_python_that_is_promised(rows, workflow):
    matrix = yaml.safe_load(workflow)["jobs"]["suite"]["strategy"]["matrix"]
    assert matrix["row"] == list(rows)
    tested = {*matrix["python"], *(row["python"] for row in matrix["include"])}
    text = (ROOT / "setup.cfg").read_text()
    assert tested == set(re.findall(r"Python :: (3\.\d+)", text))
