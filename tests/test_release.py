"""What a release says of itself, and what is tested before it, agree."""

import ast
import re
import tomllib
from configparser import ConfigParser
from pathlib import Path

import pytest
import yaml
from sklearn.utils.fixes import parse_version

import sklearn_talr

ROOT = Path(__file__).parents[1]


CONDA_NAMES = {"torch": "pytorch"}  # conda-forge's, where they are others than the index's


@pytest.fixture(scope="module")
def config():
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    return config


@pytest.fixture(scope="module")
def bounds(config):
    """Least versions that setup.cfg allows, by name."""
    required = config["options"]["install_requires"].split()
    return dict(requirement.split(">=") for requirement in required)


@pytest.fixture(scope="module")
def pythons(config):
    """Versions of Python that setup.cfg promises."""
    return re.findall(r"Python :: (3\.\d+)", config["metadata"]["classifiers"])


@pytest.fixture(scope="module")
def citation():
    return yaml.safe_load((ROOT / "CITATION.cff").read_text())


@pytest.fixture(scope="module")
def recipe():
    return yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text())


@pytest.fixture(scope="module")
def support():
    return (ROOT / "docs" / "user_guide" / "support.rst").read_text()


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


@pytest.fixture(scope="module", params=["ci.yml", "nightly.yml"])
def workflow(request):
    return (ROOT / ".github" / "workflows" / request.param).read_text()


def series(version):
    """1.6 of 1.6.1."""
    return version.split(".")[:2]


def test_citation_names_this_version(citation, config):
    assert citation["version"] == sklearn_talr.__version__
    assert citation["license"] == config["metadata"]["license"]
    assert citation["abstract"].rstrip(".") == config["metadata"]["description"]
    for word in config["metadata"]["keywords"].split(", "):
        assert word in citation["keywords"]


def test_a_release_has_a_day_and_what_is_in_development_none(citation):
    assert ("date-released" in citation) == ("dev" not in sklearn_talr.__version__)


def test_zenodo_reads_the_citation_and_nothing_else():
    """It would take .zenodo.json in its place."""
    assert not (ROOT / ".zenodo.json").exists()


def test_the_recipe_asks_for_what_setup_cfg_asks_for(recipe, config, bounds, pythons):
    assert recipe["context"]["version"] == sklearn_talr.__version__
    assert recipe["context"]["python_min"] == pythons[0]
    expected = {CONDA_NAMES.get(name, name): bound for name, bound in bounds.items()}
    python, *required = recipe["requirements"]["run"]
    assert python == "python >=${{ python_min }}"
    assert dict(each.split(" >=") for each in required) == expected
    script = config["options.entry_points"]["console_scripts"].strip()
    assert recipe["build"]["python"]["entry_points"] == [script]
    assert recipe["about"]["summary"] == config["metadata"]["description"]
    assert recipe["about"]["license"] == config["metadata"]["license"]


def test_the_build_of_the_recipe_has_what_pyproject_asks_for(recipe):
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    host = [each.replace(" ", "") for each in recipe["requirements"]["host"]]
    assert set(pyproject["build-system"]["requires"]) <= set(host)


def test_the_support_page_names_the_oldest_versions(support, config, bounds):
    table = support.split(".. list-table:: Supported by 0.1")[1].split("\n\n")[1]
    cells = re.findall(r"^   \* - (\S+)\n     - (\S+)$", table, re.MULTILINE)
    python = config["options"]["python_requires"].removeprefix(">=")
    assert dict(cells[1:]) == {"Python": python, **bounds}


def test_pages_promise_the_pythons_that_are_tested(support, pythons):
    *first, last = pythons
    words = f"Python {', '.join(first)} and {last}"
    assert words in " ".join(support.split())
    assert words in " ".join((ROOT / "RELEASE.md").read_text().split())


def test_the_form_for_reports_asks_for_the_versions():
    path = ROOT / ".github" / "ISSUE_TEMPLATE" / "bug_report.yml"
    fields = yaml.safe_load(path.read_text())["body"]
    asked = {field["id"]: field["attributes"]["description"] for field in fields}
    assert "`python -m sklearn_talr --versions`" in asked["versions"]
    assert all(field["validations"]["required"] for field in fields)


def test_the_scheduled_workflow_runs_the_session_of_next_versions():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "nightly.yml").read_text())
    assert workflow[True]["schedule"][0]["cron"]  # YAML takes the key "on" for a truth
    commands = [step.get("run", "") for step in workflow["jobs"]["suite"]["steps"]]
    assert commands[-1] == "python -m nox --session nightly"
    assert "def nightly(session)" in (ROOT / "noxfile.py").read_text()


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


def test_the_workflow_runs_every_row_and_every_python_that_is_promised(rows, pythons):
    ci = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    matrix = ci["jobs"]["suite"]["strategy"]["matrix"]
    assert matrix["row"] == list(rows)
    tested = {*matrix["python"], *(row["python"] for row in matrix["include"])}
    assert tested == set(pythons)
