"""What is said of loops that are compiled when they are first called."""

import logging
import time
from types import SimpleNamespace

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
