"""CrossViewHasher in an index: searched, scored, evaluated as runs, and exported."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from two_views import halves_of_digits, judged

from sklearn_talr.affinity import query_groups
from sklearn_talr.export import to_onnx
from sklearn_talr.hashing import CrossViewHasher
from sklearn_talr.metrics import make_retrieval_scorer, retrieval_report_from_estimator
from sklearn_talr.neighbors import HashedNeighbors, ItemRanker

X, Y, Q, C = halves_of_digits()
J = judged(C, Y)
TRAIN, TEST = slice(40), slice(40, None)
TOWERS = CrossViewHasher(8, teacher=None, max_iter=2, random_state=0)
HASHERS = [
    TOWERS,
    clone(TOWERS).set_params(query="weights"),
    clone(TOWERS).set_params(teacher="auto"),
    clone(TOWERS).set_params(teacher="auto", query="weights"),
]
BY_GRADE = {"y": J[TRAIN].T.tocsr(), "X_query": Q[TRAIN]}
BY_CLASS = {"y": Y, "X_query": Q[TRAIN], "y_query": C[TRAIN]}
FITS = [BY_GRADE, BY_CLASS]


@pytest.fixture(params=HASHERS, ids=["bits", "weights", "taught", "taught-weights"])
def hasher(request):
    return clone(request.param)


@parametrize_with_checks(
    [ItemRanker(TOWERS, np.random.default_rng(0).normal(size=(30, 5)), np.arange(30) % 3)]
)
def test_scikit_learn_finds_no_fault_in_rankers_of_towers(estimator, check):
    check(estimator)


@pytest.mark.parametrize("fit", FITS, ids=["judgments", "labels"])
def test_index_scorer_and_report_agree(hasher, fit):
    by_grade = fit is BY_GRADE
    index = HashedNeighbors(hasher).fit(X, **fit)
    asked = Q[TEST], J[TEST] if by_grade else C[TEST]
    items = X, None if by_grade else Y
    score = index.score(*asked)
    assert 0 < score < 1
    scorer = make_retrieval_scorer("AP", database=items, query=hasher.query)
    assert_allclose(scorer(index.hasher_, *asked), score)
    report = retrieval_report_from_estimator(
        index.hasher_, *asked, *items, measures=["AP"], query=hasher.query, as_frame=False
    )
    assert_allclose(report["AP"]["expected"], score)


def test_a_search_over_queries_in_a_pipeline():
    steps = make_pipeline(StandardScaler(), TOWERS)
    search = GridSearchCV(
        ItemRanker(steps, X, J.T),
        {"hasher__crossviewhasher__n_bits": [2, 8]},
        cv=GroupKFold(3),
    )
    search.fit(Q, np.arange(60), groups=query_groups(J.T))
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    found = search.best_estimator_.kneighbors(Q, 5, return_distance=False)
    assert found.shape == (60, 5)


def test_towers_are_exported_and_teachers_are_not(hasher, tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    hasher.fit(X, **BY_GRADE)
    for output, features, ask in (
        ("codes", X, lambda X: hasher.encode(X).data),
        ("query_codes", Q, lambda Q: hasher.encode_query(Q).data),
        ("query_weights", Q, hasher.query_weights),
    ):
        path = tmp_path / output
        if hasher.teacher is not None:
            with pytest.raises(ValueError, match=r"with teachers.*Fit with teacher=None"):
                to_onnx(hasher, path, output=output)
            continue
        to_onnx(hasher, path, output=output)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        (found,) = session.run(None, {"features": features.astype(np.float32)})
        assert np.mean(np.isclose(found, ask(features), rtol=1e-3, atol=1e-3)) > 0.99
