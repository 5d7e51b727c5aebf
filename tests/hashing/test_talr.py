"""TALRHasher: what it maximizes, and nested codes."""

import numpy as np
import pytest
import torch
from hashers import MEASURES, loss_of, mean_ap, name_of, small
from sklearn.datasets import make_multilabel_classification
from sklearn.model_selection import train_test_split
from sklearn.utils import get_tags

from sklearn_talr import TALRHasher
from sklearn_talr.affinity import ThresholdAffinity
from sklearn_talr.hashing import _gradient
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.losses import AveragePrecisionLoss, CSQLoss, NDCGLoss, TieAwareLoss
from sklearn_talr.measures import AP, P, nDCG
from sklearn_talr.metrics import tie_aware_average_precision_score, tie_aware_ndcg_score


def test_a_measure_is_a_name_or_a_value(few_digits):
    for value, loss in ((AP, AveragePrecisionLoss()), (nDCG, NDCGLoss())):
        for measure in (str(value), value):
            hasher = small(loss=measure).fit(*few_digits)
            other = small(loss=loss).fit(*few_digits)
            assert hasher.loss_curve_ == other.loss_curve_
            np.testing.assert_array_equal(hasher.coefs_[0], other.coefs_[0])
            assert hasher.score(*few_digits) == other.score(*few_digits)


def test_encoding_reads_no_loss(few_digits, monkeypatch):
    """To parse a measure takes longer than to encode a row."""
    X, y = few_digits
    hasher = small().fit(X, y)

    def refuse(loss):
        raise AssertionError(loss)

    monkeypatch.setattr(_gradient, "loss_of", refuse)
    hasher.encode(X[:1])
    assert not get_tags(hasher).target_tags.required
    assert get_tags(small(loss=CSQLoss())).target_tags.required


@pytest.mark.parametrize(
    ("measure", "problem"),
    [
        (nDCG @ 10, "without a cutoff"),
        (AP(denominator="min"), "without a cutoff or parameters"),
        (P @ 5, "does not maximize P"),
    ],
    ids=str,
)
def test_training_knows_no_cutoff_and_no_other_measure(measure, problem, few_digits):
    for loss in (measure, str(measure)):
        with pytest.raises(ValueError, match=f"loss must be 'AP' or 'nDCG'.*{problem}"):
            small(loss=loss).fit(*few_digits)


@pytest.mark.parametrize("measure", MEASURES, ids=name_of)
@pytest.mark.parametrize("kind", ["labels", "indicators"])
def test_the_loss_is_the_tie_aware_loss_of_the_activations(few_digits, kind, measure):
    """In one step over all samples, before it is taken."""
    X, y = few_digits
    affinities = (y[:, None] == y).astype(int)
    if kind == "indicators":
        _, y = make_multilabel_classification(300, random_state=0)
        affinities = y @ y.T
    if measure["measure"] == "AP":
        affinities = np.minimum(affinities, 1)
    hasher = small(
        loss=loss_of(**measure), bit_dropout=0.0, batch_size=1000, tanh_scale=0.5
    )
    hasher.set_params(max_iter=1, learning_rate_init=1e-12).fit(X, y)
    levels = np.log2(np.arange(affinities.max() + 1) + 1.0)  # gains 0, 1, 2, ...
    loss = TieAwareLoss(**measure, levels=levels, tanh_scale=0.5)
    activations = torch.from_numpy(hasher.decision_function(X))
    expected = loss(activations, torch.from_numpy(affinities))
    assert hasher.loss_curve_ == [pytest.approx(expected.item(), abs=1e-5)]


@pytest.mark.parametrize("kind", ["shared labels", "distances", "ready", "function"])
def test_gains_of_training(few_digits, kind):
    """Numbers of shared labels, or 2**level - 1 of others; tanh makes the codes binary."""
    X, _ = few_digits
    labels = make_multilabel_classification(300, random_state=0)[1]
    targets, oracle = labels, "auto"
    affinities = labels @ labels.T
    if kind == "distances":
        targets, affinities = None, ThresholdAffinity().fit(X)(X, X)
    elif kind == "ready":
        targets = affinities
    elif kind == "function":
        oracle = _shared
    hasher = small(loss="nDCG", bit_dropout=0.0, batch_size=300, tanh_scale=1e9)
    hasher.set_params(affinity=oracle, max_iter=1, learning_rate_init=1e-12)
    hasher.fit(X, targets)
    codes = hasher.transform(X).astype(int)
    distances = np.sum(codes[:, None] != codes, axis=2)
    others = ~np.eye(300, dtype=bool)
    ranked = [table[others].reshape(300, 299) for table in (affinities, -distances)]
    linear, exponential = (
        tie_aware_ndcg_score(*ranked, dcg=dcg) for dcg in ("log2", "exp-log2")
    )
    assert linear != pytest.approx(exponential, abs=1e-3)
    expected = linear if kind == "shared labels" else exponential
    assert hasher.loss_curve_ == [pytest.approx(1 - expected, abs=1e-5)]


def _shared(A, B):
    return A @ B.T


_shared.levels_ = range(6)


@pytest.mark.parametrize(
    ("measure", "layers"),
    [(MEASURES[0], ()), (MEASURES[1], (32,)), (MEASURES[2], (32,)), (MEASURES[3], ())],
)
def test_training_beats_its_start(few_digits, measure, layers, learned):
    X, y = few_digits
    hasher = small(loss=loss_of(**measure), hidden_layer_sizes=layers, n_bits=16)
    hasher.set_params(random_state=learned.seed)
    hasher.set_params(max_iter=1, learning_rate_init=1e-9)
    start = hasher.fit(X, y).score(X, y)
    hasher.set_params(max_iter=30, learning_rate_init=0.02)
    learned.gain(hasher.fit(X, y).score(X, y) - start)


@pytest.mark.parametrize(
    ("measure", "metric"),
    [(MEASURES[1], tie_aware_average_precision_score), (MEASURES[2], tie_aware_ndcg_score)],
)
def test_score_is_the_measure(few_digits, measure, metric):
    X, _ = few_digits
    _, y = make_multilabel_classification(300, random_state=0)
    hasher = small(loss=loss_of(**measure)).fit(X, y)
    codes = hasher.transform(X).astype(int)
    affinities = y @ y.T
    values = []
    for query in range(300):
        others = np.arange(300) != query
        if affinities[query, others].any():
            distances = np.sum(codes[others] != codes[query], axis=1)
            values.append(metric(affinities[query, others][None], -distances[None]))
    assert hasher.score(X, y) == pytest.approx(np.mean(values))


@pytest.fixture(scope="module")
def split(digits):
    return train_test_split(*digits, test_size=0.25, stratify=digits[1], random_state=0)


class TestNested:
    """Every number of leading bits is a code."""

    def held_out(self, hasher, split, bits=slice(None)):
        X_database, X_query, y_database, y_query = split
        codes = [hasher.transform(X)[:, bits] for X in (X_query, X_database)]
        return mean_ap(hamming_histogram(*codes, "auto", y_query, y_database))

    def fit(self, split, n_bits, max_iter, **params):
        hasher = TALRHasher(n_bits, max_iter=max_iter, **params)
        return hasher.fit(split[0], split[2])

    def test_leading_bits_are_better_than_others(self, split, learned):
        """Than as many of plain codes, whichever these are, and than its own last."""
        nested, plain = (
            self.fit(split, 64, 10, init="random", nested=nested, random_state=learned.seed)
            for nested in (True, False)
        )
        rng = np.random.default_rng(learned.seed)
        parts = [self.held_out(plain, split, rng.permutation(64)[:8]) for _ in range(12)]
        leading = self.held_out(nested, split, slice(8))
        learned.gain(leading - np.mean(parts), "plain codes")
        last = self.held_out(nested, split, slice(-8, None))
        learned.gain(leading - last, "its own last")
