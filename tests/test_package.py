"""The package as a whole: what is public, and what importing it loads."""

import inspect
import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator
from without_torch import run_without_torch

import sklearn_talr

# Rooms that are not offered: nobody outside the package imports from them.
INNER_ROOMS = {"commands", "features"}
ROOMS = sorted(
    path.stem
    for path in Path(sklearn_talr.__file__).parent.iterdir()
    if path.is_dir() and not path.name.startswith("_") and path.name not in INNER_ROOMS
)
OPTIONAL = {"apsw", "dask", "duckdb", "faiss", "ir_measures", "matplotlib", "numba", "onnx"}
OPTIONAL |= {"pandas", "sqlite_vec", "torch", "usearch"}
WITHOUT_TORCH = [
    "import sklearn_talr",
    *(f"import sklearn_talr.{room}" for room in ROOMS),
    "from sklearn_talr import HammingNeighbors, RankingSVC, make_retrieval_scorer",
    "from sklearn_talr import compare_runs, compare_scores, evaluate_run",
    "from sklearn_talr.hashing import ITQHasher, LSHHasher",
    "from sklearn_talr import TALRHasher",
    "from sklearn_talr.baselines import BREHasher, FastHasher, MACHasher, StructHasher",
    "from sklearn_talr.losses import CSQLoss",
]
# What must not be loaded on the way, by the beginnings of names of modules
METRICS = "sklearn_talr.metrics"
WITHOUT_OTHER_ROOMS = {
    "import sklearn_talr": tuple(f"sklearn_talr.{room}" for room in ROOMS),
    "from sklearn_talr.losses import TieAwareLoss": (METRICS, "sklearn_talr.svm"),
    "from sklearn_talr.svm import RankingSVC": (METRICS, "torch"),
    "from sklearn_talr.metrics import retrieval_report": ("sklearn_talr.losses",),
}
# What PyTorch must be installed for
NEEDS_TORCH = {
    "svm": {"RankingHingeLoss"},
    "losses": {
        "TieAwareLoss",
        "simplified_average_precision",
        "simplified_ndcg",
        "soft_average_precision",
        "soft_counts",
        "soft_ndcg",
    },
}
# Uses every public name, and does some work.
USE_WITHOUT_TORCH = """
import importlib, json

errors = {}
for room in sys.argv[1:]:
    module = importlib.import_module(f"sklearn_talr.{room}")
    for name in module.__all__:
        try:
            getattr(module, name)
        except ImportError as error:
            errors[f"{room}.{name}"] = str(error)
print(json.dumps(errors))

import numpy as np
from sklearn_talr import HammingNeighbors, ITQHasher, LSHHasher, RankingSVC
from sklearn_talr.affinity import ThresholdAffinity
from sklearn_talr.baselines import BREHasher, FastHasher, MACHasher, StructHasher
from sklearn_talr.export import to_bit_strings
from sklearn_talr.metrics import retrieval_report_from_estimator

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 6))
y = (X[:, 0] > 0).astype(int)
sets = X[:20], y[:20], X[20:], y[20:]
for hasher in (
    ITQHasher(4, random_state=0),
    LSHHasher(4, random_state=0),
    BREHasher(2, subsample=30, random_state=0),
    FastHasher(2, subsample=30, random_state=0),
    MACHasher(2, subsample=30, random_state=0),
    StructHasher(2, subsample=30, random_state=0),
):
    hasher.fit(X, y)
    assert len(retrieval_report_from_estimator(hasher, *sets))
    to_bit_strings(hasher.transform(X))
    HammingNeighbors().fit(hasher.transform(X), y).kneighbors(hasher.transform(X[:5]))
assert RankingSVC().fit(X, y).score(X, y) > 0.9
ThresholdAffinity().fit(X)
assert "torch" not in sys.modules
"""
# Executes each statement in a process of its own, which begins with what all need.
IMPORT_EACH = """
import json, os, sys, traceback
import scipy.sparse, sklearn.ensemble, sklearn.model_selection

for statement in sys.argv[1:]:
    if os.fork():
        os.wait()
        continue
    try:
        exec(statement)
        error = None
    except Exception:
        error = traceback.format_exc()
    print(json.dumps([statement, error, sorted(sys.modules)]), flush=True)
    os._exit(0)
"""


@pytest.fixture(scope="module")
def loaded():
    """Modules that each statement loads, with an error if it raised one."""
    if not hasattr(os, "fork"):
        pytest.skip("this system cannot fork processes")
    statements = dict.fromkeys(["pass", *WITHOUT_TORCH, *WITHOUT_OTHER_ROOMS])
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IMPORT_EACH, *statements],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    lines = map(json.loads, result.stdout.splitlines())
    return {statement: (error, modules) for statement, error, modules in lines}


@pytest.mark.parametrize("statement", WITHOUT_TORCH)
def test_what_needs_no_torch_loads_none_and_nothing_optional(statement, loaded):
    error, modules = loaded[statement]
    assert error is None
    assert "sklearn_talr" in modules
    assert not OPTIONAL & (set(modules) - set(loaded["pass"][1]))


@pytest.mark.parametrize("statement", WITHOUT_OTHER_ROOMS)
def test_rooms_do_not_load_what_they_must_not_know(statement, loaded):
    error, modules = loaded[statement]
    if "TieAwareLoss" in statement:
        pytest.importorskip("torch")
    assert error is None
    others = WITHOUT_OTHER_ROOMS[statement]
    assert [name for name in modules if name.startswith(others)] == []


def test_what_needs_pytorch_says_so_where_there_is_none_and_the_rest_works():
    errors = json.loads(run_without_torch(USE_WITHOUT_TORCH, *ROOMS))
    expected = {f"{room}.{name}" for room in NEEDS_TORCH for name in NEEDS_TORCH[room]}
    assert set(errors) == expected
    for name, error in errors.items():
        assert error.startswith(f"sklearn_talr.{name} needs PyTorch, which is not inst")
        assert "pip install 'sklearn-talr[torch]'" in error


def test_names_at_the_top():
    assert sklearn_talr.__all__ == sorted(sklearn_talr.__all__)
    shown = [name for name in dir(sklearn_talr) if name[0] != "_"]
    assert set(ROOMS) <= set(sklearn_talr.__all__) == set(shown)
    for name in sklearn_talr.__all__:
        assert getattr(sklearn_talr, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        sklearn_talr.nothing  # noqa: B018


def public(room):
    module = import_module(f"sklearn_talr.{room}")
    return {name: getattr(module, name) for name in module.__all__}


@pytest.mark.parametrize("room", ROOMS)
def test_public_names_are_sorted_documented_and_offered_by_completion(room):
    module = import_module(f"sklearn_talr.{room}")
    assert module.__doc__
    assert module.__all__ == sorted(set(module.__all__))
    shown = {name for name in dir(module) if name[0] != "_"}
    shown = {name for name in shown if not inspect.ismodule(getattr(module, name))}
    assert shown == set(module.__all__)
    for name, value in public(room).items():
        assert inspect.getdoc(value), name
        if inspect.isclass(value):
            methods = inspect.getmembers(value, inspect.isfunction)
            ours = [m for _, m in methods if m.__module__.startswith("sklearn_talr.")]
            undocumented = [m.__qualname__ for m in ours if not inspect.getdoc(m)]
            assert [name for name in undocumented if "._" not in name] == []
    with pytest.raises(AttributeError, match=f"'sklearn_talr.{room}' has no .* 'nothing'"):
        module.nothing  # noqa: B018


@pytest.mark.parametrize("room", ROOMS)
def test_the_parameters_of_everything_public_are_checked(room):
    """Functions by validated, estimators by _parameter_constraints."""
    problems = []
    for name, value in public(room).items():
        if inspect.isfunction(value):
            constraints = getattr(value, "_skl_parameter_constraints", None)
            parameters = inspect.signature(value).parameters
        elif inspect.isclass(value) and issubclass(value, BaseEstimator):
            constraints = value._parameter_constraints
            parameters = value._get_param_names()
        else:
            continue
        if constraints is None:
            problems.append(f"{name} checks nothing")
        elif set(constraints) != set(parameters):
            problems.append(f"{name}: {set(constraints) ^ set(parameters)}")
    assert not problems, "\n".join(problems)
