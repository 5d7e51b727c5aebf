"""All fits tell scikit-learn's callbacks, or print, how far they are, and take Ctrl-C."""

from itertools import count

import numpy as np
import pytest
from hashers import CROSS_VIEW, DISCRETE, name_of, small
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sklearn_talr import ITQHasher, RankingSVC
from sklearn_talr._core.progress import Progress
from sklearn_talr.baselines import BREHasher, FastHasher, StructHasher
from sklearn_talr.codes import unpack_codes, weighted_scores
from sklearn_talr.hashing import AdditiveHasher, ClassProbabilities, CrossViewHasher
from sklearn_talr.kernel_ridge import KernelRidgeClassifierCV
from sklearn_talr.neighbors import HashedNeighbors, ItemRanker, MaxSimNeighbors

RIDGE, SVC = KernelRidgeClassifierCV(), RankingSVC(tol=0.1)
ADDITIVE = [  # by bits; by words; both, of which the better ones are kept
    AdditiveHasher(8, max_iter=3),
    AdditiveHasher(16, method="codebooks", max_iter=3, metric="euclidean"),
    AdditiveHasher(8, max_iter=3),
]
TALR = small(early_stopping=True, n_iter_no_change=1)
LOOPS = [ITQHasher(8), *ADDITIVE, *DISCRETE, TALR, CROSS_VIEW[0], SVC]


@pytest.fixture(params=LOOPS, ids=name_of)
def case(request, digits):
    """An estimator whose loop has several steps, and two classes of samples to fit."""
    X, y = digits
    n = 1050 if request.param is ADDITIVE[2] else 150
    estimator = clone(request.param)
    if hasattr(estimator, "random_state"):
        estimator.set_params(random_state=0)
    return estimator, X[:n], y[:n] % 2


class Recorder:
    """Notes all that a callback is told; it goes on to estimators within."""

    max_propagation_depth = None

    def __init__(self):
        self.begun, self.open, self.done, self.fitted = [], [], [], []

    def setup(self, estimator, context):
        self.begun.append("setup")

    def on_fit_task_begin(self, estimator, context):
        path = [context]
        while path[0].parent is not None:
            path.insert(0, path[0].parent)
        self.begun.append(".".join(f"{c.estimator_name}-{c.task_name}" for c in path))
        self.open.append(context)
        if context.parent is not None and context.parent.max_subtasks is not None:
            assert context.task_id < context.parent.max_subtasks

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        assert self.open.pop() is context
        self.done.append(context.task_name)
        self.fitted.append(fitted_estimator)

    def teardown(self, estimator, context):
        self.begun.append("teardown")


def recorded(estimator, *data, **more):
    pytest.importorskip("sklearn.callback")
    recorder = Recorder()
    return recorder, clone(estimator).set_callbacks(recorder).fit(*data, **more)


def n_tasks_of(fitted):
    """Number of tasks of a fit whose bits are all there."""
    if isinstance(fitted, (BREHasher, FastHasher, StructHasher)):
        return fitted.n_bits
    return 50 if isinstance(fitted, ITQHasher) else fitted.n_iter_


def test_callbacks_see_each_task(case):
    estimator, X, y = case
    recorder, told = recorded(estimator, X, y)
    *tasks, fit = recorder.done
    ends = recorder.begun[0], fit, recorder.begun[-1], recorder.open, len(set(tasks))
    assert ends == ("setup", "fit", "teardown", [], 1)
    assert len(tasks) == n_tasks_of(told) > 1
    assert_array_equal(told.decision_function(X), estimator.fit(X, y).decision_function(X))
    assert_array_equal(recorder.fitted[-1].decision_function(X), told.decision_function(X))
    if not isinstance(told, (ITQHasher, CrossViewHasher)):
        first, *_, last, _ = (fitted.decision_function(X) for fitted in recorder.fitted)
        assert not np.array_equal(first, last)


@pytest.mark.parametrize("cv", [None, 2])
def test_nested_fits_are_told_below(cv, few_digits):
    X, y = few_digits
    pipeline = make_pipeline(ClassProbabilities(RIDGE, cv=cv), small())
    recorder, fitted = recorded(HashedNeighbors(pipeline), X, y)
    above = "HashedNeighbors-fit.Pipeline-fit."
    assert recorder.begun.count(f"{above}TALRHasher-fit.TALRHasher-epoch") == 3
    ridge = f"{above}ClassProbabilities-fit.KernelRidgeClassifierCV-fit"
    assert recorder.begun.count(ridge) == 1 + (cv or 0)
    assert f"{ridge}.KernelRidgeClassifierCV-candidate" in recorder.begun
    plain = HashedNeighbors(pipeline).fit(X, y)
    assert_array_equal(fitted.codes_.data, plain.codes_.data)


class TestBlocksOfAnIndex:
    """An index tells of the rows that it encodes, in `fit` and in `add`."""

    @pytest.fixture(autouse=True)
    def small_blocks(self, monkeypatch):
        monkeypatch.setattr("sklearn_talr.neighbors._fit_hasher._ROWS_PER_BLOCK", 128)

    def test_callbacks(self, few_digits):
        X, y = few_digits
        pipeline = make_pipeline(ClassProbabilities(RIDGE), small())
        index = HashedNeighbors(pipeline, max_samples=200, random_state=0)
        recorder, fitted = recorded(index, X, y)
        assert recorder.begun.count("HashedNeighbors-fit.HashedNeighbors-block") == 3
        assert recorder.done[-4:] == ["block", "block", "block", "fit"]
        recorder.begun.clear()
        fitted.add(X[:100], y[:100])
        blocks = [path for path in recorder.begun if path.endswith("block")]
        assert blocks == ["HashedNeighbors-fit.HashedNeighbors-block"]
        assert recorder.open == []
        assert recorder.begun[-1] == "teardown"
        assert_array_equal(
            unpack_codes(fitted.codes_)[-100:], fitted.hasher_.transform(X[:100])
        )

    def test_verbose(self, few_digits, capsys):
        X, _ = few_digits
        index = HashedNeighbors(ITQHasher(8), verbose=True).fit(X)
        index.add(X[:130])
        assert capsys.readouterr().out.splitlines() == [
            "Block 1 of 3: 128 of 300 rows encoded",
            "Block 2 of 3: 256 of 300 rows encoded",
            "Block 3 of 3: 300 of 300 rows encoded",
            "Block 1 of 2: 128 of 130 rows encoded",
            "Block 2 of 2: 130 of 130 rows encoded",
        ]
        assert_array_equal(index.codes_.data[:300], index.hasher_.encode(X).data)

    def test_forms_terms_and_rows_of_zeros(self, few_digits):
        X = few_digits[0].copy()
        X[[200, 299]] = 0
        hasher = AdditiveHasher(8, max_iter=1, random_state=0)
        with pytest.warns(UserWarning, match="2 rows of zeros, first row 200"):
            codes = hasher.fit(X).encode(X)
        with pytest.warns(UserWarning, match="1 rows of zeros") as warned:
            index = HashedNeighbors(hasher).fit(X.tolist())
        firsts = [str(warning.message).split(".")[0][-3:] for warning in warned]
        assert firsts == ["200", "299"]
        weights = hasher.query_weights(X[:5])
        scores = [weighted_scores(weights, both) for both in (codes, index.codes_)]
        assert_array_equal(*scores)

    def test_ctrl_c_leaves_what_was(self, few_digits, monkeypatch):
        X, _ = few_digits
        index = HashedNeighbors(ITQHasher(8)).fit(X)
        before = dict(vars(index))
        encode, n_calls = ITQHasher.encode, count()

        def interrupted(self, X):
            if next(n_calls) % 3 == 2:
                raise KeyboardInterrupt
            return encode(self, X)

        monkeypatch.setattr(ITQHasher, "encode", interrupted)
        for change in (index.fit, index.add):
            with pytest.raises(KeyboardInterrupt):
                change(X[::-1])
            assert vars(index) == before


def test_all_that_holds_a_hasher_hands_progress_on(few_digits):
    X, y = few_digits
    judgments = (y[:40, None] == y[:30]).astype(int)
    both, weights = CrossViewHasher(8, max_iter=2), CrossViewHasher(8, query="weights")
    for estimator, data, more, inner in (
        (MaxSimNeighbors(AdditiveHasher(8)), (X,), {}, "AdditiveHasher-iteration"),
        (ItemRanker(both, X, y), (X[:50], y[:50]), {}, "CrossViewHasher-epoch"),
        (GridSearchCV(ITQHasher(), {"n_bits": [4, 8]}), (X, y), {}, "ITQHasher-iteration"),
        (weights, (X, y), {}, "AdditiveHasher-iteration"),
        (both, (X, y), {}, "KernelRidgeClassifierCV-candidate"),
        (both, (X[:40], judgments), {"X_query": X[:30]}, "LeftOutRegression-candidate"),
    ):
        recorder, _ = recorded(estimator, *data, **more)
        assert any(path.endswith(f".{inner}") for path in recorder.begun), inner


def interrupt_task(monkeypatch, number):
    """Ctrl-C when the n-th task begins, from 1."""
    begin, calls = Progress.begin, count(1)

    def interrupted(self):
        begin(self)
        if self._estimator is not None and next(calls) == number:
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "begin", interrupted)


def test_ctrl_c_keeps_whole_tasks_or_nothing(case, monkeypatch):
    estimator, X, y = case
    before = dict(vars(estimator.fit(X, y)))
    is_additive = isinstance(estimator, AdditiveHasher)
    with monkeypatch.context() as patch:
        interrupt_task(patch, 1)
        passed_on = pytest.raises(KeyboardInterrupt)
        kept = pytest.warns(ConvergenceWarning, match="interrupted after 0 of")
        with kept if is_additive else passed_on:
            estimator.fit(X[::-1], y)
    if is_additive:  # what the first task would begin with
        assert estimator.n_iter_ == 0
        assert estimator.score(X) > 0.5
    else:
        assert vars(estimator) == before
    interrupt_task(monkeypatch, 2)
    with pytest.warns(ConvergenceWarning, match=r"interrupted after 1\b.*, and keeps "):
        estimator.fit(X, y)
    assert getattr(estimator, "n_iter_", 0) <= 1
    assert np.isfinite(estimator.decision_function(X)).all()


@pytest.mark.parametrize("estimator", [RIDGE, ClassProbabilities(RIDGE)], ids=name_of)
def test_ctrl_c_elsewhere_leaves_what_was(estimator, few_digits, monkeypatch):
    before = dict(vars(estimator := clone(estimator).fit(*few_digits)))
    interrupt_task(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(few_digits[0][::-1], few_digits[1])
    assert vars(estimator) == before


def test_verbose_prints_each_task(case, capsys):
    estimator, X, y = case
    estimator.set_params(verbose=True).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == n_tasks_of(estimator) > 1
    assert all(f" {n}" in line for n, line in enumerate(lines, 1))


def test_a_fit_that_nobody_sees_says_once_if_it_will_take_minutes(caplog, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("sklearn_talr._core.progress.time.perf_counter", lambda: now[0])
    for verbose, n_tasks, n_alike, seconds, told in [
        (False, 100, 100, 2.0, "is done, and the remaining epochs may take 4 minutes"),
        (False, 100, 100, 0.5, None),
        (False, 100, 3, 2.0, None),  # others take no time beside these
        (False, None, None, 90.0, None),  # nobody knows how many there are
        (True, 100, 100, 2.0, None),
    ]:
        caplog.clear()
        progress = Progress(small(verbose=verbose), n_tasks=n_tasks, name="epoch")
        progress.n_alike = n_alike
        for _ in range(3):
            progress.begin()
            now[0] += seconds if progress.n_done else 90.0  # the first compiles loops
            progress.end()
        assert len(caplog.records) == (told is not None)
        assert told is None or told in caplog.text
