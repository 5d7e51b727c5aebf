"""A hasher together with its index, against the single steps."""

import re
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from hashers import HASHERS, name_of
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_talr import ITQHasher, LSHHasher, TALRHasher
from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity, ThresholdAffinity
from sklearn_talr.baselines import FastHasher
from sklearn_talr.hashing import AdditiveHasher, ClassProbabilities
from sklearn_talr.neighbors import (
    HammingNeighbors,
    HashedNeighbors,
    WeightedHammingNeighbors,
    rescore,
)

X, Y = load_digits(return_X_y=True)
DATABASE, QUERIES = slice(100, 500), slice(0, 40)
ITQ = ITQHasher(16, random_state=0)
ADDITIVE = AdditiveHasher(16, max_iter=3, random_state=0)
OF_WORDS = clone(ADDITIVE).set_params(method="bits")
OF_BYTES = clone(ADDITIVE).set_params(method="codebooks", metric="inner_product")


@pytest.mark.filterwarnings("ignore:X has . rows of zeros")
@parametrize_with_checks(
    [
        HashedNeighbors(ITQHasher(8, random_state=0)),
        HashedNeighbors(AdditiveHasher(8, max_iter=1, random_state=0), n_rescored=20),
        HashedNeighbors(make_pipeline(StandardScaler(), LSHHasher(8, random_state=0))),
    ]
)
def test_scikit_learn_finds_no_fault(estimator, check):
    check(estimator)


def by_hand(hasher, query, **params):
    """The single steps of a fit: the index, and the function that makes queries."""
    hasher = clone(hasher).fit(X[DATABASE], Y[DATABASE])
    index = {"bits": HammingNeighbors, "weights": WeightedHammingNeighbors}[query](**params)
    codes, ask = hasher.encode(X[DATABASE]), hasher.query_weights
    if query == "bits":
        codes, ask = hasher.transform(X[DATABASE]), hasher.transform
    return index.fit(codes, Y[DATABASE]), ask


def check_equal(found, expected):
    for one, other in zip(found, expected, strict=True):
        if one.dtype == object:
            check_equal(one, other)
        else:
            assert_array_equal(one, other)


@pytest.mark.parametrize("query", ["bits", "weights", "auto"])
@pytest.mark.parametrize(
    "hasher", [ITQ, ADDITIVE, OF_WORDS, OF_BYTES, TALRHasher(12, max_iter=1)], ids=str
)
def test_answers_are_those_of_the_single_steps(hasher, query):
    if isinstance(hasher, TALRHasher):
        hasher = clone(hasher).set_params(random_state=0)
    kind = query
    if query == "auto":
        kind = "weights" if isinstance(hasher, AdditiveHasher) else "bits"
    index, ask = by_hand(hasher, kind)
    hashed = HashedNeighbors(hasher, query=query).fit(X[DATABASE], Y[DATABASE])
    queries = X[QUERIES]
    check_equal(hashed.kneighbors(queries, 7), index.kneighbors(ask(queries), 7))
    check_equal(hashed.kneighbors(queries[:1], 7), index.kneighbors(ask(queries[:1]), 7))
    check_equal(hashed.rank(queries), index.rank(ask(queries)))
    assert_array_equal(hashed.predict(queries), index.predict(ask(queries)))
    assert hashed.score(queries, Y[QUERIES]) == index.score(ask(queries), Y[QUERIES])
    if not index.codes_.terms.n_terms and ask(queries).shape[1] == index.n_features_in_:
        radii = hashed.radius_neighbors(queries, 3), index.radius_neighbors(ask(queries), 3)
        check_equal(*radii)
    graph = hashed.kneighbors_graph(queries)
    assert_array_equal(graph.toarray(), index.kneighbors_graph(ask(queries)).toarray())


# What broke when weights were hidden in an array: each is now equal to the plain fit.


def test_words_of_eight_fit_the_items_of_an_index_more_closely():
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((40, 32))
    rows = centers[rng.integers(40, size=1_000)] + rng.standard_normal((1_000, 32))
    hasher = AdditiveHasher(64, random_state=0)
    alone = clone(hasher).fit(rows)
    own = HashedNeighbors(hasher).fit(rows).hasher_
    some = HashedNeighbors(hasher, max_samples=999, random_state=0).fit(rows).hasher_
    methods = [each.method_ for each in (alone, own, some)]
    assert methods == ["bits", "codebooks", "bits"]
    assert own.score(rows) > alone.score(rows) + 0.02
    assert own.fit(rows).method_ == "bits"  # what an index said holds for its own fit


def test_features_in_a_frame():
    pd = pytest.importorskip("pandas", reason="pandas is an optional extra")
    frame = pd.DataFrame(X[DATABASE]).add_prefix("pixel")
    index = HashedNeighbors(ITQ, n_rescored=30).fit(frame, Y[DATABASE])
    assert_array_equal(index.feature_names_in_, frame.columns)
    plain = HashedNeighbors(ITQ, n_rescored=30).fit(X[DATABASE], Y[DATABASE])
    check_equal(index.kneighbors(frame[:9]), plain.kneighbors(X[DATABASE][:9]))


def test_sparse_features():
    index = HashedNeighbors(ADDITIVE).fit(sp.csr_array(X[DATABASE]))
    dense = HashedNeighbors(ADDITIVE).fit(X[DATABASE])
    found = index.kneighbors(sp.csr_array(X[QUERIES]), return_distance=False)
    assert_array_equal(found, dense.kneighbors(X[QUERIES], return_distance=False))


class TestHasher:
    def test_a_frozen_one_stays_as_it_is(self):
        fitted = clone(ADDITIVE).fit(X[600:])
        pipeline = make_pipeline(StandardScaler(), ADDITIVE).fit(X[600:])
        scaled = pipeline[0].transform(X[DATABASE])
        for hasher, codes in (
            (fitted, fitted.encode(X[DATABASE])),
            (pipeline, pipeline[-1].encode(scaled)),
        ):
            index = HashedNeighbors(FrozenEstimator(hasher)).fit(X[DATABASE])
            assert_array_equal(index.codes_.data, codes.data)

    def test_rows_of_a_pipeline_are_hashed_as_they_reach_the_hasher(self):
        """Probabilities of training rows are those of others that have not seen these."""
        steps = ClassProbabilities(GaussianNB(), cv=3), ADDITIVE
        index = HashedNeighbors(make_pipeline(*steps)).fit(X[DATABASE], Y[DATABASE])
        rows = clone(steps[0]).fit_transform(X[DATABASE], Y[DATABASE])
        codes = clone(steps[1]).fit(rows).encode(rows)
        assert_array_equal(index.codes_.data, codes.data)

    def test_parameters_of_the_search_count_at_once(self):
        index = HashedNeighbors(ADDITIVE).fit(X[DATABASE], Y[DATABASE])
        by_bits = HashedNeighbors(ADDITIVE, query="bits").fit(X[DATABASE], Y[DATABASE])
        index.set_params(query="bits", n_neighbors=3)
        found = index.kneighbors(X[QUERIES])
        check_equal(found, by_bits.kneighbors(X[QUERIES], 3))


@pytest.mark.parametrize("hasher", [ITQ, ADDITIVE], ids=str)
class TestItems:
    def test_they_come_and_go(self, hasher):
        ids = np.array([f"photo {i}" for i in range(300)])
        index = HashedNeighbors(hasher).fit(X[:200], Y[:200], ids=ids[:200])
        index.add(X[200:300], Y[200:300], ids=ids[200:])
        index.remove(ids[[0, 5, 250]])
        rows, kept = (np.delete(each, [0, 5, 250]) for each in (np.arange(300), ids))
        frozen = FrozenEstimator(index.hasher_)
        other = HashedNeighbors(frozen).fit(X[rows], Y[rows])
        distances, indices = index.kneighbors(X[QUERIES])
        check_equal(
            (distances, indices), (distances, kept[other.kneighbors(X[QUERIES])[1]])
        )

    def test_a_refused_call_changes_nothing(self, hasher):
        index = HashedNeighbors(hasher, n_rescored=20).fit(X[:200], Y[:200])
        before = index.kneighbors(X[QUERIES])
        for message, refused in (
            ("9 features", lambda: index.add(X[:5, :9], Y[:5])),
            ("same number of samples", lambda: index.add(X[:5], Y[:4])),
            ("added with y", lambda: index.add(X[:5])),
            ("not in the database", lambda: index.remove([999])),
            ("0 sample", lambda: index.fit(X[:0], Y[:0])),
            ("ids must be one for each", lambda: index.fit(X[:5], Y[:5], ids=["a"])),
            ("3 features", lambda: index.kneighbors(X[:2, :3])),
        ):
            with pytest.raises(ValueError, match=message):
                refused()
            check_equal(index.kneighbors(X[QUERIES]), before)
        assert index.add(X[:5], Y[:5]).n_items_ == 205

    @pytest.mark.parametrize("n_rescored", [None, 25])
    def test_allowed_items_are_searched_as_a_database_of_their_own(
        self, hasher, n_rescored
    ):
        index = HashedNeighbors(hasher, n_rescored=n_rescored).fit(X[:300])
        include = np.sort(np.random.default_rng(0).choice(300, 60, replace=False))
        frozen = FrozenEstimator(index.hasher_)
        part = HashedNeighbors(frozen, n_rescored=n_rescored).fit(X[include])
        distances, indices = part.kneighbors(X[300:320], 5)
        found = index.kneighbors(X[300:320], 5, include=include)
        check_equal(found, (distances, include[indices]))
        mask = np.isin(np.arange(300), include)
        check_equal(index.kneighbors(X[300:320], 5, include=mask), found)

    def test_threads_ask_one_state(self, hasher):
        """Copies of the queries are added and removed: each answer has all or none."""
        index = HashedNeighbors(hasher, n_neighbors=1, n_rescored=5).fit(X[:100])
        queries, wrong, done = X[100:110], [], threading.Event()
        before = index.kneighbors(queries)[1][:, 0]

        def ask():
            while not done.is_set():
                distances, indices = index.kneighbors(queries)
                if not (distances == 0).all() and not np.array_equal(indices[:, 0], before):
                    wrong.append(indices)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(20):
            first = index.n_samples_fit_
            index.add(queries).remove(np.arange(first, first + 10))
        done.set()
        for thread in threads:
            thread.join()
        assert not wrong


class TestRescoring:
    def test_the_nearest_by_codes_are_put_in_order(self, tmp_path):
        np.save(tmp_path / "X.npy", X[DATABASE])
        mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
        for metric in ("euclidean", "inner_product"):
            params = {"n_rescored": 50, "rescore_metric": metric}
            index = HashedNeighbors(ITQ, **params).fit(mapped)
            plain = HashedNeighbors(ITQ).fit(X[DATABASE])
            candidates = plain.kneighbors(X[QUERIES], 50, return_distance=False)
            expected = rescore(
                X[QUERIES], X[DATABASE], candidates, metric=metric, n_neighbors=10
            )
            check_equal(index.kneighbors(X[QUERIES]), expected)

    def test_added_rows_are_found(self):
        index = HashedNeighbors(ITQ, n_neighbors=1, n_rescored=30)
        index.fit(X[:100], ids=range(-100, 0))
        for start in (100, 110, 120):
            index.add(X[start : start + 10], ids=range(start, start + 10))
        index.remove(np.arange(-100, -50))
        distances, indices = index.kneighbors(X[100:130])
        assert_array_equal(indices[:, 0], np.arange(100, 130))
        assert_array_equal(distances, 0)

    def test_what_it_cannot_do(self):
        index = HashedNeighbors(ITQ, n_rescored=30).fit(X[:100])
        with pytest.raises(ValueError, match="n_rescored"):
            index.kneighbors(X[:1], return_tied=True)
        with pytest.raises(ValueError, match="n_rescored"):
            HashedNeighbors(ITQ).fit(X[:100]).set_params(n_rescored=30).kneighbors(X[:1])
        with pytest.raises(ValueError, match="dense"):
            HashedNeighbors(ITQ, n_rescored=30).fit(sp.csr_array(X[:100]))
        with pytest.raises(ValueError, match="more than the 100 items"):
            index.kneighbors(X[:1], 101)


class Mystery(TransformerMixin, BaseEstimator):
    """A step that is no type of scikit-learn or of this package."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return X


def same(X):
    """A function that any program can import."""
    return X


class TestSamples:
    """The hasher is fitted to some of the rows, and all are encoded."""

    def test_so_many_rows_are_drawn(self):
        index = HashedNeighbors(ITQ, max_samples=200, random_state=3).fit(X)
        drawn = np.sort(np.random.RandomState(3).choice(len(X), 200, replace=False))
        hasher = clone(ITQ).fit(X[drawn])
        assert_array_equal(index.codes_, hasher.transform(X))
        assert index.n_items_ == len(X)
        again = clone(index).fit(X)
        assert_array_equal(again.codes_, index.codes_)

    @pytest.mark.parametrize("max_samples", [None, 20_000, len(X)])
    def test_few_rows_are_all_fitted(self, max_samples):
        index = HashedNeighbors(ITQ, max_samples=max_samples).fit(X)
        assert_array_equal(index.codes_, clone(ITQ).fit_transform(X))

    def test_targets_are_drawn_with_their_rows(self):
        hasher = TALRHasher(8, max_iter=1, random_state=0)
        index = HashedNeighbors(hasher, max_samples=100, random_state=0).fit(X, Y)
        drawn = np.sort(np.random.RandomState(0).choice(len(X), 100, replace=False))
        assert_array_equal(index.codes_, clone(hasher).fit(X[drawn], Y[drawn]).transform(X))


class TestFiles:
    skops = pytest.importorskip("skops.io", reason="skops is an optional extra")

    @pytest.mark.parametrize("mmap", [False, True])
    @pytest.mark.parametrize(
        "hasher",
        [
            ITQ,
            ADDITIVE,
            OF_WORDS,
            OF_BYTES,
            make_pipeline(StandardScaler(), ADDITIVE),
            make_pipeline(ClassProbabilities(LogisticRegression()), ADDITIVE),
            TALRHasher(8, max_iter=1, random_state=0),
        ],
        ids=lambda hasher: type(hasher).__name__,
    )
    def test_one_file_holds_both(self, hasher, mmap, tmp_path):
        path = tmp_path / "service"
        index = HashedNeighbors(hasher, n_neighbors=3).fit(X[DATABASE], Y[DATABASE])
        index.save(path)
        loaded = HashedNeighbors.load(path, mmap=mmap)
        check_equal(loaded.kneighbors(X[QUERIES]), index.kneighbors(X[QUERIES]))
        assert loaded.score(X[QUERIES], Y[QUERIES]) == index.score(X[QUERIES], Y[QUERIES])
        for each in (index, loaded):
            each.add(X[:5], Y[:5]).remove([1])
        check_equal(loaded.kneighbors(X[QUERIES]), index.kneighbors(X[QUERIES]))
        assert loaded.get_params().keys() == index.get_params().keys()
        assert not hasattr(loaded.hasher, "n_features_in_")

    def test_features_are_given_again(self, tmp_path):
        path = tmp_path / "service"
        index = HashedNeighbors(ITQ, n_rescored=20).fit(X[:90]).add(X[90:100])
        index.save(path)
        with pytest.raises(ValueError, match=r"load\(path, features"):
            HashedNeighbors.load(path).kneighbors(X[:1])
        with pytest.raises(ValueError, match="features has 90 rows for the 100"):
            HashedNeighbors.load(path, features=X[:90])
        loaded = HashedNeighbors.load(path, features=X[:100]).add(X[100:110])
        index.add(X[100:110])
        check_equal(loaded.kneighbors(X[QUERIES]), index.kneighbors(X[QUERIES]))

    def test_other_types_need_trust(self, tmp_path):
        path = tmp_path / "service"
        HashedNeighbors(make_pipeline(Mystery(), ITQ)).fit(X[:100]).save(path)
        name = f"{Mystery.__module__}.Mystery"
        with pytest.raises(ValueError, match=name):
            HashedNeighbors.load(path)
        assert HashedNeighbors.load(path, trusted=[name]).n_items_ == 100

    @pytest.mark.parametrize("hasher", HASHERS, ids=name_of)
    def test_hashers_need_no_trust_but_for_trees(self, hasher, tmp_path):
        path = tmp_path / "service"
        index = HashedNeighbors(hasher).fit(X[:100], Y[:100])
        index.save(path)
        trusted = []
        if isinstance(hasher, FastHasher):
            with pytest.raises(ValueError, match="trusted=") as error:
                HashedNeighbors.load(path)
            trusted = re.findall(r"'(sklearn\.[\w.]+TreePredictor)'\]\.$", str(error.value))
        loaded = HashedNeighbors.load(path, trusted=trusted)
        check_equal(loaded.kneighbors(X[QUERIES]), index.kneighbors(X[QUERIES]))

    @pytest.mark.parametrize("name", ["<lambda>", "nowhere", "same"])
    def test_functions_that_cannot_be_imported_are_refused(self, name, tmp_path):
        """Also where a module has another function of that name."""

        def function(X):
            return X

        function.__name__ = name
        path = tmp_path / "service"
        pipeline = make_pipeline(FunctionTransformer(function), ITQ)
        HashedNeighbors(ITQ).fit(X[:100]).save(path)
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(ValueError, match=r"(?s)functiontransformer__func.*importable"):
            HashedNeighbors(pipeline).fit(X[:100]).save(path)
        with pytest.raises(ValueError, match=r"(?s)estimator__functiontransformer__func"):
            HashedNeighbors(FrozenEstimator(pipeline.fit(X))).fit(X[:100]).save(path)
        assert sorted(tmp_path.rglob("*")) == before

    def test_the_step_that_cannot_be_saved_is_named(self, tmp_path):
        columns = ColumnTransformer([("all", FunctionTransformer(lambda X: X), slice(64))])
        index = HashedNeighbors(make_pipeline(columns, ITQ)).fit(X[:100])
        with pytest.raises(ValueError, match="parameter columntransformer__"):
            index.save(tmp_path / "service")

    def test_a_torch_module_is_refused(self, tmp_path):
        torch = pytest.importorskip("torch")
        hasher = TALRHasher(8, module=torch.nn.Linear(64, 8), max_iter=1)
        for estimator, name in (
            (hasher, "module"),
            (make_pipeline(StandardScaler(), hasher), "talrhasher__module"),
        ):
            features = X[:100].astype(np.float32)
            index = HashedNeighbors(estimator).fit(features, Y[:100])
            with pytest.raises(ValueError, match=f"parameter {name} .*HammingNeighbors"):
                index.save(tmp_path / "service")
        assert list(tmp_path.iterdir()) == []
        HammingNeighbors().fit(index.codes_).save(tmp_path / "codes")


class Untouched(LSHHasher):
    """A hasher that must not be fitted."""

    def fit(self, X, y=None):
        raise AssertionError("the hasher has taken its time")


class TestRefusedBeforeTheFit:
    """What can be seen beforehand is refused before the hasher takes its time."""

    @pytest.mark.parametrize(
        ("params", "y", "message"),
        [
            ({}, np.linspace(0, 1, 50), "values of a quantity"),
            ({}, np.arange(49), "same number of samples"),
            ({}, np.array([None, *np.arange(49)]), "every sample needs a label"),
            ({}, np.eye(50)[:, :1] - 1.5, "values of a quantity"),
            ({"affinity": LabelAffinity()}, np.eye(50, 3), r"y|labels"),
            ({"affinity": SharedLabelAffinity()}, np.full((50, 3), 0.5), r"y|label"),
        ],
    )
    @pytest.mark.parametrize("depth", [1, 2])
    def test_targets(self, params, y, message, depth):
        hasher = Untouched(4)
        hasher = hasher if depth == 1 else make_pipeline(StandardScaler(), hasher)
        index = HashedNeighbors(hasher, **params)
        with pytest.raises(ValueError, match=message):
            index.fit(X[:50], y)
        assert not hasattr(index, "n_items_")

    def test_targets_that_the_hasher_takes(self):
        """Its user has chosen an affinity, which the index then judges by, too."""
        y = np.where(np.arange(60) % 6, np.arange(60) % 3, -1)
        hasher = TALRHasher(
            8, affinity=LabelAffinity(ignored=-1), max_iter=1, random_state=0
        )
        index = HashedNeighbors(hasher).fit(X[:60], y)
        assert isinstance(index.affinity_, LabelAffinity)
        assert 0 < index.score(X[60:90], np.arange(30) % 3) < 1
        quantities = np.linspace(0, 1, 60)
        near = ThresholdAffinity(quantiles=(0.2,), levels=(1,))
        hasher.set_params(affinity=near)
        index = HashedNeighbors(hasher).fit(X[:60], quantities)
        assert 0 < index.score(X[:60], quantities) < 1
        with pytest.raises(ValueError, match="labels of -1"):
            HashedNeighbors(Untouched(8)).fit(X[:60], y)


@pytest.mark.parametrize("method", ["fit", "add", "kneighbors", "rank", "score"])
def test_codes_are_no_features(method):
    index = HashedNeighbors(LSHHasher(64, random_state=0)).fit(X[:50], Y[:50])
    codes, before = index.hasher_.encode(X[:50]), index.kneighbors(X[:5])
    targets = () if method in ("kneighbors", "rank") else (Y[:50],)
    with pytest.raises(
        ValueError, match=r"X are codes.*features are needed.*HammingNeighbors"
    ):
        getattr(index, method)(codes, *targets)
    check_equal(index.kneighbors(X[:5]), before)
