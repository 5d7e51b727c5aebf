"""Names that are imported when they are first used."""

import sys
from types import ModuleType

import pytest

from sklearn_talr._core.lazy import lazy_names


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of two names and a public module, lazy but for one name."""
    folder = tmp_path / "lazy_room"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "_shed.py").write_text("Spade = 'a spade'\nRake = 'a rake'\n")
    (folder / "garden.py").write_text("")
    (folder / "_broken.py").write_text("import no_such_library\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    module = pytest.importorskip("lazy_room")
    homes = {"Spade": "_shed", "garden": "garden", "Broken": "_broken"}
    module.__getattr__, module.__dir__ = lazy_names("lazy_room", homes)
    yield module
    for name in [name for name in sys.modules if name.split(".")[0] == "lazy_room"]:
        monkeypatch.delitem(sys.modules, name)


def test_names_are_imported_when_they_are_used(package):
    assert "lazy_room._shed" not in sys.modules
    assert {"Spade", "garden", "Broken"} < set(dir(package))
    assert dir(package) == sorted(dir(package))
    assert "lazy_room._shed" not in sys.modules
    assert package.Spade == "a spade"
    assert isinstance(package.garden, ModuleType)


def test_other_names_are_unknown(package):
    for name in ("Rake", "nothing", "__path_to_nothing__"):
        with pytest.raises(AttributeError, match=f"'lazy_room' has no attribute '{name}'"):
            getattr(package, name)
    assert not hasattr(package, "_broken")


def test_a_library_that_is_missing_is_named(package):
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        package.Broken  # noqa: B018
