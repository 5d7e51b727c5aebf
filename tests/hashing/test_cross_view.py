"""CrossViewHasher: what is fitted in each way to call it, and what it learns."""

from functools import cache

import numpy as np
import pytest
import torch
from cross_view_cases import (
    LABELS,
    LONE_CLASSES,
    TEACHER,
    VARIANTS,
    WAYS,
    C,
    J,
    Q,
    X,
    Y,
    codes_of,
    every_variant,
    every_way,
    fit,
    queries_of,
    small,
)
from numpy.testing import assert_allclose, assert_array_equal
from reference import expected_average_precision_by_rank
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import ndcg_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from two_views import halves_of_digits

from sklearn_talr.affinity import (
    JudgmentAffinity,
    LabelAffinity,
    PrecomputedAffinity,
    SharedLabelAffinity,
)
from sklearn_talr.hashing import CrossViewHasher
from sklearn_talr.losses import ContrastiveLoss, DCMHLoss, NDCGLoss
from sklearn_talr.neighbors import HashedNeighbors

pytestmark = LONE_CLASSES
AFFINITIES = {
    "labels": LabelAffinity,
    "indicators": SharedLabelAffinity,
    "judgments": JudgmentAffinity,
    "partners": JudgmentAffinity,
    "same rows": LabelAffinity,
}


@parametrize_with_checks(
    [
        CrossViewHasher(8, max_iter=2),
        CrossViewHasher(8, max_iter=2, teacher=None, hidden_layer_sizes=4),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# What is fitted


@cache
def fitted(way, variant):
    """A fit that several tests look at."""
    return fit(way, **VARIANTS[variant])


@every_way
@every_variant
class TestEveryWay:
    def test_attributes(self, way, variant):
        hasher = fitted(way, variant)
        args, _ = WAYS[way]
        n_items, queries = len(args[0]), queries_of(way)
        assert type(hasher.affinity_) is AFFINITIES[way]
        assert hasher.has_query_view_ is (way != "same rows")
        assert hasher.default_query == hasher.query
        taught = hasher.teacher is not None and way != "partners"
        trained = not (taught and hasher.query == "weights")
        assert len(hasher.loss_curve_) == (2 if trained else 0)
        assert hasher.n_iter_ > 0
        assert hasattr(hasher, "coefs_") is not taught
        assert (hasher.teacher_ is not None) is taught
        assert (hasher.query_teacher_ is not None) is taught
        assert hasher.n_features_in_ == 32
        codes, codes_query = hasher.transform(args[0]), hasher.transform_query(queries)
        assert codes.shape == (n_items, 8)
        assert codes_query.shape == (len(queries), 8)
        assert codes.dtype == codes_query.dtype == np.uint8
        for found in (codes, codes_query):
            assert 0.05 < found.mean() < 0.95

    def test_hashers_of_each_view(self, way, variant):
        """They are hashers like any other, and the methods are theirs."""
        hasher = fitted(way, variant)
        items, queries = WAYS[way][0][0], queries_of(way)
        item, query = hasher.item_hasher_, hasher.query_hasher_
        for found, expected in (
            (hasher.transform(items), item.transform(items)),
            (hasher.decision_function(items), item.decision_function(items)),
            (hasher.encode(items).data, item.encode(items).data),
            (hasher.transform_query(queries), query.transform(queries)),
            (hasher.encode_query(queries).data, query.encode(queries).data),
            (hasher.query_weights(queries), query.query_weights(queries)),
        ):
            assert_array_equal(found, expected)
        assert hasher.query_weights(queries).dtype == np.float32
        names = hasher.get_feature_names_out().tolist()
        assert names == [f"crossviewhasher{i}" for i in range(8)]
        with config_context(working_memory=0.001):
            assert_array_equal(hasher.transform(items), item.transform(items))
            assert_array_equal(hasher.transform_query(queries), query.transform(queries))

    def test_score_is_above_chance_and_counts_ties(self, way, variant):
        hasher = fitted(way, variant)
        args, kwargs = WAYS[way]
        score = hasher.score(*args, **kwargs)
        assert_allclose(score, score_by_hand(hasher, way))


@every_way
@pytest.mark.parametrize("variant", ["taught", "weights of towers"])
def test_equal_seeds_give_equal_codes(way, variant):
    hasher = fit(way, random_state=3, **VARIANTS[variant])
    expected = codes_of(hasher, way)
    again = clone(hasher)
    assert not hasattr(again, "item_hasher_")
    args, kwargs = WAYS[way]
    for other in (again.fit(*args, **kwargs), hasher.fit(*args, **kwargs)):
        for found, wanted in zip(codes_of(other, way), expected):
            assert_array_equal(found, wanted)
    other = codes_of(fitted(way, variant), way)  # by another seed
    assert any(np.any(found != wanted) for found, wanted in zip(other, expected))


def relevance(way):
    """Who is relevant to whom, shape (n_queries, n_items); -1 is left out."""
    if way == "labels":
        return np.equal.outer(C, Y).astype(int)
    if way == "indicators":
        return (LABELS[C] @ LABELS[Y].T > 0).astype(int)
    if way == "judgments":
        return (J.toarray().T > 0).astype(int)
    if way == "partners":
        return np.eye(50, dtype=int)
    return np.where(np.eye(len(Y), dtype=bool), -1, np.equal.outer(Y, Y))


def score_by_hand(hasher, way):
    """Mean of the tie-aware average precision, as its definition has it, rank by rank."""
    codes, codes_query, weights = codes_of(hasher, way)
    if hasher.query == "weights" and hasher.teacher is not None and way != "partners":
        scorable = HashedNeighbors(hasher)  # words of several bits have factors
        args, kwargs = WAYS[way]
        scorable.fit(*args, **kwargs)
        if way == "same rows":
            return hasher.score(*args)  # of each row among the others
        y = {"judgments": J.T.tocsr()}.get(way, kwargs.get("y_query"))
        return scorable.score(Q, y)
    if hasher.query == "weights":
        scores = weights.astype(float) @ (2.0 * codes.T - 1)
        # Ties of float sums go by their values in single precision.
        scores = np.round(scores, 5)
    else:
        scores = -np.not_equal(codes_query[:, None], codes).sum(axis=2)
    values = []
    for of_query, relevant in zip(scores, relevance(way)):
        of_query, relevant = of_query[relevant >= 0], relevant[relevant >= 0]
        if not relevant.any():
            continue
        _, tie = np.unique(-of_query, return_inverse=True)
        sizes, n_relevant = np.bincount(tie), np.bincount(tie, relevant).astype(int)
        values.append(expected_average_precision_by_rank(sizes, n_relevant))
    return np.mean(values)


def test_ndcg_is_the_score_of_its_loss():
    """Without ties, of weights; grades have exponential gains."""
    hasher = fit("judgments", loss=NDCGLoss(), query="weights", teacher=None)
    scores = hasher.query_weights(Q) @ (2.0 * hasher.transform(X).T - 1)
    grades = J.toarray().T
    found = np.round(scores[grades.any(axis=1)], 5)
    gains = 2.0 ** grades[grades.any(axis=1)] - 1
    assert_allclose(hasher.score(X, J, X_query=Q), ndcg_score(gains, found), rtol=1e-4)


class TestFunctions:
    def test_hidden_layers_of_each_view(self):
        hasher = fit("judgments", teacher=None, hidden_layer_sizes=(7,))
        for view in (hasher.item_hasher_, hasher.query_hasher_):
            assert [coef.shape for coef in view.coefs_] == [(32, 7), (7, 8)]
        assert hasher.coefs_ is hasher.item_hasher_.coefs_
        hasher = small(teacher=None, hidden_layer_sizes=7, query_hidden_layer_sizes=(5, 6))
        hasher.fit(X, J, X_query=Q[:, :20])
        assert [coef.shape for coef in hasher.coefs_] == [(32, 7), (7, 8)]
        shapes = [coef.shape for coef in hasher.query_hasher_.coefs_]
        assert shapes == [(20, 5), (5, 6), (6, 8)]
        hasher.set_params(hidden_layer_sizes=(), query_hidden_layer_sizes=5)
        hasher.fit(X, J, X_query=Q)
        assert [coef.shape for coef in hasher.coefs_] == [(32, 8)]
        assert len(hasher.query_hasher_.coefs_) == 2

    @pytest.mark.parametrize("init", ["cca", "random"])
    def test_a_shared_function_serves_both_views(self, init):
        for way in ("labels", "judgments", "partners"):
            hasher = fit(way, teacher=None, shared=True, init=init)
            assert_array_equal(hasher.transform(Q), hasher.transform_query(Q))
        hasher = fit("judgments", shared=True, init=init)  # behind two teachers
        item, query = hasher.item_hasher_.hasher_, hasher.query_hasher_.hasher_
        assert_array_equal(item.coefs_[0], query.coefs_[0])
        two = fit("judgments", teacher=None, init=init)
        assert np.any(two.transform(Q) != two.transform_query(Q))

    def test_rows_that_are_queries_too_have_one_function(self):
        matrix = PrecomputedAffinity(np.equal.outer(Y, Y).astype(int))
        for y in (Y, LABELS[Y], matrix):
            for params in VARIANTS.values():
                hasher = small(**params).fit(X, y)
                assert_array_equal(hasher.transform(X), hasher.transform_query(X))

    @pytest.mark.parametrize("init", ["cca", "random"])
    def test_more_bits_than_features(self, init):
        hasher = small(n_bits=40, init=init, teacher=None)
        hasher.fit(X[:, :5], J, X_query=Q[:, :3])
        assert hasher.transform(X[:, :5]).shape == (160, 40)
        assert fit("labels", n_bits=1).transform(X).shape == (160, 1)


class TestTeachers:
    def test_any_classifier(self):
        hasher = fit("labels", teacher=TEACHER)
        assert type(hasher.teacher_.estimator_) is LogisticRegression
        assert hasher.teacher_ is not hasher.query_teacher_
        assert not hasattr(TEACHER, "classes_")
        expected = clone(TEACHER).fit(X, Y).transform(X)
        assert_allclose(hasher.teacher_.transform(X), expected)
        behind = hasher.item_hasher_.hasher_
        assert_array_equal(
            hasher.transform(X), behind.transform(hasher.teacher_.transform(X))
        )

    @pytest.mark.parametrize("way", ["judgments", "partners"])
    def test_classes_are_needed(self, way):
        with pytest.raises(
            ValueError, match=r"teacher needs labels.*Set teacher='auto' or"
        ):
            fit(way, teacher=TEACHER)


class TestLosses:
    @pytest.mark.parametrize(
        "loss",
        [
            NDCGLoss(),
            NDCGLoss(simplified=True),
            DCMHLoss(),
            ContrastiveLoss(),
            lambda q, x, affinity: ((q @ x.T / q.shape[1] - affinity) ** 2).mean(),
        ],
    )
    @every_way
    def test_each(self, way, loss):
        hasher = fit(way, loss=loss)
        assert np.all(np.isfinite(hasher.loss_curve_))
        assert 0 < hasher.score(*WAYS[way][0], **WAYS[way][1]) <= 1

    def test_a_function_sees_bits_and_affinities(self):
        seen = []

        def loss(query_bits, item_bits, affinity):
            seen.append((query_bits, item_bits, affinity))
            return (query_bits @ item_bits.T * affinity).mean()

        hasher = small(loss=loss, teacher=None, batch_size=20, bit_dropout=0.5, max_iter=3)
        hasher.fit(X, J, X_query=Q)
        n_having = np.count_nonzero(J.sum(axis=0))
        assert sum(len(q) for q, *_ in seen) == 3 * n_having
        for query_bits, item_bits, affinity in seen:
            assert affinity.shape == (len(query_bits), len(item_bits))
            assert query_bits.shape[1] == item_bits.shape[1] == 4
            assert affinity.dtype == torch.float32
            assert set(affinity.unique().tolist()) <= {0, 1, 2}
            assert (affinity > 0).any(dim=1).all()  # each brings a relevant item
            assert query_bits.abs().max() <= 1

    def test_unjudged_pairs_are_unknown_where_asked(self):
        seen = []

        def loss(query_bits, item_bits, affinity):
            seen.append(affinity.unique().tolist())
            return (query_bits @ item_bits.T * affinity).mean()

        for unjudged, expected in (("ignored", {-1, 0, 1, 2}), ("irrelevant", {0, 1, 2})):
            small(loss=loss, unjudged=unjudged).fit(X, J, X_query=Q)
            assert {value for values in seen for value in values} == expected
            seen.clear()
        small(loss=loss).fit(X, Y)
        assert {value for values in seen for value in values} == {-1, 0, 1}


@pytest.mark.parametrize("way", ["labels", "judgments"])
def test_training_and_teachers_help_new_queries(way, learned):
    """Training helps towers; teachers help more."""
    X, y, Q, c = halves_of_digits(300, 300)

    def data(rows):
        if way == "labels":
            return {"X": X, "y": y, "X_query": Q[rows], "y_query": c[rows]}
        grades = np.equal.outer(y, c[rows]).astype(int)
        return {"X": X, "y": grades, "X_query": Q[rows]}

    def score(**params):
        hasher = small(n_bits=16, max_iter=30, random_state=learned.seed, **params)
        return hasher.fit(**data(slice(150))).score(**data(slice(150, None)))

    start, towers = score(teacher=None, learning_rate_init=1e-9), score(teacher=None)
    learned.gain(towers - start, f"training, {way}")
    learned.gain(score() - towers, f"teachers, {way}")
