"""What is published says the same of this version in each place."""

import re
from configparser import ConfigParser
from pathlib import Path

import yaml

import sklearn_talr

ROOT = Path(__file__).parents[1]


def test_citation_and_recipe_agree_with_setup_cfg():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    recipe = yaml.safe_load((ROOT / "docs" / "release" / "recipe.yaml").read_text())
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    pythons = re.findall(r"Python :: (3\.\d+)", config["metadata"]["classifiers"])
    assert citation["version"] == recipe["context"]["version"] == sklearn_talr.__version__
    assert recipe["context"]["python_min"] == pythons[0]
    required = config["options"]["install_requires"].replace("torch>", "pytorch>").split()
    asked = [each.replace(" ", "") for each in recipe["requirements"]["run"][1:]]
    assert sorted(asked) == sorted(required)
    scripts = config["options.entry_points"]["console_scripts"].strip().split("\n")
    assert recipe["build"]["python"]["entry_points"] == scripts
    assert ("date-released" in citation) == ("dev" not in sklearn_talr.__version__)
