"""Fitted state: a call that fails or is broken off leaves what was there before."""

import pickle
import sys
import warnings
from functools import partial
from itertools import count, product
from threading import Barrier, Event, Thread
from time import sleep

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from hashers import HASHERS, KINDS, name_of, split_labels
from interruptions import Interruption, interrupted_at, statements_of, tracing
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import validate_data

import sklearn_talr
from sklearn_talr import ITQHasher, RankingSVC, TALRHasher
from sklearn_talr._core.state import replace_fitted, validate_seen
from sklearn_talr.hashing import AdditiveHasher
from sklearn_talr.hashing.training import _fit, _loop, _monitor
from sklearn_talr.losses import HashNetLoss, OrthoHashLoss

N_POINTS = 30
RNG = np.random.default_rng(0)
X, OTHER_X = RNG.standard_normal((2, 40, 5))
Y, OTHER_Y = np.arange(40) % 3, np.arange(40) // 2 % 3

CASES = [(hasher, "fit", {}) for hasher in KINDS]
CASES += [
    (AdditiveHasher(8, method="codebooks", max_iter=2), "fit", {}),
    (TALRHasher(8), "partial_fit", {}),
    (TALRHasher(8, loss=HashNetLoss()), "partial_fit", {}),
    (TALRHasher(8, max_iter=2), "fit", {"warm_start": True}),
    (TALRHasher(8, loss=OrthoHashLoss(), max_iter=2), "fit", {"warm_start": True}),
    (TALRHasher(8, max_iter=2, hidden_layer_sizes=4), "fit", {"early_stopping": True}),
    (TALRHasher(8, max_iter=2, module=torch.nn.Linear(5, 8)), "fit", {"warm_start": True}),
    (TALRHasher(8, module=torch.nn.Linear(5, 8)), "partial_fit", {}),
]
every_way_to_fit = pytest.mark.parametrize(
    ("hasher", "method", "params"),
    CASES,
    ids=[f"{name_of(h)}-{method}-{'-'.join(p)}" for h, method, p in CASES],
)


def modules():
    """All modules of ours that are loaded, but the one that holds threads.

    What it counts would never be given back.
    """
    ours = [m for name, m in sys.modules.items() if name.startswith("sklearn_talr.")]
    return [module for module in ours if module is not sklearn_talr._core.threads]


def points(call):
    """Statements that a call executes, from the first to the last one."""
    statements = statements_of(call, modules())
    assert len(statements) >= N_POINTS
    chosen = np.unique(np.linspace(0, len(statements) - 1, N_POINTS).round().astype(int))
    return [statements[i] for i in chosen]


def state_of(hasher):
    """All attributes, down to the last bit."""
    return pickle.dumps(vars(hasher))


@pytest.fixture(scope="module", autouse=True)
def full_caches():
    """Caches of products are filled once, by statements that no later call comes by."""
    AdditiveHasher(8, method="codebooks", max_iter=1).fit(X).encode(X)


@every_way_to_fit
def test_a_call_broken_off_changes_nothing(hasher, method, params):
    hasher = clone(hasher).set_params(random_state=0)
    parameters = vars(hasher).keys()
    first_call = partial(getattr(clone(hasher), method), X, Y)
    for statement in points(first_call)[::6]:
        with pytest.raises(Interruption), interrupted_at(statement):
            getattr(hasher, method)(X, Y)
        assert vars(hasher).keys() == parameters, statement
    with pytest.raises(NotFittedError):
        hasher.transform(X)
    getattr(hasher, method)(X, Y)
    hasher.set_params(**params)
    codes, state = hasher.transform(X), state_of(hasher)
    again = clone(hasher)
    vars(again).update(pickle.loads(state))
    for statement in points(partial(getattr(again, method), OTHER_X, OTHER_Y)):
        with pytest.raises(Interruption), interrupted_at(statement):
            getattr(hasher, method)(OTHER_X, OTHER_Y)
        assert state_of(hasher) == state, statement
    np.testing.assert_array_equal(hasher.transform(X), codes)
    # And nothing that it left behind elsewhere matters to the next one.
    getattr(hasher, method)(OTHER_X, OTHER_Y)
    np.testing.assert_array_equal(hasher.transform(X), again.transform(X))


BETWEEN_STEPS = {"begin", "train", "_run_epoch", "end_epoch", "begin_descent", "restore"}


@pytest.mark.parametrize(
    ("method", "params"), [("fit", {"early_stopping": True}), ("partial_fit", {})]
)
def test_ctrl_c_in_training_leaves_a_whole_fit_or_none(method, params):
    """Whichever line it comes at: all attributes tell of the epochs that are kept."""
    files = {module.__file__ for module in (_fit, _loop, _monitor)}
    where = files, BETWEEN_STEPS
    params = {"max_iter": 2, "validation_fraction": 0.4, "init": "random"} | params
    hasher = TALRHasher(8, random_state=0, **params)
    lines = []
    with tracing(lambda *place: lines.append(place), *where):
        getattr(clone(hasher), method)(X, Y)
    kept, (_, held_out) = [], split_labels(Y, 16)
    for number in range(1, len(lines) + 1):
        interrupted = clone(hasher)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                with tracing(ctrl_c_at(number), *where):
                    getattr(interrupted, method)(X, Y)
        except KeyboardInterrupt:
            assert vars(interrupted).keys() == vars(hasher).keys()
            continue
        kept.append(interrupted.n_iter_)
        assert interrupted.n_iter_ == len(interrupted.loss_curve_)
        assert interrupted.transform(X).shape == (40, 8)
        if method == "fit":
            assert len(interrupted.validation_scores_) == interrupted.n_iter_
            best = max(interrupted.validation_scores_)
            assert interrupted.best_validation_score_ == best
            score = interrupted.score(X[held_out], Y[held_out])
            assert score == pytest.approx(best, abs=1e-6)
    # Short of the end of an epoch nothing is kept, and a chunk is one epoch.
    assert set(kept) == ({1, 2} if method == "fit" else {1})


def ctrl_c_at(number):
    """Raises KeyboardInterrupt when it is called for the n-th time."""
    calls = count(1)

    def each_line(*_):
        if next(calls) == number:
            raise KeyboardInterrupt

    return each_line


@pytest.mark.parametrize("hasher", HASHERS, ids=name_of)
def test_a_refused_fit_changes_nothing(hasher):
    hasher = clone(hasher).set_params(random_state=0)
    named = pd.DataFrame(X, columns=list("abcde"))
    hasher.fit(named, Y)
    state = state_of(hasher)
    codes = hasher.transform(named)
    refused = [(OTHER_X[:, :4] * np.nan, OTHER_Y), (np.ones((40, 3)), OTHER_Y)]
    if hasher.__sklearn_tags__().target_tags.required or hasattr(hasher, "affinity"):
        refused += [(OTHER_X[:, :4], np.zeros(40)), (OTHER_X[:, :4], OTHER_Y[:9])]
    for features, y in refused:
        with pytest.raises(ValueError, match=r"NaN|constant|equally|one class|same number"):
            hasher.fit(features, y)
        assert state_of(hasher) == state
    np.testing.assert_array_equal(hasher.transform(named), codes)
    hasher.fit(OTHER_X[:, :4], OTHER_Y)  # names go with the fit that had them
    assert hasher.n_features_in_ == 4
    assert not hasattr(hasher, "feature_names_in_")


class Estimator(BaseEstimator):
    """Has a parameter, attributes of its own, and one that looks like a fitted one."""

    def __init__(self, size=1):
        self.size = size
        self._cache = "kept"
        self.__dict__["__odd__"] = "kept"


def test_fitted_attributes_are_these_and_no_others():
    estimator = Estimator(3)
    assert replace_fitted(estimator, {"a_": 1, "b_": 2}) is estimator
    replace_fitted(estimator, {"b_": 3, "_c_": 4})
    expected = {"size": 3, "_cache": "kept", "__odd__": "kept", "b_": 3, "_c_": 4}
    assert vars(estimator) == expected


ROWS = X.astype(np.float32)
SEEN = {
    "float32": ROWS,
    "float64": X,
    "one row": ROWS[:1],
    "float16": X.astype(np.float16),
    "integers": (10 * X).astype(int),
    "booleans": X > 0,
    "other byte order": X.astype(">f4"),
    "every second row": ROWS[::2],
    "a list": X.tolist(),
    "a frame": pd.DataFrame(X),
    "a frame with names": pd.DataFrame(X, columns=list("abcde")),
    "a subclass": X.view(np.matrix),
    "no rows": ROWS[:0],
    "four columns": ROWS[:, :4],
    "one dimension": ROWS[0],
    "three dimensions": ROWS[None],
    "NaN": np.where(X > 2, np.nan, X),
    "infinity": np.where(X > 2, np.inf, X),
    "huge": np.full((2, 5), 3e38, dtype=np.float32),
    "complex": X + 1j,
    "text": X.astype(str),
    "sparse": sp.csr_array(X),
}


def outcome(call):
    """What is returned, with its type, or what is raised, and what is warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
            told = type(result), getattr(result, "dtype", None)
            values = result.toarray() if sp.issparse(result) else np.asarray(result)
            told += (repr(values.tolist()),)
        except (TypeError, ValueError) as error:
            told = type(error), str(error)
    return told, [str(warning.message) for warning in caught]


@pytest.mark.parametrize("features", SEEN.values(), ids=SEEN)
def test_features_seen_are_checked_as_by_scikit_learn(features):
    """Also where nothing is looked up, because nothing can be wrong."""
    names_seen = [None, list("abcde"), list("edcba")]
    dtypes = [(np.float32, np.float64), (np.float32,), "numeric"]
    for names, dtype, assume_finite in product(names_seen, dtypes, (False, True)):
        fitted = BaseEstimator()
        fitted.n_features_in_ = 5
        if names is not None:
            fitted.feature_names_in_ = np.array(names, dtype=object)
        with config_context(assume_finite=assume_finite):
            expected = outcome(
                partial(validate_data, fitted, features, dtype=dtype, reset=False)
            )
            actual = outcome(partial(validate_seen, fitted, features, dtype=dtype))
        assert actual == expected, (names, dtype, assume_finite)


@pytest.mark.parametrize(
    "estimator",
    [
        ITQHasher(8),
        TALRHasher(8, max_iter=1),
        AdditiveHasher(8, max_iter=1),
        RankingSVC(max_iter=1_000),
    ],
    ids=name_of,
)
def test_readers_see_whole_fits_while_a_writer_refits(estimator):
    """8 readers of two fits in turn, to other features and classes."""
    fits = [(X, Y == 0), (OTHER_X, OTHER_Y == 1)]
    estimator = clone(estimator)
    if hasattr(estimator, "random_state"):
        estimator.set_params(random_state=0)
    states = []
    for fit in fits:
        estimator.fit(*fit)
        states.append(estimator.decision_function(X).tolist())
    seen, started, done = [], Barrier(9), Event()

    def read():
        started.wait()
        while not done.is_set():
            seen.append(estimator.decision_function(X).tolist() in states)
            sleep(0.002)  # else the writer hardly gets a word in

    readers = [Thread(target=read) for _ in range(8)]
    for reader in readers:
        reader.start()
    started.wait()
    for number in count():
        estimator.fit(*fits[number % 2])
        if number > 10 and len(seen) > 40:
            break
    done.set()
    for reader in readers:
        reader.join()
    assert states[0] != states[1]
    assert all(seen)
