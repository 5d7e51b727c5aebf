"""Old names work and warn for two releases, and not longer."""

import ast
import pickle
import sys
import warnings
from numbers import Integral, Real
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import check_is_fitted, validate_data

import sklearn_talr
from sklearn_talr._compat import Interval, validate_params
from sklearn_talr._deprecation import deprecated_parameters, renamed_names

ROOT = Path(__file__).parents[1]
HELPERS = {"deprecated_parameters", "renamed_names"}
VERSIONS = {"since": "0.2", "removed": "0.4"}
X = np.random.default_rng(0).normal(size=(60, 3))
y = (X[:, 0] > 0).astype(int)


@deprecated_parameters(**VERSIONS, penalty="alpha", speed=None)
class Renamed(ClassifierMixin, BaseEstimator):
    """Nearest class means after shrinking; `alpha` was called `penalty`."""

    _parameter_constraints = {"alpha": [Interval(Real, 0, None, closed="left")]}

    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def fit(self, X, y):
        self._validate_params()
        X, y = validate_data(self, X, y)
        self.classes_ = unique_labels(y)
        means = [X[y == label].mean(axis=0) for label in self.classes_]
        self.means_ = np.array(means) / (1 + self.alpha)
        return self

    def predict(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        squares = ((X[:, None] - self.means_) ** 2).sum(axis=2)
        return self.classes_[squares.argmin(axis=1)]


@deprecated_parameters(**VERSIONS, number="n", speed=None)
@validate_params(
    {"values": ["array-like"], "n": [Interval(Integral, 1, None, closed="left")]},
    prefer_skip_nested_validation=True,
)
def repeated(values, *, n=1):
    """Return the values, so many times."""
    return list(values) * n


def deprecations(root):
    """(file, line, version of removal) of each use of the helpers below a folder."""
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in HELPERS:
                given = {keyword.arg: keyword.value for keyword in node.keywords}
                yield path.name, node.lineno, ast.literal_eval(given["removed"])


def outlived(root, version):
    """Uses of the helpers that should be gone in a version, its development included."""
    now = [int(part) for part in version.split(".")[:2]]
    return [
        f"{name}, line {line}: was to be removed in {removed}"
        for name, line, removed in deprecations(root)
        if now >= [int(part) for part in removed.split(".")]
    ]


def test_nothing_outlives_the_version_of_its_removal():
    package = Path(sklearn_talr.__file__).parent
    assert outlived(package, sklearn_talr.__version__) == []


def test_what_outlives_its_removal_is_found(tmp_path):
    (tmp_path / "a.py").write_text(
        "@deprecated_parameters(since='0.9', removed='0.11', old='new')\n"
        "def f(new):\n    pass\n\n"
        "__getattr__ = renamed_names(__name__, {}, since='0.8', removed='0.10')\n"
    )
    assert outlived(tmp_path, "0.9.1") == []
    (first,) = outlived(tmp_path, "0.10.0.dev0")
    assert first == "a.py, line 5: was to be removed in 0.10"
    assert len(outlived(tmp_path, "0.11.0")) == len(outlived(tmp_path, "1.0.0rc1")) == 2


def warned_here(recorded):
    """The text of the one warning, which must name this file."""
    (warning,) = recorded
    assert warning.category is FutureWarning
    assert warning.filename == __file__
    return str(warning.message)


@pytest.mark.parametrize("make", [Renamed, lambda **values: Renamed().set_params(**values)])
def test_an_estimator_takes_the_old_name_and_warns(make):
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        estimator = make(penalty=2.0)
    assert estimator.get_params() == {"alpha": 2.0}
    assert warned_here(recorded) == (
        "The parameter 'penalty' of Renamed was renamed to 'alpha' in version 0.2, and an "
        "error from version 0.4 on. Use 'alpha' in its place."
    )


def test_the_guide_shows_the_text_of_the_warning():
    page = ROOT / "docs" / "user_guide" / "support.rst"
    with pytest.warns(FutureWarning, match="renamed") as recorded:
        Renamed(penalty=1.0)
    text = (
        str(recorded[0].message).replace("'penalty'", "'old'").replace("'alpha'", "'new'")
    )
    text = text.replace("Renamed", "SomeHasher")
    assert text in " ".join(page.read_text().split())


def test_a_removed_parameter_has_no_effect():
    with pytest.warns(FutureWarning, match="'speed' of Renamed has no effect .* Leave it"):
        estimator = Renamed(alpha=3.0, speed="high")
    assert estimator.get_params() == {"alpha": 3.0}
    assert not hasattr(estimator, "speed")


@pytest.mark.parametrize("make", [Renamed, lambda **values: Renamed().set_params(**values)])
def test_both_names_at_once_are_refused(make):
    with pytest.raises(TypeError, match="'penalty' and 'alpha', which are one parameter"):
        make(penalty=1.0, alpha=2.0)


def test_new_names_clones_and_pickles_warn_of_nothing():
    """Warnings are errors in these tests."""
    estimator = Renamed(alpha=2.0).fit(X, y)
    assert clone(estimator).get_params() == {"alpha": 2.0}
    again = pickle.loads(pickle.dumps(estimator))
    assert again.get_params() == {"alpha": 2.0}
    np.testing.assert_array_equal(again.predict(X), estimator.predict(X))
    assert repr(estimator) == "Renamed(alpha=2.0)"


def test_what_was_made_by_an_old_name_is_cloned_without_a_warning():
    with pytest.warns(FutureWarning, match="renamed to 'alpha'"):
        estimator = Renamed(penalty=2.0)
    assert clone(estimator).get_params() == {"alpha": 2.0}


def test_states_of_older_versions_are_read():
    estimator = Renamed()
    old = {"penalty": 5.0, "speed": "high", "means_": 3}
    estimator.__setstate__(old)
    assert vars(estimator) == {"alpha": 5.0, "means_": 3}
    assert set(old) == {"penalty", "speed", "means_"}


def test_values_by_old_names_are_validated():
    with pytest.warns(FutureWarning, match="renamed"):
        estimator = Renamed(penalty=-1.0)
    with pytest.raises(ValueError, match="'alpha' parameter of Renamed must be"):
        estimator.fit(X, y)
    with (
        pytest.warns(FutureWarning, match="renamed"),
        pytest.raises(ValueError, match="'n' parameter of repeated must be"),
    ):
        repeated([1], number=0)


@pytest.mark.parametrize("nested", [False, True])
def test_grids_may_use_the_old_name(nested):
    estimator = make_pipeline(StandardScaler(), Renamed()) if nested else Renamed()
    before = "renamed__" if nested else ""
    values = [0.0, 1.0]
    with pytest.warns(FutureWarning, match="'penalty' of Renamed was renamed to 'alpha'"):
        old = GridSearchCV(estimator, {f"{before}penalty": values}, cv=3).fit(X, y)
    new = GridSearchCV(estimator, {f"{before}alpha": values}, cv=3).fit(X, y)
    np.testing.assert_array_equal(
        old.cv_results_["mean_test_score"], new.cv_results_["mean_test_score"]
    )


@parametrize_with_checks([Renamed()])
def test_a_decorated_estimator_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_subclasses_take_the_old_name():
    class Derived(Renamed):
        pass

    with pytest.warns(FutureWarning, match="'penalty' of Renamed"):
        assert Derived(penalty=2.0).alpha == 2.0


def test_a_function_takes_the_old_name_and_warns():
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        assert repeated([1, 2], number=2) == [1, 2, 1, 2]
    assert "The parameter 'number' of repeated was renamed to 'n'" in warned_here(recorded)
    with pytest.warns(FutureWarning, match="'speed' of repeated has no effect"):
        assert repeated([1], speed=9) == [1]
    assert repeated([1], n=2) == [1, 1]
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        repeated([1], other=2)


def test_a_function_keeps_what_the_package_asks_of_its_functions():
    assert repeated.__doc__.startswith("Return the values")
    assert set(repeated._skl_parameter_constraints) == {"values", "n"}


@pytest.fixture
def room(monkeypatch):
    module = ModuleType("a_room")
    module.New = "new"
    monkeypatch.setitem(sys.modules, "a_room", module)
    module.__getattr__ = renamed_names("a_room", {"Old": "New"}, **VERSIONS)
    return module


def test_a_public_name_is_found_by_its_old_one(room):
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        from a_room import Old
    assert Old == "new"
    assert "a_room.Old was renamed to a_room.New in version 0.2" in warned_here(recorded)
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        assert room.Old == "new"
    assert warned_here(recorded)


def test_other_names_are_asked_of_the_room_itself(room):
    assert room.New == "new"
    with pytest.raises(AttributeError, match="'a_room' has no attribute 'Other'"):
        room.Other  # noqa: B018
    room.__getattr__ = renamed_names(
        "a_room", {"Old": "New"}, **VERSIONS, otherwise=str.upper
    )
    assert room.other == "OTHER"


@pytest.mark.parametrize("removed", ["0.2", "0.3", "0.1"])
def test_a_removal_that_comes_too_early_is_refused(removed):
    for make in (
        lambda **versions: deprecated_parameters(**versions, old="new"),
        lambda **versions: renamed_names("sys", {}, **versions),
    ):
        with pytest.raises(ValueError, match=f"removed='{removed}' must be two releases"):
            make(since="0.2", removed=removed)
        make(since="0.2", removed="0.4")
        make(since="0.9", removed="1.0")
