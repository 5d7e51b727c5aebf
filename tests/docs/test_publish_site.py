"""Versions of the site lie beside each other, and each knows all."""

import json
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PUBLISH = runpy.run_path(str(DOCS / "publish_site.py"))["publish"]
LIST = Path("_static") / "switcher.json"


@pytest.fixture
def built(tmp_path):
    """A built site, whose one page can be told from that of another build."""

    def build(text):
        page = tmp_path / "built" / "index.html"
        (tmp_path / "built" / LIST).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "built" / LIST).write_text((DOCS / LIST).read_text())
        page.write_text(text)
        return page.parent

    return build


@pytest.fixture
def site(built, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    PUBLISH(built("dev"), site, "dev")
    for version in ("0.9", "0.10"):
        PUBLISH(built(version), site, version, stable=True)
    PUBLISH(built("0.8 repaired"), site, "0.8")
    return site


def test_each_version_has_a_folder_and_the_newest_release_two(site):
    pages = {path.parent.name: path.read_text() for path in site.glob("*/index.html")}
    assert pages == {
        "dev": "dev",
        "0.8": "0.8 repaired",
        "0.9": "0.9",
        "0.10": "0.10",
        "stable": "0.10",
    }


def test_all_versions_list_all(site):
    texts = {path.read_text() for path in site.glob(f"*/{LIST}")}
    assert len(list(site.glob(f"*/{LIST}"))) == 5
    (text,) = texts
    assert json.loads(text) == [
        {"name": "dev", "version": "dev", "url": "/dev/"},
        {"name": "0.10 (stable)", "version": "0.10", "url": "/stable/", "preferred": True},
        {"name": "0.9", "version": "0.9", "url": "/0.9/"},
        {"name": "0.8", "version": "0.8", "url": "/0.8/"},
    ]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"version": "0.1.2"}, "as '0.2', got '0.1.2'"),
        ({"version": "dev", "stable": True}, "Only a release can be stable"),
        ({"version": "0.1", "base": "site/"}, "must begin and end with a slash"),
    ],
)
def test_what_cannot_be_published_is_refused(built, tmp_path, wrong, message):
    with pytest.raises(ValueError, match=message):
        PUBLISH(built("page"), tmp_path, **wrong)
    assert not (tmp_path / "0.1").exists()
