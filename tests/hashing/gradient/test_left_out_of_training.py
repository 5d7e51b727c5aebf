"""Pairs that do not count in training: both engines, all losses of pairs, and fits."""

import numpy as np
import pytest
import torch
from engines import ENGINES, engine_of
from test_both_engines import KEPT, X, gradients

from sklearn_talr import TALRHasher, losses
from sklearn_talr.affinity import (
    JudgmentAffinity,
    LabelAffinity,
    PrecomputedAffinity,
    ThresholdAffinity,
)
from sklearn_talr.affinity._excluded import GroupedAffinity, within_groups
from sklearn_talr.hashing import CrossViewHasher
from sklearn_talr.losses import AveragePrecisionLoss, NDCGLoss
from sklearn_talr.losses._rankings import measure_rankings
from sklearn_talr.metrics import make_retrieval_scorer

rng = np.random.default_rng(1)
Y, GROUPS = rng.integers(-1, 4, 50), rng.integers(0, 5, 50)
MATRIX = rng.integers(-2, 3, (50, 50))
ROWS = np.array([31, 4, 7, 12, 40, 3, 22, 19, 48, 5, 0, 9])


class Fitted(GroupedAffinity):
    """A grouped affinity that an engine fits to targets, which come with their groups."""

    def fit_clone(self, y):
        return self


def grouped(affinity, y, groups=GROUPS):
    affinity, targets = within_groups(
        affinity.fit_clone(y), affinity.check_targets(y), groups
    )
    return Fitted(affinity.ungrouped), targets


TARGETS = {
    "groups": lambda: grouped(LabelAffinity(), Y % 3),
    "groups by distance": lambda: grouped(ThresholdAffinity((0.5, 0.1), levels=(1, 4)), X),
    "ignored label": lambda: (LabelAffinity(ignored=-1), Y),
    "matrix": lambda: (PrecomputedAffinity(MATRIX),) * 2,
}


@pytest.mark.parametrize("loss", [AveragePrecisionLoss(), NDCGLoss()], ids=repr)
@pytest.mark.parametrize("targets", TARGETS)
def test_engines_agree_and_see_what_is_left_of_each_query(loss, targets):
    affinity, y = TARGETS[targets]()
    host, other = (engine_of(each, loss, X, y, affinity) for each in ENGINES)
    for kept in (None, KEPT):
        (value, found), (expected, wanted) = (
            gradients(each, ROWS, kept, 2.0) for each in (host, other)
        )
        assert value == pytest.approx(expected, abs=1e-12)
        for mine, theirs in zip(found, wanted):
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-9)
    # One query at a time, whose other items are deleted
    index = host._level_index(ROWS).astype(np.int16)
    np.fill_diagonal(index, -1)
    assert np.any(np.sum(index < 0, axis=1) > 1)
    index = np.minimum(index, 1) if loss.measure == "AP" else index
    activations, _ = host._functions[0].forward(host._features[0].batch(ROWS), None)
    bits, values = np.tanh(2.0 * activations), []
    for q, levels in enumerate(index):
        items = bits[levels >= 0]
        if not len(items):
            continue
        rankings = measure_rankings(
            bits[q : q + 1],
            np.ascontiguousarray(items),
            levels[None, levels >= 0],
            tables=host.measure_tables(len(items)),
            n_bins=8,
        )
        values += [rankings.total] * rankings.n_queries
    assert host.gradients(ROWS, None, 2.0)[0] == pytest.approx(1 - np.mean(values))


LOSSES = [
    losses.AveragePrecisionLoss(),
    losses.NDCGLoss(),
    losses.MutualInformationLoss(),
    losses.DSHLoss(),
    losses.DPSHLoss(quantization_weight=0.0),
    losses.HashNetLoss(),
    losses.ContrastiveLoss(),
]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_losses_are_those_without_the_samples_that_do_not_count(loss):
    bits = torch.tanh(torch.from_numpy(rng.standard_normal((9, 6)))).requires_grad_()
    affinity = torch.from_numpy(np.equal.outer(Y[:9] % 2, Y[:9] % 2).astype(np.int64))
    left = affinity.clone()
    left[[2, 6]] = left[:, [2, 6]] = -1
    options = {"levels": torch.arange(2)} if loss.takes_levels else {}
    kept = np.setdiff1d(np.arange(9), [2, 6])
    value = loss(bits, left, **options)
    alone = loss(bits[kept], affinity[kept][:, kept], **options)
    assert value.item() == pytest.approx(alone.item(), abs=1e-9)
    (gradient,) = torch.autograd.grad(value, bits)
    assert torch.all(gradient[[2, 6]] == 0)
    assert gradient[kept].abs().min() > 0
    left[0, 3] = left[4, 1] = -1  # and single pairs
    assert torch.autograd.gradcheck(lambda x: loss(x, left, **options), bits, atol=1e-6)


def camera_problem():
    """Identities in some columns, and cameras in larger ones that tell nothing of them."""
    draw = np.random.default_rng(2)
    identity, camera = draw.integers(0, 12, 360), draw.integers(0, 3, 360)
    looks = draw.standard_normal((12, 6))[identity] + 0.5 * draw.standard_normal((360, 6))
    seen_by = 3 * draw.standard_normal((3, 6))[camera] + 0.1 * draw.standard_normal(
        (360, 6)
    )
    return np.hstack([looks, seen_by]), identity, identity * 3 + camera


def test_a_fit_with_groups_is_scored_by_pairs_of_other_groups(learned):
    X, y, groups = camera_problem()
    scorer = make_retrieval_scorer()
    how = {"n_bits": 12, "max_iter": 20, "random_state": 0}
    hasher = TALRHasher(**how).fit(X[:240], y[:240], groups=groups[:240])
    test = X[240:], y[240:]
    value = scorer(hasher, *test, groups=groups[240:])
    assert isinstance(hasher.affinity_, LabelAffinity)
    untrained = TALRHasher(**how | {"init": "random", "max_iter": 1}).fit(X[:240], y[:240])
    assert value > scorer(untrained, *test, groups=groups[240:])
    descended = TALRHasher(**how, early_stopping=True).fit(
        X[:240],
        y[:240],
        groups=groups[:240],
        X_val=test[0],
        y_val=test[1],
        groups_val=groups[240:],
    )
    best = scorer(descended, *test, groups=groups[240:])
    assert descended.best_validation_score_ <= best + 0.05
    chunk = TALRHasher(**how).partial_fit(X, y, groups=groups)
    other = TALRHasher(**how).partial_fit(X, y)
    assert np.any(chunk.coefs_[0] != other.coefs_[0])


def test_scores_and_labels_of_ignored_samples_change_no_fit():
    X, y, groups = camera_problem()
    X, y, groups = X[:90], y[:90] % 4, groups[:90]
    matrix = np.equal.outer(y, y).astype(int)
    matrix[groups[:, None] == groups] = -1
    how = {"n_bits": 6, "max_iter": 3, "batch_size": 30, "random_state": 0}
    by_groups = TALRHasher(**how).fit(
        X, PrecomputedAffinity(np.maximum(matrix, 0)), groups=groups
    )
    by_matrix = TALRHasher(**how).fit(X, PrecomputedAffinity(matrix))
    np.testing.assert_array_equal(by_groups.coefs_[0], by_matrix.coefs_[0])


def test_classes_have_no_pairs_to_leave_out():
    X, y, groups = camera_problem()
    with pytest.raises(ValueError, match=r"CSQLoss\(\) compares no pairs"):
        TALRHasher(loss=losses.CSQLoss()).fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="groups must be a label for each of 360 samples"):
        TALRHasher().fit(X, y, groups=groups[:3])
    with pytest.raises(ValueError, match="groups_val is passed without X_val"):
        TALRHasher(early_stopping=True).fit(X, y, groups=groups, groups_val=groups)
    with pytest.raises(ValueError, match="groups is None, but the other side has groups"):
        CrossViewHasher().fit(X, y, groups_query=groups)
    ignoring = TALRHasher(8, loss=losses.CSQLoss(), affinity=LabelAffinity(ignored=3))
    assert 3 not in ignoring.set_params(max_iter=1).fit(X, y).classes_


@pytest.mark.parametrize("views", ["rows", "queries", "judgments"])
def test_two_views_leave_groups_out_of_the_loss(views):
    X, y, groups = camera_problem()
    seen = []

    def loss(query_bits, item_bits, affinity):
        seen.append(affinity.numpy().copy())
        return (query_bits @ item_bits.T * affinity.clamp(min=0)).mean()

    how = {
        "loss": loss,
        "teacher": None,
        "max_iter": 1,
        "random_state": 0,
        "batch_size": 90,
    }
    hasher = CrossViewHasher(4, **how)
    if views == "rows":
        hasher.fit(X, y, groups=groups)
    elif views == "queries":
        of_queries = {"X_query": X[:90], "y_query": y[:90], "groups_query": groups[:90]}
        hasher.fit(X, y, groups=groups, **of_queries)
    else:
        judgments = np.equal.outer(y, y[:90]).astype(int)
        judgments[groups[:, None] == groups[:90]] = -1
        hasher.fit(X, judgments, X_query=X[:90])
        assert hasher.affinity_.unjudged == JudgmentAffinity().unjudged
    found = np.concatenate([each.ravel() for each in seen])
    assert set(np.unique(found)) == {-1, 0, 1}
    share = np.mean(groups[:, None] == groups)
    assert np.mean(found < 0) == pytest.approx(share, rel=0.5)
