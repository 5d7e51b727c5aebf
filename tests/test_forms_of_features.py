"""Features are read by what their type declares, wherever features are taken."""

import warnings
from functools import cache
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler

from sklearn_talr.baselines import BREHasher, FastHasher, MACHasher, StructHasher
from sklearn_talr.codes import pack_codes
from sklearn_talr.hashing import (
    AdditiveHasher,
    ClassProbabilities,
    CrossViewHasher,
    ITQHasher,
    LSHHasher,
    TALRHasher,
)
from sklearn_talr.kernel_ridge import KernelRidgeClassifierCV
from sklearn_talr.metrics import make_retrieval_scorer, retrieval_report_from_estimator
from sklearn_talr.neighbors import HashedNeighbors, ItemRanker, n_bits_for_recall, rescore
from sklearn_talr.svm import RankingSVC

# Numbers of few digits, which bfloat16 holds
X = np.round(np.random.default_rng(0).normal(size=(60, 8)) * 8).astype(np.float32) / 8
Y = np.arange(60) % 2
LSH, ITQ = LSHHasher(8, random_state=0), ITQHasher(8, random_state=0)


class PolarsLike:
    """A Series of lists as polars has it: its dtype knows the type of what is inside."""

    class dtype:  # noqa: N801
        inner = float

    def __init__(self, rows, name="vector"):
        self.rows, self.name, self.shape = rows, name, (len(rows),)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, rows):
        return PolarsLike(self.rows[rows])

    def to_numpy(self):
        return object_array(self.rows)


class PolarsFrame:
    def __init__(self, *columns):
        self.columns_ = columns
        self.columns = [column.name for column in columns]
        self.shape = len(columns[0]), len(columns)

    def get_columns(self):
        return list(self.columns_)


def object_array(rows):
    array = np.empty(len(rows), dtype=object)
    array[:] = list(rows)
    return array


COLUMNS = {
    "Series of arrays": lambda: pd.Series(list(X), index=np.arange(60)[::-1]),
    "Series of lists": lambda: pd.Series(X.tolist()),
    "table of one column": lambda: pd.DataFrame({"vector": list(X)}),
    "array of arrays": lambda: object_array(X),
    "array of one column of arrays": lambda: object_array(X)[:, None],
    "polars-like Series": lambda: PolarsLike(X.tolist()),
    "polars-like table": lambda: PolarsFrame(PolarsLike(X.tolist())),
    "tuple of arrays": lambda: tuple(X),
    "memoryview of floats": lambda: memoryview(X),
}


def arrow_columns():
    import pyarrow as pa

    fixed = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 8)
    pandas = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([fixed])))
    return {
        "FixedSizeList": fixed,
        "List": pa.array(X.tolist(), pa.list_(pa.float32())),
        "LargeList": pa.array(X.tolist(), pa.large_list(pa.float32())),
        "ChunkedArray": pa.chunked_array([fixed[:20], fixed[20:]]),
        "Table": pa.table({"vector": fixed}),
        "RecordBatch": pa.record_batch({"vector": fixed}),
        "tensors": pa.FixedShapeTensorArray.from_numpy_ndarray(X),
        "Series": pandas,
        "DataFrame": pd.DataFrame({"vector": pandas}),
    }


if find_spec("pyarrow"):
    ARROW = ["FixedSizeList", "List", "LargeList", "ChunkedArray", "Table"]
    ARROW += ["RecordBatch", "tensors", "Series", "DataFrame"]
    COLUMNS |= {f"Arrow {kind}": lambda kind=kind: arrow_columns()[kind] for kind in ARROW}
if find_spec("ml_dtypes"):
    import ml_dtypes

    SHORT = ml_dtypes.bfloat16
    COLUMNS["bfloat16 of ml_dtypes"] = lambda: X.astype(SHORT)
    COLUMNS["list of bfloat16"] = lambda: list(X.astype(SHORT))
if find_spec("torch"):
    import torch

    COLUMNS |= {
        "bfloat16 tensor": lambda: torch.tensor(X).bfloat16(),
        "tensor with gradient": lambda: torch.tensor(X, requires_grad=True),
        "list of tensors": lambda: list(torch.tensor(X)),
        "list of bfloat16 tensors": lambda: list(torch.tensor(X).bfloat16()),
        "list of tensors with gradient": lambda: [
            torch.tensor(row, requires_grad=True) for row in X
        ],
        "Series of tensors": lambda: pd.Series(list(torch.tensor(X).bfloat16())),
    }

ESTIMATORS = [
    LSH,
    ITQ,
    AdditiveHasher(8, max_iter=2, random_state=0),
    TALRHasher(8, max_iter=1, random_state=0),
    CrossViewHasher(8, max_iter=1, teacher=None, random_state=0),
    BREHasher(4, n_anchors=5, subsample=40, random_state=0),
    MACHasher(4, subsample=40, random_state=0),
    FastHasher(2, n_trees=2, max_depth=2, random_state=0),
    StructHasher(2, n_queries=5, random_state=0),
    ClassProbabilities(LogisticRegression(max_iter=50)),
    ClassProbabilities(cv=3),
    KernelRidgeClassifierCV(random_state=0),
    RankingSVC(max_iter=5),
    HashedNeighbors(ITQ),
    HashedNeighbors(ITQ, max_samples=30, random_state=0),
    HashedNeighbors(ITQ, n_rescored=5),
    HashedNeighbors(make_pipeline(MaxAbsScaler(), ITQ)),
]


def answer(estimator, rows):
    if hasattr(estimator, "kneighbors"):
        return estimator.kneighbors(rows, 4)[1]
    if hasattr(estimator, "transform"):
        return estimator.transform(rows)
    return estimator.decision_function(rows)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
class TestEverywhere:
    def test_columns_of_lists_are_stacked(self, estimator):
        expected = clone(estimator).fit(X, Y)
        by_rows = answer(expected, X)
        # One function reads all forms, so all are asked for answers, and some are fitted
        # and scored.
        fitted_names = list(COLUMNS)[::4]
        has_score = hasattr(estimator, "score")
        score = expected.score(X, Y) if has_score else None
        for name, form in COLUMNS.items():
            close = {"rtol": 1e-4, "atol": 1e-5, "err_msg": name}  # of lists float64
            assert_allclose(answer(expected, form()), by_rows, **close)
            if name in fitted_names:
                other = clone(estimator).fit(form(), Y)
                assert_allclose(answer(other, X), by_rows, **close)
                if has_score:
                    assert_allclose(expected.score(form(), Y), score, err_msg=name)

    def test_what_is_no_column_of_lists(self, estimator):
        """The error names X, and the estimator is what it was before."""
        fitted = clone(estimator).fit(X, Y)
        before = answer(fitted, X)
        rows = X.tolist()
        for form, message in (
            (
                pd.Series([*rows[:-1], rows[0][:3]]),
                r"X has rows of unequal .*row 59 has 3.*np\.st",
            ),
            ([*rows[:-1], rows[0][:3]], r"X has rows of unequal length.*np\.stack\(X\)"),
            (pd.Series([None, *rows[1:]]), r"row 0 is None.*np\.stack\(X\)"),
            (pd.Series([*rows[:-1], np.nan]), r"row 59 is nan.*np\.stack\(X\)"),
            (pd.Series([*rows[:-1], [None, *rows[0][1:]]]), r"row 59 .*missing.*np\.stack"),
            (pd.Series([[row] for row in rows]), r"row 0 holds lists of lists"),
            (pd.Series([["a", "b"]] * 60), r"row 0 .*no numbers"),
            (
                pd.DataFrame({"a": rows, "b": rows}),
                r"X has 2 columns.*np\.stack\(X\['a'\]\)",
            ),
            (pd.DataFrame({"a": rows, "b": Y}), r"X has 2 columns.*np\.stack\(X\['a'\]\)"),
            (X.tobytes(), r"X are 1920 bytes.*np\.frombuffer"),
            (bytearray(X.tobytes()), r"X are 1920 bytes.*np\.frombuffer"),
            (memoryview(X.tobytes()), r"X are 1920 bytes.*np\.frombuffer"),
            ([row.tobytes() for row in X], r"X has rows of bytes.*np\.frombuffer"),
            (
                pd.Series([row.tobytes() for row in X]),
                r"X has rows of bytes.*np\.frombuffer",
            ),
            (pack_codes(X > 0), r"X are codes.*HammingNeighbors"),
            ("abc", "single value 'abc'"),
            (3.0, "single value 3.0"),
            (np.float64(3), "single value"),
        ):
            with pytest.raises(ValueError, match=message):
                answer(fitted, form)
            with pytest.raises(ValueError, match=message):
                fitted.fit(form, Y)
        assert_array_equal(answer(fitted, X), before)

    def test_sparse_matrices_of_all_formats(self, estimator):
        if getattr(estimator, "n_rescored", None):
            with pytest.raises(ValueError, match="dense features"):
                clone(estimator).fit(sp.coo_array(X), Y)
            return
        rows = sp.csr_matrix(X)
        expected = clone(estimator).fit(rows, Y)
        by_rows = answer(expected, rows)
        has_score = hasattr(estimator, "score")
        score = expected.score(rows, Y) if has_score else None
        # One function reads all formats, so all are asked for answers, and each format is
        # fitted and scored as a matrix or as an array.
        fitted_kinds = ("coo_array", "bsr_matrix", "dia_array", "dok_matrix", "lil_array")
        for kind in ("coo", "bsr", "dia", "dok", "lil", "csc"):
            for suffix in ("_matrix", "_array"):
                form = getattr(sp, kind + suffix)(X)
                close = {"rtol": 1e-5, "err_msg": kind}
                assert_allclose(answer(expected, form), by_rows, **close)
                if kind + suffix in (*fitted_kinds, "csc_matrix"):
                    other = clone(estimator).fit(form, Y)
                    assert_allclose(answer(other, form), by_rows, **close)
                    if has_score:
                        assert_allclose(expected.score(form, Y), score, err_msg=kind)


CROSS_VIEW = CrossViewHasher(8, teacher=None, max_iter=2, random_state=0)
EARLY_STOPPING = TALRHasher(8, early_stopping=True, max_iter=2, random_state=0)
IN_CHUNKS = TALRHasher(8, max_iter=2, random_state=0)


def validate(rows):
    """A fit that validates with its training rows."""
    return clone(EARLY_STOPPING).fit(rows, Y, X_val=rows, y_val=Y)


def fit_in_chunks(rows):
    return clone(IN_CHUNKS).partial_fit(rows, Y).partial_fit(rows, Y)


def score_ranker(rows):
    """Score of items ranked by rows, the hasher of which learns from the same rows."""
    return ItemRanker(CROSS_VIEW, X, Y).fit(rows, Y).score(rows, Y)


@cache  # the same for every form
def expected_of_two_views():
    """Answers to an array: codes of queries and items, scores, and codes of chunks."""
    hasher = clone(CROSS_VIEW).fit(X, Y, X_query=X, y_query=Y)
    return {
        "query": hasher.transform_query(X),
        "items": hasher.encode(X).data,
        "ranker": score_ranker(X),
        "validation": validate(X).validation_scores_,
        "chunks": fit_in_chunks(X).transform(X),
    }


@pytest.mark.parametrize("name", COLUMNS)
class TestOfASide:
    def test_queries_items_and_tables_of_features(self, name):
        form = COLUMNS[name]()
        index = HashedNeighbors(ITQ, n_rescored=5).fit(X[:40], Y[:40])
        scored = index.score(X, Y)
        index.add(form, Y)
        expected = HashedNeighbors(ITQ, n_rescored=5).fit(X[:40], Y[:40]).add(X, Y)
        assert_array_equal(index.codes_.data, expected.codes_.data)
        assert_array_equal(index.kneighbors(form)[1], expected.kneighbors(X)[1])
        assert_array_equal(index.rank(form).indices, expected.rank(X).indices)
        assert_array_equal(index.predict(form), expected.predict(X))
        assert scored > 0
        if not isinstance(form, memoryview):
            candidates = expected.kneighbors(X, 5)[1] % 60
            found = rescore(form, X if isinstance(form, list | tuple) else form, candidates)
            assert_array_equal(found[1], rescore(X, X, candidates)[1])

    def test_scorers_and_reports(self, name):
        form = COLUMNS[name]()
        hasher = clone(ITQ).fit(X)
        scorer = make_retrieval_scorer("AP")
        assert_allclose(scorer(hasher, form, Y), scorer(hasher, X, Y))
        pair = make_retrieval_scorer("AP", database=(form, Y))
        of_rows = make_retrieval_scorer("AP", database=(X, Y))
        assert_allclose(pair(hasher, form, Y), of_rows(hasher, X, Y))
        pipeline = make_pipeline(MaxAbsScaler(), ITQ).fit(X)
        assert_allclose(scorer(pipeline, form, Y), scorer(pipeline, X, Y))
        found = retrieval_report_from_estimator(hasher, form, Y, form, Y, measures="AP")
        expected = retrieval_report_from_estimator(hasher, X, Y, X, Y, measures="AP")
        assert_allclose(found["expected"], expected["expected"])

    def test_two_views_and_validation_sets(self, name):
        form, expected = COLUMNS[name](), expected_of_two_views()
        hasher = clone(CROSS_VIEW).fit(form, Y, X_query=form, y_query=Y)
        assert_array_equal(hasher.transform_query(form), expected["query"])
        index = HashedNeighbors(CROSS_VIEW).fit(form, Y, X_query=form, y_query=Y)
        assert_array_equal(index.codes_.data, expected["items"])
        assert_allclose(score_ranker(form), expected["ranker"])
        assert validate(form).validation_scores_ == expected["validation"]
        assert_array_equal(fit_in_chunks(form).transform(X), expected["chunks"])


def test_lengths_of_codes():
    rows = np.random.default_rng(0).normal(size=(900, 4))
    options = {"n_bits": [32], "n_queries": 20, "n_neighbors": 1, "random_state": 0}
    found = n_bits_for_recall(HashedNeighbors(ITQ), pd.Series(list(rows)), 0.001, **options)
    expected = n_bits_for_recall(HashedNeighbors(ITQ), rows, 0.001, **options)
    assert_allclose(found.results["recall"], expected.results["recall"])


def test_features_of_a_loaded_index(tmp_path):
    pytest.importorskip("skops")
    index = HashedNeighbors(ITQ, n_rescored=5).fit(X)
    index.save(tmp_path / "index")
    other = HashedNeighbors.load(tmp_path / "index", features=pd.Series(list(X)))
    assert_array_equal(other.kneighbors(X)[1], index.kneighbors(X)[1])


LABELS = np.eye(3, dtype=int)[np.arange(60) % 3]
LABELS |= np.random.default_rng(0).random((60, 3)) < 0.2
OF_LABELS = (
    IN_CHUNKS,
    HashedNeighbors(IN_CHUNKS, max_samples=40, random_state=0),
    HashedNeighbors(
        make_pipeline(ClassProbabilities(), LSH), max_samples=40, random_state=0
    ),
    ClassProbabilities(cv=3),
    KernelRidgeClassifierCV(random_state=0),
)


@cache
def fitted_to_labels(estimator):
    """What is expected of every format: a fit to rows in CSR."""
    return clone(estimator).fit(X, sp.csr_array(LABELS))


@pytest.mark.parametrize("kind", ["coo", "bsr", "dia", "dok", "lil", "csc"])
def test_targets_of_all_sparse_formats(kind):
    form, rows = getattr(sp, f"{kind}_array")(LABELS), sp.csr_array(LABELS)
    for estimator in OF_LABELS:
        found = clone(estimator).fit(X, form)
        expected = fitted_to_labels(estimator)
        if hasattr(found, "predict_proba"):
            assert_allclose(found.predict_proba(X), expected.predict_proba(X))
            continue
        assert_array_equal(answer(found, X), answer(expected, X))
        if hasattr(found, "score"):
            assert_allclose(expected.score(X, form), expected.score(X, rows))
        if hasattr(found, "partial_fit"):
            found.partial_fit(X[:20], form.tocsr()[:20].asformat(kind))
        if hasattr(found, "add"):
            found.add(X[:20], form.tocsr()[:20].asformat(kind))
    scorer = make_retrieval_scorer("nDCG")
    hasher = clone(ITQ).fit(X)
    assert_allclose(scorer(hasher, X, form), scorer(hasher, X, rows))


class Chooser(TransformerMixin, BaseEstimator):
    """A step of a user that takes a table as it is, and says so."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.stack(X["vector"])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.no_validation = True
        tags.requires_fit = False
        return tags


class TestStepsThatTakeOtherForms:
    """What a step declares to take reaches it as it is."""

    def test_texts(self):
        words = ["ant bee cat", "bee cat dog", "cat dog elk", "dog elk fox", "elk fox ant"]
        steps = TfidfVectorizer(), TruncatedSVD(3, random_state=0), LSH
        index = HashedNeighbors(make_pipeline(*steps)).fit(words)
        found = index.kneighbors(words[:2], 1, return_distance=False)
        assert found.tolist() == [[0], [1]]
        tokens = pd.Series([text.split()[: 2 + i % 2] for i, text in enumerate(words)])
        steps = CountVectorizer(analyzer=list), TruncatedSVD(3, random_state=0), LSH
        index = HashedNeighbors(make_pipeline(*steps)).fit(tokens)
        assert index.kneighbors(tokens[:1], 1, return_distance=False).tolist() == [[0]]

    def test_tables(self):
        table = pd.DataFrame({"vector": list(X), "other": Y})
        expected = HashedNeighbors(LSH).fit(X)
        stack = FunctionTransformer(np.stack)
        for first in (
            Chooser(),
            make_pipeline(Chooser()),
            ColumnTransformer([("vector", stack, "vector")]),
            FeatureUnion([("chosen", Chooser())]),
            FunctionTransformer(lambda table: table["vector"]),
        ):
            index = HashedNeighbors(make_pipeline(first, LSH)).fit(table)
            assert_array_equal(index.codes_.data, expected.codes_.data)
            found = index.kneighbors(table[:3], 2)[1]
            assert_array_equal(found, expected.kneighbors(X[:3], 2)[1])

    def test_sparse_matrices_are_rows_for_them_too(self):
        steps = make_pipeline(FunctionTransformer(accept_sparse=True), LSH)
        index = HashedNeighbors(steps, max_samples=30, random_state=0).fit(sp.coo_matrix(X))
        assert index.n_items_ == 60

    def test_a_classifier_of_texts(self):
        words = np.array(["ant bee", "bee cat", "cat dog", "dog elk"] * 5)
        classifier = make_pipeline(CountVectorizer(), LogisticRegression())
        teacher = ClassProbabilities(classifier).fit(words.tolist(), np.arange(20) % 2)
        assert teacher.transform(words[:3].tolist()).shape == (3, 2)


@pytest.mark.skipif(not find_spec("torch"), reason="needs torch")
def test_sparse_tensors_are_refused_by_name():
    with pytest.raises(ValueError, match=r"Sparse tensors.*to_dense"):
        clone(LSH).fit(torch.tensor(X).to_sparse())


def test_no_warning_tells_of_a_conversion():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(LSH).fit(pd.Series(list(X))).transform(pd.DataFrame({"v": list(X)}))
