"""Axes, bits or codebooks: what "auto" takes, and that it is what its method makes."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from sklearn_talr._core.progress import Progress
from sklearn_talr.hashing import AdditiveHasher
from sklearn_talr.hashing._words import AdditiveModel
from sklearn_talr.hashing._words_choice import best_model, methods_to_fit
from sklearn_talr.hashing._words_fit import WORD_ITERATIONS, CodeSettings, choose_frame
from sklearn_talr.neighbors import HashedNeighbors

METHODS = ["axes", "bits", "codebooks"]


class Judged(NamedTuple):
    """What the choice looks at of a model."""

    method: str
    error: float | None


def rows_of(n_rows, n_features, seed=0, n_clusters=None):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    if n_clusters is not None:
        centers = rng.standard_normal((n_clusters, n_features))
        X = centers[rng.integers(n_clusters, size=n_rows)] + 0.1 * X
    return X


def methods_of(X, n_bits, metric="cosine", *, are_items=False):
    """Methods that would be fitted to features in random order."""
    frame = choose_frame(X, metric, n_bits)
    rows, _ = frame.split(X)
    settings = CodeSettings(n_bits, "auto", 3, None)
    rng = np.random.RandomState(0)
    return methods_to_fit(frame, rows, settings, rng, are_items=are_items)


@pytest.mark.parametrize("metric", ["cosine", "inner_product", "euclidean"])
def test_of_many_bits_a_dimension_axes_alone_are_fitted(metric):
    assert methods_of(rows_of(1_200, 8), 32, metric) == ["axes"]
    assert methods_of(rows_of(1_200, 8), 31, metric) == ["axes"]
    assert methods_of(rows_of(120, 4), 24, metric) == ["axes"]
    # These have 8 bits each, and more would stand for nothing
    assert methods_of(rows_of(60, 2), 17, metric) == ["axes"]
    # Codebooks of more than 256 bits are not tried, and axes lead
    assert methods_of(rows_of(1_200, 40), 320, metric) == ["axes"]


def test_of_few_bits_axes_are_not_fitted_to_all_rows():
    X = rows_of(1_200, 64, n_clusters=20)
    assert methods_of(X, 16) == ["codebooks", "bits"]
    assert methods_of(X, 15) == ["bits"]
    assert methods_of(X[:999], 16) == ["bits"]
    assert methods_of(X[:49], 512) == ["bits"]


def test_axes_that_find_fewer_neighbors_are_not_kept_for_less_error(monkeypatch):
    """Neighbors differ from each other along axes that get no bits."""
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((20, 6))
    groups = rng.integers(20, size=1_200)
    fine = 0.15 * rng.standard_normal((1_200, 120))
    X = np.hstack([4 * centers[groups], fine])
    assert methods_of(X, 40) == ["codebooks", "bits"]
    monkeypatch.setattr(AdditiveModel, "recall_of_directions", lambda *model_and_rows: 1.0)
    assert methods_of(X, 40) == ["codebooks", "bits", "axes"]


def test_in_long_codes_axes_that_find_more_neighbors_are_fitted_alone():
    """Codebooks that are fitted to the items may find more than both."""
    scales = np.exp(-np.arange(96) / 64)
    X = rows_of(3_000, 96) * scales
    assert methods_of(X, 248) == ["axes"]
    assert methods_of(X, 248, are_items=True) == ["codebooks", "bits", "axes"]
    # Recall of few rows is decided by chance
    assert methods_of(X[:2_999], 248) == ["codebooks", "bits", "axes"]
    # Short codebooks are fitted in seconds, and are often better than both
    assert methods_of(X, 120) != ["axes"]


def test_recall_of_directions_is_that_of_the_definition():
    X = rows_of(60, 5)
    hasher = AdditiveHasher(8, method="bits", metric="euclidean", random_state=0).fit(X)
    model = hasher._model_
    rows, _ = model.frame.split(X)
    sums = (2.0 * hasher.transform(X) - 1) @ model.vectors
    sums /= np.linalg.norm(sums, axis=1, keepdims=True)
    n_found = 0
    for row in range(60):
        others = [other for other in range(60) if other != row]
        true = sorted(others, key=lambda other: -(rows[row] @ rows[other]))[:3]
        found = sorted(others, key=lambda other: -(rows[row] @ sums[other]))[:3]
        n_found += len(set(true) & set(found))
    recall = model.recall_of_directions(rows, 3)
    assert recall == pytest.approx(n_found / 180, abs=0.03)  # but for codes that are equal


def test_items_of_an_index_have_codebooks_unless_axes_lead_by_more():
    X = rows_of(1_200, 8)
    lengths = range(8, 64, 8)
    leads = [n for n in lengths if methods_of(X, n) == ["axes"]]
    leads_of_items = [n for n in lengths if methods_of(X, n, are_items=True) == ["axes"]]
    assert leads_of_items
    assert min(leads) < min(leads_of_items)


@pytest.mark.parametrize(
    ("X", "n_bits", "method"),
    [
        (rows_of(1_200, 6), 40, "axes"),
        (load_digits().data[:300], 16, "bits"),
        (rows_of(1_200, 32, n_clusters=30), 16, "codebooks"),
    ],
    ids=METHODS,
)
def test_auto_makes_what_its_method_makes(X, n_bits, method):
    params = {"n_bits": n_bits, "max_iter": 2, "random_state": 3}
    auto = AdditiveHasher(**params).fit(X)
    assert auto.method_ == method
    alone = AdditiveHasher(**params, method=method).fit(X)
    assert_array_equal(auto.query_coef_, alone.query_coef_)
    assert_array_equal(auto.encode(X).data, alone.encode(X).data)
    assert_array_equal(auto.encode(X).terms.values, alone.encode(X).terms.values)
    assert auto.n_iter_ >= alone.n_iter_


@pytest.mark.parametrize("n_features", [1, 2, 4])
@pytest.mark.parametrize("metric", ["inner_product", "euclidean"])
def test_few_dimensions_and_a_constant_one(n_features, metric):
    """Factors that are far apart are told badly by a byte, which the choice looks at."""
    X = np.column_stack([rows_of(1_800, n_features), np.full(1_800, 3.0)])
    params = {"n_bits": 16, "metric": metric, "random_state": 0}
    auto = AdditiveHasher(**params).fit(X[:1_200])
    recalls = []
    for method in METHODS:
        hasher = AdditiveHasher(**params, method=method).fit(X[:1_200])
        recalls.append(hasher.score(X[1_200:]))
    assert auto.score(X[1_200:]) > max(recalls) - 0.02


def test_factors_of_codes_are_told_to_within_their_error():
    """Twice the error is the mean square of what rounding does to factors, relatively."""
    X = rows_of(2_000, 3)
    hasher = AdditiveHasher(24, method="bits", metric="euclidean", random_state=0).fit(X)
    model = hasher._model_
    data = hasher.encode(X).data
    factors = model.factors.of(data)
    kept_factors = model.rule.table[model.rule.steps_of(factors)]
    squares = (kept_factors / factors - 1) ** 2
    assert 2 * model.factor_error == pytest.approx(squares.mean(), rel=0.15)


def test_the_least_error_is_kept_over_what_a_method_is_allowed():
    bits, axes = Judged("bits", 0.2), Judged("axes", 0.19)
    assert best_model([bits, axes], "cosine", are_items=False) is axes
    less, more = Judged("codebooks", 0.198), Judged("codebooks", 0.4)
    for metric, method in (
        ("cosine", "codebooks"),
        ("inner_product", "bits"),
        ("euclidean", "bits"),
    ):
        assert best_model([less, bits], metric, are_items=False).method == method
        assert best_model([less, bits, axes], metric, are_items=True) is less
        assert best_model([more, bits], metric, are_items=True) is bits
    # An interrupt leaves a model that nobody has judged
    unjudged = Judged("bits", None)
    assert best_model([more, unjudged], "cosine", are_items=False) is more
    assert best_model([unjudged], "cosine", are_items=False) is unjudged


def test_iterations_of_codebooks_come_first_and_are_the_long_ones(monkeypatch):
    made, make = [], AdditiveHasher._progress
    monkeypatch.setattr(
        AdditiveHasher, "_progress", lambda *how: made.append(make(*how)) or made[-1]
    )
    X = rows_of(1_000, 12)
    hasher = AdditiveHasher(16, random_state=0).fit(X)
    assert made[0].n_alike == WORD_ITERATIONS
    assert hasher.n_iter_ > WORD_ITERATIONS
    hasher.set_params(n_bits=64).fit(X)
    assert (hasher.method_, hasher.n_iter_, made[1].n_alike) == ("axes", 1, 1)


def test_ctrl_c_keeps_codebooks_and_compares_nothing_more(monkeypatch):
    begin, n_begun = Progress.begin, []

    def interrupted(progress):
        begin(progress)
        if progress._estimator is not None:
            n_begun.append(progress)
            if len(n_begun) == 2:
                raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "begin", interrupted)
    X = rows_of(1_000, 32, n_clusters=30)
    with pytest.warns(ConvergenceWarning, match="interrupted after 1 of"):
        hasher = AdditiveHasher(16, random_state=0).fit(X)
    assert (hasher.method_, hasher.n_iter_) == ("codebooks", 1)


@pytest.mark.parametrize("name", ["word_size", "words"])
def test_names_of_other_choices_are_refused(name):
    X = rows_of(20, 4)
    with pytest.raises(TypeError, match="unexpected keyword argument 'word_size'"):
        AdditiveHasher(8, word_size=8)
    for method in (name, 8, None):
        with pytest.raises(ValueError, match="The 'method' parameter of AdditiveHasher"):
            AdditiveHasher(8, method=method).fit(X)
    with pytest.raises(ValueError, match="The 'max_iter' parameter of AdditiveHasher"):
        AdditiveHasher(8, max_iter=0).fit(X)


@pytest.mark.parametrize("method", METHODS)
def test_indexes_of_all_methods_are_saved_and_searched(method, tmp_path):
    X = load_digits().data[:300]
    hasher = AdditiveHasher(32, method=method, max_iter=2, random_state=0)
    index = HashedNeighbors(hasher, n_neighbors=5).fit(X)
    index.save(tmp_path / "index")
    loaded = HashedNeighbors.load(tmp_path / "index")
    assert loaded.hasher_.method_ == method
    for found, expected in zip(loaded.kneighbors(X[:20]), index.kneighbors(X[:20])):
        assert_array_equal(found, expected)
