"""Exceptions out of the blue: memory that runs out, or Ctrl-C, in any call of the library.

`test_fitted_state` breaks calls off before each of their statements. Here exceptions come
in place of calls that statements make, at places that are drawn by a seed.
"""

import os
import pickle
import sys
import threading
import warnings
from contextlib import contextmanager, suppress
from functools import partial

import numpy as np
import pytest
import torch
from hashers import HASHERS, name_of
from sklearn import get_config
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import GaussianNB

import sklearn_talr
from sklearn_talr import HammingNeighbors, RankingSVC, TALRHasher
from sklearn_talr._state import is_fitted_name
from sklearn_talr.affinity import ThresholdAffinity
from sklearn_talr.hashing import AdditiveHasher, ClassProbabilities
from sklearn_talr.neighbors import WeightedHammingNeighbors

FOLDER = os.path.dirname(sklearn_talr.__file__)
N_INJECTIONS = 8
ERRORS = MemoryError, KeyboardInterrupt
LOCK = type(threading.Lock())
RNG = np.random.default_rng(0)
X, OTHER_X = RNG.standard_normal((2, 40, 5))
Y, OTHER_Y = np.arange(40) % 3, np.arange(40) // 2 % 3
CODES, OTHER_CODES = RNG.integers(0, 2, (2, 40, 12))
WEIGHTS = RNG.standard_normal((5, 12))


@contextmanager
def raising(error, number):
    """Raises an error in place of the n-th call of built-in functions; counts in a list.

    Those that the library calls itself, but for what counts threads, which `test_threads`
    breaks off, and for the release of a lock: Python lets nothing take its place.
    """
    calls = []

    def profile(frame, event, argument):
        file = frame.f_code.co_filename
        if event != "c_call" or not file.startswith(FOLDER) or file.endswith("_threads.py"):
            return
        if isinstance(getattr(argument, "__self__", None), LOCK):
            return
        calls.append(argument)
        if len(calls) == number:
            raise error

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield calls
    finally:
        sys.setprofile(before)


def injections(action):
    """Yield errors, and where to raise them in an action that is done once to count.

    The last calls are among these, where new state takes the place of the old.
    """
    with raising(None, 0) as calls:
        action()
    assert len(calls) >= N_INJECTIONS
    drawn = np.random.default_rng(0).choice(len(calls) - 4, N_INJECTIONS - 4) + 1
    for i, number in enumerate([*drawn, *range(len(calls) - 3, len(calls) + 1)]):
        yield ERRORS[i % len(ERRORS)], number


def modes():
    """What a call may set for its time."""
    return torch.is_grad_enabled(), torch.get_num_threads(), get_config(), np.geterr()


MODULE = torch.nn.Sequential(torch.nn.Linear(5, 6), torch.nn.ReLU(), torch.nn.Linear(6, 8))
ESTIMATORS = [
    *HASHERS,
    TALRHasher(8, max_iter=3, early_descent=True, validation_fraction=0.3),
    TALRHasher(8, max_iter=2, module=MODULE),
    AdditiveHasher(8, metric="euclidean", max_iter=2),
    AdditiveHasher(8, word_size=8, max_iter=2),
    ClassProbabilities(GaussianNB(), cv=2),
    ThresholdAffinity((0.3, 0.1), (1, 2)),
    HammingNeighbors(3),
]


def learned(estimator):
    """All fitted attributes, down to the last bit."""
    return pickle.dumps({k: v for k, v in vars(estimator).items() if is_fitted_name(k)})


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_in_a_fit_they_change_nothing(estimator):
    estimator = clone(estimator)
    if hasattr(estimator, "random_state"):
        estimator.set_params(random_state=0)
    first, second = (X, Y), (OTHER_X, OTHER_Y)
    if isinstance(estimator, ThresholdAffinity):
        first, second = first[:1], second[:1]
    state, before = learned(estimator.fit(*first)), modes()
    expected = learned(clone(estimator).fit(*second))
    for error, number in injections(partial(clone(estimator).fit, *second)):
        with warnings.catch_warnings(), suppress(error), raising(error, number):
            warnings.simplefilter("ignore", ConvergenceWarning)
            estimator.fit(*second)
            estimator.fit(*first)  # Ctrl-C may have ended training early
        assert learned(estimator) == state, (error, number)
        assert modes() == before, (error, number)
    assert learned(estimator.fit(*second)) == expected


@pytest.mark.parametrize("loss", ["average_precision", "ndcg", "zero_one"])
def test_in_a_fit_of_the_ranking_svm_they_change_nothing(loss):
    svc = RankingSVC(loss).fit(X, Y == 0)
    state, before = learned(svc), modes()
    for error, number in injections(partial(clone(svc).fit, OTHER_X, OTHER_Y == 0)):
        with pytest.raises(error), raising(error, number):
            svc.fit(OTHER_X, OTHER_Y == 0)
        assert (learned(svc), modes()) == (state, before), (error, number)


SEARCHES = [
    HammingNeighbors(3),
    WeightedHammingNeighbors(3),
]
CHANGES = {
    "fit": lambda n: n.fit(OTHER_CODES, OTHER_Y),
    "partial_fit": lambda n: n.partial_fit(OTHER_CODES, OTHER_Y),
    "remove": lambda n: n.remove(np.arange(0, 40, 3)),
}
QUESTIONS = {
    "kneighbors": lambda n: n.kneighbors(queries_of(n)),
    "radius_neighbors": lambda n: n.radius_neighbors(queries_of(n), 4)[1],
    "rank": lambda n: n.rank(queries_of(n)),
    "predict": lambda n: n.predict(queries_of(n)),
    "score": lambda n: n.score(queries_of(n), Y[:5]),
}


def queries_of(neighbors):
    return WEIGHTS > 0 if isinstance(neighbors, HammingNeighbors) else WEIGHTS


def answers(neighbors):
    return pickle.dumps([ask(neighbors) for ask in QUESTIONS.values()])


def database(neighbors):
    """A fitted clone that has found what it keeps for later calls."""
    return clone(neighbors).fit(CODES, Y).remove([])


@pytest.mark.parametrize("neighbors", SEARCHES, ids=str)
class TestDatabase:
    @pytest.mark.parametrize("name", CHANGES)
    def test_in_a_change_they_change_nothing(self, neighbors, name):
        neighbors, expected = database(neighbors), database(neighbors)
        before, after = answers(neighbors), answers(CHANGES[name](expected))
        for error, number in injections(partial(CHANGES[name], database(neighbors))):
            with pytest.raises(error), raising(error, number):
                CHANGES[name](neighbors)
            assert answers(neighbors) == before, (error, number)
        assert answers(CHANGES[name](neighbors)) == after

    @pytest.mark.parametrize("name", QUESTIONS)
    def test_in_a_question_they_leave_the_answers_right(self, neighbors, name):
        expected, ask = answers(database(neighbors)), QUESTIONS[name]
        for error, number in injections(partial(ask, database(neighbors))):
            asked = database(neighbors)
            with suppress(error), raising(error, number) as calls:
                ask(asked)
            assert len(calls) >= number
            assert answers(asked) == expected, (error, number)
