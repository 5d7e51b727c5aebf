"""A hasher is found at any depth of Pipelines, searches and frozen estimators."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from sklearn_talr._core.fitted_hasher import FittedHasher
from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity
from sklearn_talr.codes import weighted_scores
from sklearn_talr.hashing import (
    AdditiveHasher,
    ClassProbabilities,
    CrossViewHasher,
    ITQHasher,
    LSHHasher,
    TALRHasher,
)
from sklearn_talr.metrics import (
    RetrievalCurveDisplay,
    make_retrieval_scorer,
    retrieval_report_from_estimator,
    tie_aware_average_precision_score,
    tie_aware_ndcg_score,
)
from sklearn_talr.neighbors import (
    HashedNeighbors,
    ItemRanker,
    MaxSimNeighbors,
    n_bits_for_recall,
)

X, Y = (rows[:400] for rows in load_digits(return_X_y=True))
SCALED = StandardScaler().fit_transform(X)
REDUCED = PCA(16, random_state=0).fit_transform(SCALED)
ADDITIVE = AdditiveHasher(16, random_state=0)
SCORER = make_retrieval_scorer("AP")


def tail(hasher=ADDITIVE):
    return make_pipeline(PCA(16, random_state=0), hasher)


def search_over(estimator, kind=GridSearchCV):
    name = "additivehasher__n_bits"
    options = {"n_iter": 1, "random_state": 0} if kind is RandomizedSearchCV else {}
    return kind(estimator, {name: [16]}, scoring=SCORER, cv=2, **options)


FORMS = {
    "one Pipeline": lambda: make_pipeline(
        StandardScaler(), PCA(16, random_state=0), ADDITIVE
    ),
    "two levels": lambda: make_pipeline(StandardScaler(), tail()),
    "three levels": lambda: make_pipeline(make_pipeline(StandardScaler(), tail())),
    "a Pipeline as a step before": lambda: make_pipeline(
        make_pipeline(StandardScaler(), PCA(16, random_state=0)), ADDITIVE
    ),
    "frozen tail": lambda: make_pipeline(
        StandardScaler(), FrozenEstimator(tail().fit(SCALED))
    ),
    "frozen hasher": lambda: make_pipeline(
        StandardScaler(),
        PCA(16, random_state=0),
        FrozenEstimator(clone(ADDITIVE).fit(REDUCED)),
    ),
    "frozen twice": lambda: FrozenEstimator(
        FrozenEstimator(make_pipeline(StandardScaler(), tail()).fit(X, Y))
    ),
    "search as last step": lambda: make_pipeline(StandardScaler(), search_over(tail())),
    "random search": lambda: make_pipeline(
        StandardScaler(), search_over(tail(), RandomizedSearchCV)
    ),
    "search outside": lambda: GridSearchCV(
        make_pipeline(StandardScaler(), tail()),
        {"pipeline__additivehasher__n_bits": [16]},
        scoring=SCORER,
        cv=2,
    ),
    "frozen search": lambda: make_pipeline(
        StandardScaler(), FrozenEstimator(search_over(tail()).fit(SCALED, Y))
    ),
    "passthrough at last": lambda: make_pipeline(StandardScaler(), tail(), "passthrough"),
    "None at last": lambda: Pipeline(
        [("scale", StandardScaler()), ("off", None), ("tail", tail()), ("none", None)]
    ),
    "passthrough inside": lambda: make_pipeline(
        "passthrough", StandardScaler(), make_pipeline(tail(), "passthrough")
    ),
}


@pytest.fixture(params=FORMS, scope="module")
def fitted(request):
    return FORMS[request.param]().fit(X, Y)


@pytest.fixture(scope="module")
def by_hand():
    """Weights and codes, from one step after another."""
    hasher = clone(ADDITIVE).fit(REDUCED)
    return hasher.query_weights(REDUCED), hasher.encode(REDUCED)


def average_precision(weights, codes, y_query, y_database, exclude_self=True):
    true = (y_query[:, None] == y_database).astype(float)
    if exclude_self:
        np.fill_diagonal(true, np.nan)
    return tie_aware_average_precision_score(true, weighted_scores(weights, codes))


class TestFitted:
    def test_it_is_asked_by_its_weights(self, fitted, by_hand):
        assert SCORER.query_of(fitted) == "weights"
        expected = average_precision(*by_hand, Y, Y)
        assert_allclose(SCORER(fitted, X, Y), expected, rtol=1e-5)

    def test_reports_and_pictures(self, fitted, by_hand):
        pytest.importorskip("matplotlib").use("agg")
        weights, codes = by_hand
        half = slice(200), slice(200, None)
        sides = X[half[0]], Y[half[0]], X[half[1]], Y[half[1]]
        report = retrieval_report_from_estimator(fitted, *sides, measures="AP")
        expected = average_precision(
            weights[half[0]], codes[half[1]], Y[half[0]], Y[half[1]], exclude_self=False
        )
        assert_allclose(report["expected"]["AP"], expected, rtol=1e-5)
        display = RetrievalCurveDisplay.from_estimator(fitted, *sides)
        assert display.name == "AdditiveHasher, weighted queries"

    def test_the_index_holds_its_codes(self, fitted, by_hand):
        _, codes = by_hand
        index = HashedNeighbors(FrozenEstimator(fitted)).fit(X, Y)
        assert_array_equal(index.codes_.data, codes.data)
        assert index._fitted.hasher.query_form("auto") == "weights"
        tokens = MaxSimNeighbors(FrozenEstimator(fitted)).fit(X)
        assert tokens.kneighbors(X[:5], 1)[1].tolist() == [[0], [1], [2], [3], [4]]

    def test_blocks_of_dask(self, fitted, by_hand):
        pytest.importorskip("dask.array")
        import dask
        import dask.array as da

        from sklearn_talr.dask import encode

        parts = encode(fitted, da.from_array(X, chunks=(150, 64)))
        data = [part.data for part in dask.compute(*parts)]
        assert_array_equal(np.concatenate(data), by_hand[1].data)

    def test_files(self, fitted, tmp_path):
        skops = pytest.importorskip("skops.io")
        index = HashedNeighbors(FrozenEstimator(fitted), n_neighbors=3).fit(X, Y)
        index.save(tmp_path / "index")
        trusted = skops.get_untrusted_types(data=skops.dumps(fitted))
        other = HashedNeighbors.load(tmp_path / "index", trusted=trusted)
        assert_array_equal(other.kneighbors(X[:20])[1], index.kneighbors(X[:20])[1])
        assert other.n_features_in_ == 64


@pytest.mark.parametrize("name", FORMS)
def test_an_index_fits_it_at_any_depth(name, by_hand):
    index = HashedNeighbors(FORMS[name]()).fit(X, Y)
    assert_array_equal(index.codes_.data, by_hand[1].data)
    weights, codes = by_hand
    expected = average_precision(weights, codes, Y, Y, exclude_self=False)
    assert_allclose(index.score(X, Y), expected, rtol=1e-5)


@pytest.mark.parametrize("query", ["bits", "weights"])
def test_a_declared_query_counts(query):
    nested = make_pipeline(StandardScaler(), tail(ITQHasher(16, random_state=0))).fit(X)
    flat = ITQHasher(16, random_state=0).fit(REDUCED)
    scorer = make_retrieval_scorer("AP", query=query)
    assert_allclose(scorer(nested, X, Y), scorer(flat, REDUCED, Y))


class TestAffinity:
    def affinities(self):
        rng = np.random.default_rng(0)
        labels = (rng.random((200, 6)) < 0.3).astype(int)
        labels[:, 0] |= labels.sum(axis=1) == 0
        rows = labels @ rng.normal(size=(6, 16)) + rng.normal(size=(200, 16)) * 0.5
        one = np.where(rng.random(200) < 0.1, -1, labels.argmax(axis=1))
        return rows, [
            (SharedLabelAffinity(binary=True), labels),
            (LabelAffinity(ignored=-1), one),
            ("auto", None),
        ]

    def test_that_of_the_hasher_judges(self):
        rows, cases = self.affinities()
        scorer = make_retrieval_scorer("nDCG@20")
        for affinity, targets in cases:
            hasher = TALRHasher(
                8, loss="nDCG", affinity=affinity, max_iter=2, random_state=0
            )
            scaled = StandardScaler().fit_transform(rows)
            expected = scorer(clone(hasher).fit(scaled, targets), scaled, targets)
            inner = make_pipeline(FunctionTransformer(), hasher)
            nested = make_pipeline(StandardScaler(), inner, "passthrough").fit(
                rows, targets
            )
            assert_allclose(scorer(nested, rows, targets), expected)

    def test_an_index_takes_what_its_user_has_chosen(self):
        """So it does not refuse y that its hasher takes."""
        rows, cases = self.affinities()
        for affinity, targets in cases[:2]:
            hasher = TALRHasher(8, affinity=affinity, max_iter=2, random_state=0)
            index = HashedNeighbors(make_pipeline(StandardScaler(), hasher), scoring="nDCG")
            index.fit(rows[50:], targets[50:])
            codes = index.hasher_.transform(rows)
            true = index._fitted.hasher.hasher.affinity_
            distances = (codes[:50, None] != codes[50:]).sum(axis=2)
            grades = true(targets[:50], targets[50:]).astype(float)
            grades[grades < 0] = np.nan
            expected = tie_aware_ndcg_score(grades, -distances)
            assert_allclose(index.score(rows[:50], targets[:50]), expected)


class Wrapped(MetaEstimatorMixin, TransformerMixin, BaseEstimator):
    """An estimator around another one that nobody knows, as of other libraries."""

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y=None):
        self.estimator_ = clone(self.estimator).fit(X, y)
        return self

    def transform(self, X):
        return self.estimator_.transform(X)


class Declared(Wrapped):
    """One that has the methods of a hasher."""

    default_query = "weights"

    def encode(self, X):
        return self.estimator_.encode(X)

    def query_weights(self, X):
        return self.estimator_.query_weights(X)


class TestOtherEstimators:
    def test_a_hidden_hasher_has_two_readings(self):
        around = make_pipeline(StandardScaler(), Wrapped(ADDITIVE)).fit(X)
        for call in (
            lambda: SCORER(around, X, Y),
            lambda: SCORER.query_of(around),
            lambda: retrieval_report_from_estimator(around, X, Y, X, Y),
        ):
            with pytest.raises(TypeError, match=r"two readings.*estimator_.*query='bits'"):
                call()
        by_bits = make_retrieval_scorer("AP", query="bits")
        bits = clone(ADDITIVE).fit(SCALED).transform(SCALED)
        expected = by_bits(FunctionTransformer().fit(bits), bits, Y)
        assert_allclose(by_bits(around, X, Y), expected)

    def test_its_affinity_has_two_readings(self):
        hasher = TALRHasher(8, max_iter=1, random_state=0)
        around = Wrapped(hasher).fit(X, Y)
        with pytest.raises(TypeError, match=r"affinity='auto' has two.*affinity_"):
            SCORER(around, X, Y)
        scorer = make_retrieval_scorer("AP", affinity=around.estimator_.affinity_)
        assert_allclose(scorer(around, X, Y), SCORER(around.estimator_, X, Y))

    @pytest.mark.parametrize("kind", [HashedNeighbors, MaxSimNeighbors])
    def test_an_index_refuses_them(self, kind):
        with pytest.raises(
            TypeError, match=r"must be a hasher.*holds a hasher in `estimator`"
        ):
            kind(Wrapped(ADDITIVE)).fit(X)
        with pytest.raises(TypeError, match="must be a hasher"):
            kind(make_pipeline(StandardScaler(), PCA(2))).fit(X)
        with pytest.raises(TypeError, match="must be a Pipeline that ends in a hasher"):
            kind(make_pipeline("passthrough")).fit(X)
        with pytest.raises(
            TypeError, match=r"got the class AdditiveHasher.*AdditiveHasher\(\)"
        ):
            kind(AdditiveHasher).fit(X)
        with pytest.raises(ValueError, match="refit=True"):
            kind(search_over(tail()).set_params(refit=False)).fit(X, Y)

    def test_hashers_in_lists_and_methods(self):
        """Wherever an estimator holds one, its weights are not forgotten in silence."""
        fitted = clone(ADDITIVE).fit(X)
        both = FeatureUnion([("a", ADDITIVE), ("b", LSHHasher(8, random_state=0))]).fit(X)
        for around in (FunctionTransformer(fitted.transform).fit(X), both):
            with pytest.raises(TypeError, match=r"two readings"):
                SCORER(around, X, Y)
            assert make_retrieval_scorer("AP", query="bits")(around, X, Y) > 0.1

    def test_one_that_declares_itself_is_taken(self):
        around = make_pipeline(StandardScaler(), Declared(ADDITIVE)).fit(X)
        assert SCORER.query_of(around) == "weights"
        assert_allclose(
            SCORER(around, X, Y), SCORER(clone(ADDITIVE).fit(SCALED), SCALED, Y)
        )
        index = HashedNeighbors(Declared(ADDITIVE)).fit(X)
        assert_array_equal(index.codes_.data, clone(ADDITIVE).fit(X).encode(X).data)

    def test_bits_side_by_side_are_bits(self):
        union = FeatureUnion(
            [("a", LSHHasher(8, random_state=0)), ("b", ITQHasher(8))]
        ).fit(X)
        bits = union.transform(X)
        expected = SCORER(FunctionTransformer().fit(bits), bits, Y)
        assert_allclose(SCORER(union, X, Y), expected)

    def test_a_search_without_a_best_estimator(self):
        search = search_over(tail()).set_params(refit=False).fit(SCALED, Y)
        with pytest.raises(ValueError, match="refit=True"):
            SCORER(search, SCALED, Y)

    def test_an_index_is_no_hasher(self):
        index = HashedNeighbors(LSHHasher(8, random_state=0)).fit(X, Y)
        with pytest.raises(TypeError, match=r"index\.hasher_"):
            SCORER(index, X, Y)


class TestTeachersAtAnyDepth:
    """Items have probabilities of a classifier that has not seen them."""

    def codes(self):
        teacher = ClassProbabilities(GaussianNB(), cv=3)
        rows = teacher.fit_transform(SCALED, Y)
        return clone(ADDITIVE).fit(rows).encode(rows)

    @pytest.mark.parametrize("max_samples", [None, 400])
    def test_they_are_kept(self, max_samples):
        teacher = ClassProbabilities(GaussianNB(), cv=3)
        for pipeline in (
            make_pipeline(StandardScaler(), teacher, ADDITIVE),
            make_pipeline(
                StandardScaler(), make_pipeline(teacher, ADDITIVE), "passthrough"
            ),
            make_pipeline(
                make_pipeline(StandardScaler(), teacher), make_pipeline(ADDITIVE)
            ),
            make_pipeline(StandardScaler(), teacher, FrozenEstimator(self.hasher())),
        ):
            index = HashedNeighbors(pipeline, max_samples=max_samples).fit(X, Y)
            assert_array_equal(index.codes_.data, self.codes().data)
            assert len(index.hasher_.steps) == len(pipeline.steps)
            assert_array_equal(
                index.hasher_.transform(X[:5]), clone(pipeline).fit(X, Y).transform(X[:5])
            )

    def hasher(self):
        rows = ClassProbabilities(GaussianNB(), cv=3).fit_transform(SCALED, Y)
        return clone(ADDITIVE).fit(rows)

    def test_a_step_of_the_user_declares_itself(self):
        class Noisy(TransformerMixin, BaseEstimator):
            cross_fits = True

            def fit(self, X, y=None):
                return self

            def fit_transform(self, X, y=None):
                return X[:, ::-1]

            def transform(self, X):
                return X

        index = HashedNeighbors(make_pipeline(Noisy(), LSHHasher(8, random_state=0))).fit(X)
        reversed_columns = LSHHasher(8, random_state=0).fit(X[:, ::-1])
        assert_array_equal(index.codes_.data, reversed_columns.encode(X[:, ::-1]).data)

    def test_rows_that_are_lost_are_refused(self):
        class Lossy(TransformerMixin, BaseEstimator):
            cross_fits = True

            def fit(self, X, y=None):
                return self

            def fit_transform(self, X, y=None):
                return X[1:]

            def transform(self, X):
                return X

        with pytest.raises(
            ValueError, match=r"400 rows were passed to fit and 399 reached"
        ):
            HashedNeighbors(make_pipeline(Lossy(), LSHHasher(8, random_state=0))).fit(X)

    def test_a_step_that_shuffles_in_fit_alone(self):
        class Shuffling(TransformerMixin, BaseEstimator):
            def fit(self, X, y=None):
                return self

            def fit_transform(self, X, y=None):
                return X[::-1]

            def transform(self, X):
                return X

        index = HashedNeighbors(make_pipeline(Shuffling(), LSHHasher(8, random_state=0)))
        index.fit(X)
        assert_array_equal(index.codes_.data, index.hasher_[-1].encode(X).data)


class TestTwoViews:
    def ranked(self, hasher):
        ranker = ItemRanker(hasher, X[:200, :32], Y[:200])
        return ranker.fit(X[200:300, 32:], Y[200:300]).score(X[300:, 32:], Y[300:])

    def test_queries_reach_it_at_any_depth(self):
        hasher = CrossViewHasher(8, teacher=None, max_iter=2, random_state=0)
        expected = self.ranked(make_pipeline(StandardScaler(), hasher))
        for estimator in (
            make_pipeline(StandardScaler(), make_pipeline(hasher)),
            make_pipeline(make_pipeline(StandardScaler(), hasher), "passthrough"),
        ):
            assert_allclose(self.ranked(estimator), expected)
            with sklearn.config_context(enable_metadata_routing=True):
                assert_allclose(self.ranked(estimator), expected)
        flat = make_pipeline(StandardScaler(), clone(hasher))
        path = {
            "crossviewhasher__X_query": X[200:300, 32:],
            "crossviewhasher__y_query": Y[200:300],
        }
        flat.fit(X[:200, :32], Y[:200], **path)
        nested = make_pipeline(StandardScaler(), FrozenEstimator(flat[-1]))
        assert_allclose(self.ranked(nested), expected)


class TestLengths:
    def test_they_are_set_at_any_depth(self):
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(2400, 8))
        options = {"n_bits": [4, 32], "n_queries": 50, "n_neighbors": 2, "random_state": 0}
        flat = make_pipeline(StandardScaler(), ITQHasher(random_state=0))
        nested = make_pipeline(StandardScaler(), make_pipeline(ITQHasher(random_state=0)))
        want = n_bits_for_recall(HashedNeighbors(flat), rows, 0.01, n_train=200, **options)
        found = n_bits_for_recall(
            HashedNeighbors(nested), rows, 0.01, n_train=200, **options
        )
        assert_allclose(found.results["recall"], want.results["recall"])

    def test_a_frozen_one_keeps_its_length(self):
        fitted = ITQHasher(random_state=0).fit(X)
        frozen = make_pipeline(StandardScaler(), FrozenEstimator(fitted))
        with pytest.raises(ValueError, match="is frozen"):
            n_bits_for_recall(HashedNeighbors(frozen), X, 0.5, n_bits=[4])
        assert fitted.n_bits == 32


def test_graphs_of_onnx(tmp_path):
    pytest.importorskip("onnx")
    from sklearn_talr.export import to_onnx

    hasher = ITQHasher(8, random_state=0).fit(X)
    search = GridSearchCV(
        ITQHasher(8, random_state=0), {"n_bits": [8]}, scoring=SCORER, cv=2
    )
    to_onnx(hasher, tmp_path / "plain.onnx")
    for number, estimator in enumerate(
        (FrozenEstimator(hasher), make_pipeline("passthrough", hasher), search.fit(X, Y))
    ):
        to_onnx(estimator, tmp_path / f"{number}.onnx")
        graph = (tmp_path / f"{number}.onnx").read_bytes()
        assert graph == (tmp_path / "plain.onnx").read_bytes()
    with pytest.raises(TypeError, match="Export the last step of a Pipeline"):
        to_onnx(make_pipeline(StandardScaler(), hasher).fit(X), tmp_path / "no.onnx")


def test_a_frozen_hasher_is_not_touched():
    fitted = clone(ADDITIVE).fit(X)
    before = set(vars(fitted))
    for estimator in (
        FrozenEstimator(fitted),
        make_pipeline(FunctionTransformer(), FrozenEstimator(fitted)),
    ):
        HashedNeighbors(estimator).fit(X)
    assert set(vars(fitted)) == before
    search = search_over(tail())
    HashedNeighbors(search).fit(X, Y)
    assert set(vars(search.estimator[-1])) == set(vars(ADDITIVE))


def test_one_function_takes_estimators_apart():
    hasher = FittedHasher.from_estimator(
        make_pipeline(StandardScaler(), search_over(tail()))
    )
    assert type(hasher.hasher) is AdditiveHasher
    assert [type(step) for step in hasher.before] == [StandardScaler, PCA]
    assert hasher.names == ("gridsearchcv", "additivehasher")
    assert not hasher.is_frozen
