"""Settings and data shared by all tests."""

import gc
import os
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import settings
from learning import Learned
from sklearn import config_context
from sklearn.datasets import load_digits

from sklearn_talr._core.lazy import has_torch

collect_ignore = ["typing/every_name.py"]  # a program, which one test runs
HAS_TORCH, HERE = has_torch(), Path(__file__).parent
# The folder of all tests marked "cluster", the only one that their run collects
CLUSTERS = HERE / "clusters"
if not HAS_TORCH:  # what imports it
    imports = re.compile(r"^\s*(import|from) (torch|engines|array_cases)\b", re.MULTILINE)
    files = [path for path in HERE.rglob("*.py") if imports.search(path.read_text())]
    collect_ignore += ["benchmarks", "typing", *(str(path) for path in files)]

os.environ.setdefault("MPLBACKEND", "agg")  # before anything imports matplotlib

settings.register_profile("ours", deadline=None)  # the machine may be busy otherwise
settings.load_profile("ours")


def pytest_addoption(parser):
    parser.addoption("--seed", type=int, default=0, help="what learned tests draw by")


class ClosesFigures:
    """Close the figures of each test and each doctest: matplotlib warns of more than 20."""

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self):
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None:
            pyplot.close("all")


def pytest_configure(config):
    # A hook of this file alone would not see the doctests of the package and of the pages.
    config.pluginmanager.register(ClosesFigures())


def pytest_collection():
    # Nearly all objects that are made now live until the end: the modules of all tests and
    # nine thousand items. Collecting garbage among them takes a seventh of the time.
    gc.disable()


def pytest_collection_finish():
    # Nor do later collections look through them again.
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items):
    for item in items:
        if "learned" in getattr(item, "fixturenames", ()):
            item.add_marker("learned")
        if item.get_closest_marker("cluster") and CLUSTERS not in item.path.parents:
            raise pytest.UsageError(f"Move {item.nodeid} to {CLUSTERS}: it has this mark.")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Skip what the library says PyTorch is needed for; other ImportErrors are failures."""
    try:
        return (yield)
    except ModuleNotFoundError as error:
        if HAS_TORCH or "needs PyTorch, which is not installed" not in str(error):
            raise
        pytest.skip("needs PyTorch")


@pytest.fixture
def learned(request, record_property):
    """The seed of a learned test, and the margins of what it learns."""
    seed = request.config.getoption("--seed")
    names = request.path.stem, request.node.originalname
    return Learned(*names, seed, record_property)


@pytest.fixture
def comparison(monkeypatch):
    """A function that imports a module of the comparison by its name."""
    folder = Path(__file__).parents[1] / "benchmarks" / "comparison"
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("MPLBACKEND", "agg")
    return import_module


@pytest.fixture(scope="session")
def digits():
    """Features and labels of 1797 digits, which no test can change."""
    X, y = load_digits(return_X_y=True)
    X.flags.writeable = y.flags.writeable = False
    return X, y


@pytest.fixture(scope="session")
def few_digits(digits):
    """The first 300 digits, about 30 of each class."""
    X, y = digits
    return X[:300], y[:300]


@pytest.fixture
def dispatching(monkeypatch):
    """Arrays stay in their library, as under scikit-learn's array_api_dispatch.

    scikit-learn refuses that without SCIPY_ARRAY_API=1, which SciPy reads when it is
    imported, for those of its estimators that hand such arrays to SciPy. Ours hand it
    NumPy's alone, so the variable may be set late.
    """
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    try:
        context = config_context(array_api_dispatch=True)
        with context:
            yield
    except ImportError as error:
        pytest.skip(str(error))


@pytest.fixture(params=[True, False], ids=["host", "torch"])
def engine(request, monkeypatch):
    """Both engines of training in turn, also where the host would do."""
    if not request.param:
        monkeypatch.setattr("sklearn_talr.hashing.training._plan.LOSSES_ON_HOST", ())
