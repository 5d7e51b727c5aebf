"""Samplers change rows in `fit` alone: items are the rows that the index was given.

Pipelines of imbalanced-learn have samplers among their steps. Where imbalanced-learn is not
installed, a few lines stand in for it.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_talr.codes import weighted_scores
from sklearn_talr.hashing import AdditiveHasher, ClassProbabilities, ITQHasher
from sklearn_talr.metrics import (
    make_retrieval_scorer,
    retrieval_report_from_estimator,
    tie_aware_average_precision_score,
)
from sklearn_talr.neighbors import HashedNeighbors, MaxSimNeighbors

try:
    from imblearn.pipeline import Pipeline as SampledPipeline
    from imblearn.under_sampling import RandomUnderSampler
except ImportError:

    class RandomUnderSampler(BaseEstimator):
        """As many rows of each class as the smallest has, in an order by class."""

        def __init__(self, random_state=None):
            self.random_state = random_state

        def fit_resample(self, X, y):
            rng, least = np.random.default_rng(self.random_state), np.bincount(y).min()
            rows = [rng.choice(np.flatnonzero(y == c), least, False) for c in np.unique(y)]
            rows = np.concatenate(rows)
            return X[rows], y[rows]

    class SampledPipeline(Pipeline):
        """A Pipeline whose samplers work in `fit`."""

        def fit(self, X, y=None, **params):
            self.steps = list(self.steps)
            for place, (name, step) in enumerate(self.steps[:-1]):
                if hasattr(step, "fit_resample"):
                    X, y = step.fit_resample(X, y)
                else:
                    self.steps[place] = name, clone(step).fit(X, y)
                    X = self.steps[place][1].transform(X)
            self.steps[-1][1].fit(X, y, **params)
            return self

        def __sklearn_is_fitted__(self):
            return True

        def transform(self, X):
            for _, step in self.steps:
                if not hasattr(step, "fit_resample"):
                    X = step.transform(X)
            return X


X, Y = load_digits(return_X_y=True)
ROWS = np.concatenate([np.flatnonzero(c == Y)[:40] for c in range(10)])
ROWS = np.random.default_rng(0).permutation(ROWS)
X, Y = (
    X[ROWS],
    Y[ROWS],
)  # ten classes of forty, shuffled, so that samplers keep their number
IDS = np.array([f"scan {i}" for i in range(len(X))])
UNEVEN = np.arange(len(X)) % 7 != 0
STEPS = {
    "scale": StandardScaler(),
    "sample": RandomUnderSampler(random_state=0),
    "itq": ITQHasher(64, random_state=0),
    "additive": AdditiveHasher(64, random_state=0),
}
ORDERS = [
    ("sample", "scale", "itq"),
    ("scale", "sample", "itq"),
    ("sample", "scale", "additive"),
    ("scale", "sample", "additive"),
]


def sampled(*names):
    return SampledPipeline([(name, clone(STEPS[name])) for name in names])


def codes_by_hand(fitted, rows):
    """Codes of rows from the transformers and the hasher of a fitted Pipeline."""
    for _, step in fitted.steps[:-1]:
        if not hasattr(step, "fit_resample"):
            rows = step.transform(rows)
    return fitted.steps[-1][1].encode(rows)


def check_items(index, rows, ids):
    fitted = index.hasher_
    while not isinstance(fitted, SampledPipeline):
        is_frozen = isinstance(fitted, FrozenEstimator)
        fitted = fitted.estimator if is_frozen else fitted.best_estimator_
    codes = codes_by_hand(fitted, rows)
    assert_array_equal(index.codes_.data, codes.data)
    found = index.kneighbors(rows, 1, return_distance=False)[:, 0]
    assert np.mean(found == ids) > 0.95


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
@pytest.mark.parametrize("rows", [slice(None), UNEVEN], ids=["even", "uneven"])
class TestAnIndex:
    def test_items_are_the_rows_that_are_given(self, order, rows):
        index = HashedNeighbors(sampled(*order)).fit(X[rows], Y[rows], ids=IDS[rows])
        check_items(index, X[rows], IDS[rows])
        assert_array_equal(index._fitted.targets.values, Y[rows])

    def test_of_a_sample(self, order, rows):
        index = HashedNeighbors(sampled(*order), max_samples=200, random_state=0)
        check_items(index.fit(X[rows], Y[rows], ids=IDS[rows]), X[rows], IDS[rows])

    def test_frozen(self, order, rows):
        frozen = FrozenEstimator(sampled(*order).fit(X[rows], Y[rows]))
        index = HashedNeighbors(frozen).fit(X[rows], Y[rows], ids=IDS[rows])
        check_items(index, X[rows], IDS[rows])

    def test_in_a_search(self, order, rows):
        scorer = make_retrieval_scorer("AP")
        search = GridSearchCV(
            sampled(*order), {f"{order[-1]}__n_bits": [64]}, cv=2, scoring=scorer
        )
        index = HashedNeighbors(search).fit(X[rows], Y[rows], ids=IDS[rows])
        check_items(index, X[rows], IDS[rows])

    def test_at_the_end_of_a_pipeline(self, order, rows):
        nested = make_pipeline(StandardScaler(), sampled(*order))
        index = HashedNeighbors(nested).fit(X[rows], Y[rows], ids=IDS[rows])
        scaled = index.hasher_[0].transform(X[rows])
        codes = codes_by_hand(index.hasher_[-1], scaled)
        assert_array_equal(index.codes_.data, codes.data)

    def test_behind_a_teacher(self, order, rows):
        """A Pipeline of another class decides which rows reach the hasher: by transform."""
        teacher = ClassProbabilities(GaussianNB(), cv=3)
        steps = sampled(*order).steps
        pipeline = SampledPipeline([*steps[:-1], ("teacher", teacher), steps[-1]])
        for whole in (pipeline, make_pipeline(StandardScaler(), pipeline)):
            index = HashedNeighbors(whole).fit(X[rows], Y[rows], ids=IDS[rows])
            inner, given = index.hasher_, X[rows]
            if whole is not pipeline:
                inner, given = inner[-1], inner[0].transform(given)
            assert_array_equal(index.codes_.data, codes_by_hand(inner, given).data)

    def test_later_items(self, order, rows):
        index = HashedNeighbors(sampled(*order)).fit(X[rows][:200], Y[rows][:200])
        index.add(X[rows][200:], Y[rows][200:])
        expected = codes_by_hand(index.hasher_, X[rows])
        assert_array_equal(index.codes_.data, expected.data)

    def test_sets_of_tokens(self, order, rows):
        index = MaxSimNeighbors(sampled(*order)).fit(X[rows], Y[rows])
        expected = codes_by_hand(index.hasher_, X[rows])
        assert_array_equal(index._fitted.tokens.packed.data, expected.data)


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_scorers_rank_all_rows(order):
    fitted = sampled(*order).fit(X[UNEVEN], Y[UNEVEN])
    scorer = make_retrieval_scorer("AP")
    true = (Y[:, None] == Y).astype(float)
    np.fill_diagonal(true, np.nan)
    rows = X
    for _, step in fitted.steps[:-1]:
        if not hasattr(step, "fit_resample"):
            rows = step.transform(rows)
    hasher = fitted.steps[-1][1]
    if order[-1] == "itq":
        bits = hasher.transform(rows)
        scores = -(bits[:, None] != bits).sum(axis=2)
    else:
        scores = weighted_scores(hasher.query_weights(rows), hasher.encode(rows))
    expected = tie_aware_average_precision_score(true, scores)
    for estimator in (fitted, FrozenEstimator(fitted)):
        assert_allclose(scorer(estimator, X, Y), expected, rtol=1e-5)
    report = retrieval_report_from_estimator(fitted, X[:100], Y[:100], X, Y, measures="AP")
    true = (Y[:100, None] == Y).astype(int)
    expected = tie_aware_average_precision_score(true, scores[:100])
    assert_allclose(report["expected"]["AP"], expected, rtol=1e-5)


def test_a_sampler_that_would_leave_y_as_it_is():
    """In a Pipeline in the middle of another one, which scikit-learn does not refuse."""
    inner = SampledPipeline([(name, clone(STEPS[name])) for name in ("sample", "scale")])
    index = HashedNeighbors(make_pipeline(inner, ITQHasher(8, random_state=0)))
    with pytest.raises(
        ValueError, match=r"sampler RandomUnderSampler.*make_pipeline\(sampler"
    ):
        index.fit(X, Y)
    assert not hasattr(index, "n_items_")
    frozen = FrozenEstimator(make_pipeline(StandardScaler(), ITQHasher(8)).fit(X))
    assert index.set_params(hasher=frozen).fit(X, Y).n_items_ == len(X)
