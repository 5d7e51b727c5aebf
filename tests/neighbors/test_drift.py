"""Whether incoming rows are encoded worse than held-out rows: chances, power and files."""

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_digits
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import shuffle

from sklearn_talr import ITQHasher, LSHHasher
from sklearn_talr._hashers import FittedHasher
from sklearn_talr.hashing import AdditiveHasher
from sklearn_talr.neighbors import HashedNeighbors
from sklearn_talr.neighbors._drift import QUANTILES, Calibration, _fit_decoder

X = shuffle(load_digits().data, random_state=0)  # which come writer by writer
TRAIN, HELD_OUT, FRESH = X[:700], X[700:1200], X[1200:]
ADDITIVE = AdditiveHasher(16, max_iter=3, random_state=0)
HASHERS = {
    "additive": ADDITIVE,
    "inner product": AdditiveHasher(16, metric="inner_product", random_state=0, max_iter=3),
    "euclidean": AdditiveHasher(16, metric="euclidean", random_state=0, max_iter=3),
    "ITQ": ITQHasher(16, random_state=0),
    "LSH": LSHHasher(24, random_state=0),
    "behind a step": make_pipeline(StandardScaler(), ITQHasher(16, random_state=0)),
}


class Nothing(TransformerMixin, BaseEstimator):
    """Decodes everything to 0, so that the error of a row is its squared length."""

    metric = "euclidean"

    def fit(self, X, y=None):
        return self

    def encode(self, X):
        return X

    def inverse_transform(self, X):
        return np.zeros_like(X)


NOTHING = FittedHasher.of(Nothing())


def rows_with(errors):
    return np.sqrt(np.asarray(errors, dtype=float))[:, None]


def test_chances_are_those_of_all_orders():
    """Of 20 held-out errors and three others, all orders are equally likely."""
    held_out = np.arange(1.0, 21)
    calibration = Calibration.of(NOTHING, rows_with(held_out))
    # With 20 held-out errors the quantiles are the 10th, 18th and 20th of them.
    incoming = np.array([3.5, 18.5, 19.5])
    drift = calibration.compare(NOTHING, rows_with(incoming), 0.01)
    rng, chances = np.random.default_rng(0), []
    orders = rng.permuted(np.tile(np.arange(23), (200_000, 1)), axis=1)
    for place, n_above in ((10, 2), (18, 2), (20, 0)):
        limit = np.sort(orders[:, :20], axis=1)[:, place - 1, None]
        chances.append(np.mean((orders[:, 20:] > limit).sum(axis=1) >= n_above))
    assert_allclose(drift.p_value, 3 * min(chances), rtol=0.02)
    assert_array_equal(drift.quantiles, QUANTILES)
    assert_allclose(drift.held_out, np.quantile(held_out, QUANTILES) / 10.5)
    assert_allclose(drift.incoming, np.quantile(incoming, QUANTILES) / 10.5)


def test_one_row_that_exceeds_all():
    """It is the largest of n + 1 with a chance of 1 in n + 1."""
    calibration = Calibration.of(NOTHING, rows_with(np.arange(1, 1_000)))
    drift = calibration.compare(NOTHING, rows_with([5_000]), 0.05)
    assert drift.p_value == pytest.approx(3 * 10 / 1_000)  # the 990th of 999
    assert drift.drifted
    assert not calibration.compare(NOTHING, rows_with([5_000]), 0.02).drifted


def test_orders_of_few_rows_by_hand():
    calibration = Calibration(np.arange(2.0), np.empty((0, 0)))
    ranks = list(permutations(range(4)))
    chance = np.mean([min(order[2:]) > min(order[:2]) for order in ranks])
    drift = calibration.compare(NOTHING, rows_with([0.5, 0.6]), 0.01)
    assert drift.p_value == pytest.approx(min(1, 3 * chance))


def test_equal_errors_are_no_drift():
    calibration = Calibration.of(NOTHING, np.zeros((50, 1)))
    drift = calibration.compare(NOTHING, np.zeros((9, 1)), 0.5)
    assert (drift.drifted, drift.p_value) == (False, 1.0)
    assert_array_equal(drift.incoming, [0, 0, 0])


def test_errors_of_the_decoder_are_those_of_rows_left_out():
    rng = np.random.default_rng(0)
    signs = np.hstack((rng.choice([-1.0, 1.0], (40, 6)), np.ones((40, 1))))
    features = signs @ rng.normal(size=(7, 3)) + rng.normal(size=(40, 3))
    errors, decoder = _fit_decoder(signs, features)
    found = []
    for alpha in (1e-3, 1e-2, 0.1, 1.0):
        left_out = []
        for row in range(40):
            rest = np.arange(40) != row
            ridge = Ridge(alpha * 40).fit(signs[rest, :-1], features[rest])
            predicted = ridge.predict(signs[[row], :-1])
            left_out.append(((predicted - features[row]) ** 2).sum())
        found.append(left_out)
    assert_allclose(errors, min(found, key=np.mean), rtol=1e-8)
    fresh = ((features - signs @ decoder) ** 2).sum(axis=1)
    assert np.all(fresh <= errors + 1e-12)


@pytest.mark.parametrize("hasher", HASHERS.values(), ids=HASHERS.keys())
def test_fresh_rows_are_no_drift_and_others_are(hasher):
    index = HashedNeighbors(hasher).fit(TRAIN).calibrate(HELD_OUT)
    drift = index.drift(FRESH)
    assert not drift.drifted
    assert drift.p_value > 0.01
    assert_allclose(drift.incoming[:2], drift.held_out[:2], rtol=0.2)
    turned = index.drift(FRESH[:, ::-1])
    assert turned.drifted
    assert turned.p_value < 1e-6
    assert np.all(turned.incoming[:2] > drift.held_out[:2])
    some = np.where(np.arange(len(FRESH))[:, None] < 60, FRESH[:, ::-1], FRESH)
    assert index.drift(some).p_value < drift.p_value


def test_a_decoder_is_not_fitted_to_the_rows_whose_errors_count():
    hasher = FittedHasher.of(ITQHasher(16, random_state=0).fit(TRAIN))
    calibration = Calibration.of(hasher, HELD_OUT)
    assert len(calibration.errors) == len(HELD_OUT) // 2
    signs = np.ones((len(HELD_OUT), 17))
    signs[:, :-1] = 2.0 * hasher.hasher.transform(HELD_OUT) - 1
    _, decoder = _fit_decoder(signs[::2], HELD_OUT[::2])
    errors = ((HELD_OUT - signs @ decoder) ** 2).sum(axis=1)[1::2]
    assert_allclose(calibration.errors, np.sort(errors))
    assert_allclose(calibration.decoder, decoder)


def test_sparse_rows_have_the_same_errors():
    index = HashedNeighbors(HASHERS["ITQ"]).fit(TRAIN).calibrate(HELD_OUT)
    expected = index.drift(FRESH)
    found = index.calibrate(sp.csr_array(HELD_OUT)).drift(sp.csr_matrix(FRESH))
    assert_allclose(found.incoming, expected.incoming)
    assert found.p_value == expected.p_value


def test_what_keeps_a_calibration_and_what_forgets_it(tmp_path):
    index = HashedNeighbors(HASHERS["ITQ"]).fit(TRAIN).calibrate(HELD_OUT)
    expected = index.drift(FRESH)
    index.partial_fit(FRESH).remove([3])
    assert index.drift(FRESH).p_value == expected.p_value
    for hasher in ("ITQ", "additive"):
        index = HashedNeighbors(HASHERS[hasher]).fit(TRAIN).calibrate(HELD_OUT)
        index.save(tmp_path / "index.npz")
        for mmap in (False, True):
            loaded = HashedNeighbors.load(tmp_path / "index.npz", mmap=mmap)
            for one, other in zip(loaded.drift(FRESH), index.drift(FRESH)):
                assert_array_equal(one, other)
    with pytest.raises(ValueError, match=r"call calibrate\(X\) first"):
        index.fit(TRAIN).drift(FRESH)


def test_a_file_with_unsound_errors_is_refused(tmp_path):
    index = HashedNeighbors(HASHERS["ITQ"]).fit(TRAIN).calibrate(HELD_OUT)
    calibration = index._fitted.calibration
    for errors in (
        calibration.errors[::-1],
        calibration.errors[:9],
        calibration.errors * np.nan,
    ):
        unsound = calibration._replace(errors=errors)
        object.__setattr__(index._fitted, "calibration", unsound)
        index.save(tmp_path / "index.npz")
        with pytest.raises(ValueError, match="held-out rows are not sound"):
            HashedNeighbors.load(tmp_path / "index.npz")


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda index: index.calibrate(HELD_OUT[:19]), "X has 19 rows, too few"),
        (lambda index: index.calibrate(HELD_OUT[:, :3]), "features"),
        (lambda index: index.drift(FRESH[:, :3]), "features"),
        (lambda index: index.drift(FRESH[:0]), "0 sample"),
        (lambda index: index.drift(FRESH * np.nan), "NaN"),
        (lambda index: index.drift(FRESH, alpha=0), "alpha"),
        (lambda index: index.drift(FRESH, alpha=1), "alpha"),
        (lambda index: index.drift(FRESH, alpha="1"), "alpha"),
    ],
)
@pytest.mark.parametrize("hasher", ["ITQ", "additive"])
def test_wrong_calls_leave_the_calibration(call, problem, hasher):
    index = HashedNeighbors(HASHERS[hasher]).fit(TRAIN).calibrate(HELD_OUT)
    before = index.drift(FRESH).p_value
    with pytest.raises(ValueError, match=problem):
        call(index)
    assert index.drift(FRESH).p_value == before


# Simulations


def mixture(n_rows, rng, n_clusters=8):
    """Rows of clusters; the last two of ten come in later."""
    centers = np.random.default_rng(0).normal(size=(10, 16))
    return centers[rng.integers(0, n_clusters, n_rows)] + 0.7 * rng.normal(
        size=(n_rows, 16)
    )


SIMULATED = {
    "additive": AdditiveHasher(32, max_iter=4, random_state=0),
    "ITQ": ITQHasher(12, random_state=0),
}


@pytest.fixture(scope="module", params=SIMULATED)
def simulated(request):
    """An index of 600 rows, and its training rows."""
    train = mixture(600, np.random.default_rng(1))
    return HashedNeighbors(SIMULATED[request.param]).fit(train), train


def rate_of_alarms(index, n_looks, incoming, alpha=0.01, held_out=None, n_rows=200):
    """Share of looks at so many rows that alarm, each with as many other held-out rows."""
    rng, n_alarms = np.random.default_rng(2), 0
    for _ in range(n_looks):
        index.calibrate(mixture(n_rows, rng) if held_out is None else held_out)
        n_alarms += index.drift(incoming(n_rows, rng), alpha).drifted
    return n_alarms / n_looks


@pytest.mark.slow
def test_false_alarms_are_as_rare_as_asked_for(simulated):
    """At most 1 % may alarm, but for 3 standard errors of the simulation."""
    index, _ = simulated
    assert rate_of_alarms(index, 1_000, mixture) < 0.01 + 3 * np.sqrt(0.01 / 1_000)
    rate = rate_of_alarms(index, 300, mixture, alpha=0.2)
    assert 0.05 < rate < 0.2 + 3 * np.sqrt(0.2 * 0.8 / 300)


SHIFTS = {
    "noise": lambda n, rng: mixture(n, rng) + 0.7 * rng.normal(size=(n, 16)),
    "moved": lambda n, rng: mixture(n, rng) + 0.7,
    "other clusters": lambda n, rng: mixture(n, rng, 10),
    "a quarter is noise": lambda n, rng: np.concatenate(
        (mixture(n - n // 4, rng), 3 * rng.normal(size=(n // 4, 16)))
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("shift", SHIFTS)
def test_shifted_rows_are_found(simulated, shift):
    index, _ = simulated
    assert rate_of_alarms(index, 50, SHIFTS[shift], n_rows=500) > 0.9


@pytest.mark.slow
def test_training_rows_calibrate_nothing(simulated):
    """They are encoded too well, so that fresh rows alarm more often than they may."""
    index, train = simulated
    assert rate_of_alarms(index, 100, mixture, held_out=train) > 0.03
