"""Loops that are compiled when they are first called, and kept on disk."""

import errno
import importlib.util
import logging
import time
from types import SimpleNamespace

import pytest

from sklearn_talr._loops._compile import _Patience


def test_long_compilation_is_told_once_by_the_logger(caplog, monkeypatch):
    """Nested functions count once, and those of other packages not at all."""
    now, patience = [0.0], _Patience()
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def compiling(module, seconds, inner=()):
        function = SimpleNamespace(__module__=module)
        event = SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})
        patience.on_start(event)
        for each in inner:
            compiling(*each)
        now[0] += seconds
        patience.on_end(event)

    ours = "sklearn_talr._loops._search"
    with caplog.at_level(logging.WARNING, logger="sklearn_talr"):
        compiling("numba.np.arrayobj", 9.0)
        compiling(ours, 0.9, [(ours, 0.9), ("numba.cpython.builtins", 0.1)])
        assert not caplog.records
        compiling(ours, 0.2)
        assert "sklearn_talr.warm_up()" in caplog.text
        compiling(ours, 5.0)
    assert len(caplog.records) == 1


SOURCE = """
from sklearn_talr._loops._compile import compiled


@compiled
def {name}(number):
    return number + 1
"""


@pytest.fixture
def import_loop(tmp_path, monkeypatch):
    """A function that imports a module with a loop anew, as another process would."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    path = tmp_path / "module_of_a_loop.py"
    path.write_text(SOURCE.format(name="add_one"))

    def import_anew():
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.add_one

    return import_anew


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("n_bytes", [0, 1, 40])
def test_damaged_files_of_loops_are_compiled_anew(
    import_loop, tmp_path, caplog, suffix, n_bytes
):
    """Files that are empty or cut are mended on the way, and this is said once."""
    assert import_loop()(1) == 2
    (path,) = tmp_path.rglob(f"*{suffix}")
    whole = path.stat().st_size
    with path.open("rb+") as file:
        file.truncate(n_bytes)
    for _ in range(2):
        loop = import_loop()
        assert loop(1) == 2
        assert loop(1.5) == 2.5
    assert len(caplog.records) == 1
    assert "are damaged" in caplog.text
    assert str(path.parent) in caplog.text
    (path, *_) = sorted(tmp_path.rglob(f"*{suffix}"))
    assert path.stat().st_size >= whole
    loaded = import_loop()
    assert loaded(1) == 2
    assert sum(loaded.stats.cache_hits.values()) == 1


def test_a_full_disk_costs_the_kept_loops_alone(import_loop, monkeypatch, caplog):
    """The loop runs in this process, and the message names the remedy."""

    def fail(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._save_index", fail)
    assert import_loop()(1) == 2
    assert import_loop()(1) == 2
    assert len(caplog.records) == 1
    assert "No space left" in caplog.text
    assert "NUMBA_CACHE_DIR" in caplog.text
