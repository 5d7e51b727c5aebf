"""A hasher together with its index, against the single steps."""

import io
import pickle
import re
import sys
import threading
import tracemalloc
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from hashers import HASHERS, name_of
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_talr import ITQHasher, LSHHasher, TALRHasher
from sklearn_talr.baselines import FastHasher
from sklearn_talr.hashing import AdditiveHasher, ClassProbabilities
from sklearn_talr.metrics import (
    RetrievalCurveDisplay,
    make_retrieval_scorer,
    retrieval_report_from_estimator,
)
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
OF_WORDS = clone(ADDITIVE).set_params(word_size=1)
OF_BYTES = clone(ADDITIVE).set_params(word_size=8, metric="inner_product")


@parametrize_with_checks(
    [
        HashedNeighbors(ITQHasher(8, random_state=0)),
        HashedNeighbors(AdditiveHasher(8, random_state=0), n_rescored=20),
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
    if index.codes_.terms is None and ask(queries).shape[1] == index.n_features_in_:
        radii = hashed.radius_neighbors(queries, 3), index.radius_neighbors(ask(queries), 3)
        check_equal(*radii)
    graph = hashed.kneighbors_graph(queries)
    assert_array_equal(graph.toarray(), index.kneighbors_graph(ask(queries)).toarray())


# What broke when weights were hidden in an array: each is now equal to the plain fit.


@pytest.fixture(scope="module")
def expected():
    hasher = make_pipeline(StandardScaler(), ADDITIVE)
    return HashedNeighbors(hasher).fit(X[DATABASE], Y[DATABASE]).kneighbors(X[QUERIES])


def test_a_cached_pipeline(expected, tmp_path):
    hasher = make_pipeline(StandardScaler(), ADDITIVE, memory=str(tmp_path))
    for _ in range(2):
        index = HashedNeighbors(hasher).fit(X[DATABASE], Y[DATABASE])
        check_equal(index.kneighbors(X[QUERIES]), expected)


def test_frames_between_the_steps(expected):
    pytest.importorskip("pandas", reason="pandas is an optional extra")
    hasher = make_pipeline(StandardScaler(), ADDITIVE).set_output(transform="pandas")
    index = HashedNeighbors(hasher).fit(X[DATABASE], Y[DATABASE])
    check_equal(index.kneighbors(X[QUERIES]), expected)


def test_features_in_a_frame():
    pd = pytest.importorskip("pandas", reason="pandas is an optional extra")
    frame = pd.DataFrame(X[DATABASE]).add_prefix("pixel")
    index = HashedNeighbors(ITQ, n_rescored=30).fit(frame, Y[DATABASE])
    assert_array_equal(index.feature_names_in_, frame.columns)
    plain = HashedNeighbors(ITQ, n_rescored=30).fit(X[DATABASE], Y[DATABASE])
    check_equal(index.kneighbors(frame[:9]), plain.kneighbors(X[DATABASE][:9]))


def test_a_small_working_memory(expected):
    with config_context(working_memory=0.001):
        hasher = make_pipeline(StandardScaler(), ADDITIVE)
        index = HashedNeighbors(hasher).fit(X[DATABASE], Y[DATABASE])
        check_equal(index.kneighbors(X[QUERIES]), expected)


def test_as_many_features_as_bits():
    """Features can no longer stand where weights belong."""
    hasher = AdditiveHasher(64, max_iter=3, random_state=0)
    index = HashedNeighbors(hasher, n_neighbors=1).fit(X[DATABASE])
    assert np.mean(index.kneighbors(X[DATABASE])[1][:, 0] == np.arange(400)) > 0.9


def test_sparse_features():
    index = HashedNeighbors(ADDITIVE).fit(sp.csr_array(X[DATABASE]))
    dense = HashedNeighbors(ADDITIVE).fit(X[DATABASE])
    found = index.kneighbors(sp.csr_array(X[QUERIES]), return_distance=False)
    assert_array_equal(found, dense.kneighbors(X[QUERIES], return_distance=False))


class TestHasher:
    def test_it_is_cloned(self):
        hasher = clone(ITQ)
        index = HashedNeighbors(hasher).fit(X[DATABASE])
        assert not hasattr(hasher, "coefs_")
        assert index.hasher_.n_features_in_ == index.n_features_in_ == 64

    def test_a_frozen_one_stays_as_it_is(self):
        fitted = clone(ADDITIVE).fit(X[600:])
        pipeline = make_pipeline(StandardScaler(), ADDITIVE).fit(X[600:])
        for hasher in (fitted, pipeline):
            index = HashedNeighbors(FrozenEstimator(hasher)).fit(X[DATABASE])
            codes = FittedParts(hasher).encode(X[DATABASE])
            assert_array_equal(index.codes_.data, codes.data)

    def test_rows_of_a_pipeline_are_hashed_as_they_reach_the_hasher(self):
        """Probabilities of training rows are those of others that have not seen these."""
        steps = ClassProbabilities(GaussianNB(), cv=3), ADDITIVE
        index = HashedNeighbors(make_pipeline(*steps)).fit(X[DATABASE], Y[DATABASE])
        rows = clone(steps[0]).fit_transform(X[DATABASE], Y[DATABASE])
        codes = clone(steps[1]).fit(rows).encode(rows)
        assert_array_equal(index.codes_.data, codes.data)

    def test_lengths_and_hashers_are_searched_over(self):
        grid = {"hasher": [ITQ, ADDITIVE], "hasher__n_bits": [2, 16]}
        search = GridSearchCV(HashedNeighbors(ITQ), grid, cv=2).fit(X[:300], Y[:300])
        assert search.best_params_["hasher__n_bits"] == 16
        assert search.best_score_ == search.cv_results_["mean_test_score"].max()

    def test_parameters_of_the_search_count_at_once(self):
        index = HashedNeighbors(ADDITIVE).fit(X[DATABASE], Y[DATABASE])
        by_bits = HashedNeighbors(ADDITIVE, query="bits").fit(X[DATABASE], Y[DATABASE])
        index.set_params(query="bits", n_neighbors=3)
        found = index.kneighbors(X[QUERIES])
        check_equal(found, by_bits.kneighbors(X[QUERIES], 3))

    def test_a_scaler_is_none(self):
        for estimator in (StandardScaler(), make_pipeline(StandardScaler())):
            with pytest.raises(TypeError, match="with a method `encode`"):
                HashedNeighbors(estimator).fit(X, Y)

    def test_weights_are_routed(self):
        weights = np.where(Y < 5, 1.0, 0.1)
        with sklearn.config_context(enable_metadata_routing=True):
            classifier = GaussianNB().set_fit_request(sample_weight=True)
            hasher = make_pipeline(ClassProbabilities(classifier), ADDITIVE)
            index = HashedNeighbors(hasher).fit(X, Y, sample_weight=weights)
        transformer = ClassProbabilities(GaussianNB()).fit(X, Y, sample_weight=weights)
        rows = transformer.transform(X)
        assert_array_equal(index.codes_.data, clone(ADDITIVE).fit(rows).encode(rows).data)


class FittedParts:
    """Steps of a fitted hasher or Pipeline, by hand."""

    def __init__(self, estimator):
        steps = list(estimator) if isinstance(estimator, Pipeline) else [estimator]
        *self.before, self.hasher = steps

    def encode(self, X):
        for step in self.before:
            X = step.transform(X)
        return self.hasher.encode(X)


@pytest.mark.parametrize("hasher", [ITQ, ADDITIVE], ids=str)
class TestItems:
    def test_they_come_and_go(self, hasher):
        index = HashedNeighbors(hasher).fit(X[:200], Y[:200])
        index.partial_fit(X[200:300], Y[200:300]).remove([0, 5, 250])
        assert index.n_items_ == 297
        kept = np.delete(np.arange(300), [0, 5, 250])
        frozen = FrozenEstimator(index.hasher_)
        other = HashedNeighbors(frozen).fit(X[kept], Y[kept])
        distances, indices = index.kneighbors(X[QUERIES])
        check_equal(
            (distances, indices), (distances, kept[other.kneighbors(X[QUERIES])[1]])
        )

    def test_a_refused_call_changes_nothing(self, hasher):
        index = HashedNeighbors(hasher, n_rescored=20).fit(X[:200], Y[:200])
        before = index.kneighbors(X[QUERIES])
        for message, refused in (
            ("9 features", lambda: index.partial_fit(X[:5, :9], Y[:5])),
            ("same number of samples", lambda: index.partial_fit(X[:5], Y[:4])),
            ("added with y", lambda: index.partial_fit(X[:5])),
            ("not in the database", lambda: index.remove([999])),
            ("0 sample", lambda: index.fit(X[:0], Y[:0])),
            ("3 features", lambda: index.kneighbors(X[:2, :3])),
        ):
            with pytest.raises(ValueError, match=message):
                refused()
            check_equal(index.kneighbors(X[QUERIES]), before)
        assert index.partial_fit(X[:5], Y[:5]).n_items_ == 205

    @pytest.mark.parametrize("n_rescored", [None, 25])
    def test_allowed_items_are_searched_as_a_database_of_their_own(
        self, hasher, n_rescored
    ):
        index = HashedNeighbors(hasher, n_rescored=n_rescored).fit(X[:300])
        among = np.sort(np.random.default_rng(0).choice(300, 60, replace=False))
        frozen = FrozenEstimator(index.hasher_)
        part = HashedNeighbors(frozen, n_rescored=n_rescored).fit(X[among])
        distances, indices = part.kneighbors(X[300:320], 5)
        found = index.kneighbors(X[300:320], 5, among=among)
        check_equal(found, (distances, among[indices]))
        mask = np.isin(np.arange(300), among)
        check_equal(index.kneighbors(X[300:320], 5, among=mask), found)

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
            index.partial_fit(queries).remove(np.arange(first, first + 10))
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
        index = HashedNeighbors(ITQ, n_neighbors=1, n_rescored=30).fit(X[:100])
        for start in (100, 110, 120):
            index.partial_fit(X[start : start + 10])
        index.remove(np.arange(50))
        distances, indices = index.kneighbors(X[100:130])
        assert_array_equal(indices[:, 0], np.arange(100, 130))
        assert_array_equal(distances, 0)

    def test_what_it_cannot_do(self):
        index = HashedNeighbors(ITQ, n_rescored=30).fit(X[:100])
        with pytest.raises(ValueError, match="n_rescored"):
            index.kneighbors(X[:1], return_tied=True)
        with pytest.raises(ValueError, match="n_rescored"):
            index.kneighbors()
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

    def test_rows_that_were_drawn_keep_their_codes_of_the_fit(self):
        steps = ClassProbabilities(LogisticRegression()), ITQHasher(4, random_state=0)
        index = HashedNeighbors(make_pipeline(*steps), max_samples=150, random_state=0)
        index.fit(X, Y)
        drawn = np.sort(np.random.RandomState(0).choice(len(X), 150, replace=False))
        whole = HashedNeighbors(clone(make_pipeline(*steps))).fit(X[drawn], Y[drawn])
        assert_array_equal(np.asarray(index.codes_)[drawn], whole.codes_)
        rest = np.setdiff1d(np.arange(len(X)), drawn)
        expected = index.hasher_.transform(X[rest])
        assert_array_equal(np.asarray(index.codes_)[rest], expected)


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
            each.partial_fit(X[:5], Y[:5]).remove([1])
        check_equal(loaded.kneighbors(X[QUERIES]), index.kneighbors(X[QUERIES]))
        assert loaded.get_params().keys() == index.get_params().keys()
        assert not hasattr(loaded.hasher, "n_features_in_")

    def test_features_are_given_again(self, tmp_path):
        path = tmp_path / "service"
        index = HashedNeighbors(ITQ, n_rescored=20).fit(X[:90]).partial_fit(X[90:100])
        index.save(path)
        with pytest.raises(ValueError, match=r"load\(path, features"):
            HashedNeighbors.load(path).kneighbors(X[:1])
        with pytest.raises(ValueError, match="features has 90 rows for the 100"):
            HashedNeighbors.load(path, features=X[:90])
        loaded = HashedNeighbors.load(path, features=X[:100]).partial_fit(X[100:110])
        index.partial_fit(X[100:110])
        check_equal(loaded.kneighbors(X[QUERIES]), index.kneighbors(X[QUERIES]))

    def test_other_types_need_trust(self, tmp_path):
        path = tmp_path / "service"
        HashedNeighbors(make_pipeline(Mystery(), ITQ)).fit(X[:100]).save(path)
        name = f"{Mystery.__module__}.Mystery"
        with pytest.raises(ValueError, match=name):
            HashedNeighbors.load(path)
        assert HashedNeighbors.load(path, trusted=[name]).n_items_ == 100

    def test_what_has_no_form_without_pickle_says_so(self, tmp_path):
        class Local(Mystery):
            def __reduce__(self):
                raise TypeError("never")

            def __getstate__(self):
                raise TypeError("never")

        index = HashedNeighbors(make_pipeline(Local(), ITQ)).fit(X[:100])
        with pytest.raises(ValueError, match="cannot be saved without pickle"):
            index.save(tmp_path / "service")
        assert not (tmp_path / "service").exists()

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

    def test_functions_that_can_be_imported_are_saved(self, tmp_path):
        path = tmp_path / "service"
        pipeline = make_pipeline(FunctionTransformer(np.log1p), FunctionTransformer(same))
        index = HashedNeighbors(make_pipeline(pipeline, ITQ)).fit(X[:100])
        index.save(path)
        loaded = HashedNeighbors.load(path, trusted=[f"{__name__}.same"])
        check_equal(loaded.kneighbors(X[QUERIES]), index.kneighbors(X[QUERIES]))

    def test_a_torch_module_is_refused(self, tmp_path):
        torch = pytest.importorskip("torch")
        hasher = TALRHasher(8, module=torch.nn.Linear(64, 8), max_iter=1)
        for estimator, name in (
            (hasher, "module"),
            (
                make_pipeline(StandardScaler(), hasher),
                "talrhasher__module",
            ),
        ):
            features = X[:100].astype(np.float32)
            index = HashedNeighbors(estimator).fit(features, Y[:100])
            with pytest.raises(ValueError, match=f"parameter {name} .*HammingNeighbors"):
                index.save(tmp_path / "service")
        assert list(tmp_path.iterdir()) == []
        HammingNeighbors().fit(index.codes_).save(tmp_path / "codes")

    def test_a_part_that_is_not_here_is_named(self, tmp_path, monkeypatch):
        """As of hashers whose classes other versions have elsewhere."""
        path = tmp_path / "service"
        HashedNeighbors(make_pipeline(Mystery(), ITQ)).fit(X[:100]).save(path)
        monkeypatch.delattr(sys.modules[__name__], "Mystery")
        with pytest.raises(ValueError, match=r"'Mystery'.*another version"):
            HashedNeighbors.load(path, trusted=[f"{__name__}.Mystery"])

    @pytest.mark.parametrize("other", [{"n_bits": 16}, StandardScaler()])
    def test_what_is_no_hasher_is_refused(self, other, tmp_path):
        path = tmp_path / "service"
        HashedNeighbors(ITQ).fit(X[:100]).save(path)
        (file,) = path.glob("*/hasher.skops")
        file.write_bytes(self.skops.dumps(other))
        with pytest.raises(ValueError, match="in place of a hasher"):
            HashedNeighbors.load(path)

    def test_a_compressed_hasher_is_refused(self, tmp_path):
        path, inner = tmp_path / "service", io.BytesIO()
        HashedNeighbors(ITQ).fit(X[:100]).save(path)
        (file,) = path.glob("*/hasher.skops")
        with (
            zipfile.ZipFile(file) as stored,
            zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            for name in stored.namelist():
                archive.writestr(name, stored.read(name))
            archive.writestr("more.npy", bytes(2**27))
        file.write_bytes(inner.getvalue())
        tracemalloc.start()
        try:
            with pytest.raises(ValueError, match=r"hasher of .* is damaged"):
                HashedNeighbors.load(path)
            assert tracemalloc.get_traced_memory()[1] < 2**23
        finally:
            tracemalloc.stop()

    def test_files_of_other_classes_are_refused(self, tmp_path):
        HashedNeighbors(ITQ).fit(X[:100]).save(tmp_path / "hashed")
        HammingNeighbors().fit(X[:100] > 8).save(tmp_path / "codes")
        with pytest.raises(ValueError, match="saved by HashedNeighbors"):
            HammingNeighbors.load(tmp_path / "hashed")
        with pytest.raises(ValueError, match="saved by HammingNeighbors"):
            WeightedHammingNeighbors.load(tmp_path / "codes")

    def test_pickles_hold_all(self):
        index = HashedNeighbors(ADDITIVE, n_rescored=20).fit(X[DATABASE], Y[DATABASE])
        loaded = pickle.loads(pickle.dumps(index))
        check_equal(loaded.kneighbors(X[QUERIES]), index.kneighbors(X[QUERIES]))


class TestScorers:
    """Each hasher is asked as its codes are made to be."""

    fitted = {
        "bits": clone(ITQ).fit(X[DATABASE]),
        "weights": clone(ADDITIVE).fit(X[DATABASE]),
    }

    @pytest.mark.parametrize("query", ["bits", "weights"])
    def test_auto_is_what_the_hasher_declares(self, query):
        hasher, auto = self.fitted[query], make_retrieval_scorer()
        told = make_retrieval_scorer(query=query)
        other = make_retrieval_scorer(query={"bits": "weights", "weights": "bits"}[query])
        for estimator in (hasher, make_pipeline(StandardScaler(), clone(hasher)).fit(X)):
            assert auto.query_of(estimator) == query
            scores = [s(estimator, X[QUERIES], Y[QUERIES]) for s in (auto, told, other)]
            assert scores[0] == scores[1] != scores[2]

    def test_a_grid_mixes_both_kinds(self):
        grid = {"hasher": [ITQ, ADDITIVE]}
        search = GridSearchCV(
            Pipeline([("hasher", ITQ)]), grid, scoring=make_retrieval_scorer(), cv=2
        ).fit(X[:200], Y[:200])
        halves = slice(0, 100), slice(100, 200)
        for hasher, score in zip((ITQ, ADDITIVE), search.cv_results_["mean_test_score"]):
            kind = "bits" if hasher is ITQ else "weights"
            scores = [
                make_retrieval_scorer(query=kind)(
                    clone(hasher).fit(X[train]), X[test], Y[test]
                )
                for train, test in (halves, halves[::-1])
            ]
            assert score == pytest.approx(np.mean(scores), rel=0.1)

    @pytest.mark.parametrize("query", ["bits", "weights"])
    def test_the_report_and_the_legend_say_which(self, query):
        pytest.importorskip("pandas", reason="pandas is an optional extra")
        sets = X[QUERIES], Y[QUERIES], X[DATABASE], Y[DATABASE]
        report = retrieval_report_from_estimator(self.fitted[query], *sets)
        assert report.columns.name == query
        pytest.importorskip("matplotlib", reason="matplotlib is an optional extra")
        display = RetrievalCurveDisplay.from_estimator(self.fitted[query], *sets)
        assert ("weighted queries" in display.name) == (query == "weights")

    def test_a_radius_is_by_bits(self):
        sets = X[QUERIES], Y[QUERIES], X[DATABASE], Y[DATABASE]
        with pytest.raises(ValueError, match="query='bits'"):
            retrieval_report_from_estimator(self.fitted["weights"], *sets, radius=2)
