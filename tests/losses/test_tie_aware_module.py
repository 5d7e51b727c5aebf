"""TieAwareLoss: one minus the metric, whatever form the targets have."""

import numpy as np
import pytest
import torch
from hashers import MEASURES, name_of

from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.losses import TieAwareLoss
from sklearn_talr.measures import AP, nDCG

N, N_BITS = 30, 8


def draw(kind, n=N):
    """Activations of saturated codes, targets, and the oracle that understands them."""
    rng = np.random.default_rng(0)
    activations = torch.from_numpy(rng.choice([-30.0, 30.0], size=(n, N_BITS)))
    if kind == "labels":
        return activations, torch.from_numpy(rng.integers(4, size=n)), LabelAffinity()
    indicators = torch.from_numpy((rng.random((n, 5)) < 0.3).astype(int))
    return activations, indicators, SharedLabelAffinity()


def bits(activations):
    return (activations > 0).numpy().astype(np.uint8)


METRICS = [("AP", AP), ("nDCG", nDCG)]


@pytest.mark.parametrize("kind", ["labels", "indicators"])
def test_equals_one_minus_the_metric_of_saturated_codes(kind):
    for measure, metric in METRICS:
        activations, targets, affinity = draw(kind)
        codes, y = bits(activations), targets.numpy()
        histogram = hamming_histogram(codes, codes, affinity, y, y, exclude_self=True)
        loss = TieAwareLoss(measure)(activations, targets)
        assert loss.shape == ()
        assert loss.item() == pytest.approx(1 - np.nanmean(metric.of(histogram)), abs=1e-10)


@pytest.mark.parametrize("kind", ["labels", "indicators"])
def test_queries_rank_a_database_of_their_own(kind):
    for measure, metric in METRICS:
        activations, targets, affinity = draw(kind)
        codes, y = bits(activations), targets.numpy()
        histogram = hamming_histogram(codes[:10], codes[10:], affinity, y[:10], y[10:])
        sides = activations[:10], targets[:10], activations[10:], targets[10:]
        loss = TieAwareLoss(measure)(*sides)
        assert loss.item() == pytest.approx(1 - np.nanmean(metric.of(histogram)), abs=1e-10)


@pytest.mark.parametrize("kind", ["labels", "indicators"])
def test_targets_agree_with_declared_levels(kind):
    for measure in MEASURES:
        activations, targets, affinity = draw(kind)
        activations /= 30
        index = torch.from_numpy(affinity(targets.numpy(), targets.numpy()))
        declared = TieAwareLoss(**measure, levels=range(7))
        expected = TieAwareLoss(**measure)(activations, targets)
        torch.testing.assert_close(declared(activations, index), expected)
        torch.testing.assert_close(
            declared(activations[:7], index[:7, 9:], activations[9:]),
            TieAwareLoss(**measure)(
                activations[:7], targets[:7], activations[9:], targets[9:]
            ),
        )


@pytest.mark.parametrize("measure", MEASURES, ids=name_of)
def test_gradcheck(measure):
    rng = np.random.default_rng(1)
    activations = torch.from_numpy(rng.standard_normal((9, 6))).requires_grad_()
    labels = torch.from_numpy(rng.integers(3, size=9))
    loss = TieAwareLoss(**measure, tanh_scale=0.7)
    torch.autograd.gradcheck(lambda a: loss(a, labels), activations)
    loss = TieAwareLoss(**measure, tanh_scale=0.7, n_bins=5)
    queries, database = activations.detach()[:4], activations.detach()[4:]
    torch.autograd.gradcheck(
        lambda q, d: loss(q, labels[:4], d, labels[4:]),
        (queries.requires_grad_(), database.requires_grad_()),
    )


def test_no_similar_pairs_means_no_gradient():
    for measure in MEASURES:
        activations = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
        activations.requires_grad_()
        loss = TieAwareLoss(**measure)(activations, torch.arange(5))
        loss.backward()
        assert loss.item() == 1
        assert torch.equal(activations.grad, torch.zeros(5, 4))


def test_bit_dropout_only_in_training_and_reproducible():
    activations, targets, _ = draw("labels")
    loss = TieAwareLoss(bit_dropout=0.5)
    plain = TieAwareLoss()(activations, targets)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        first = loss(activations, targets)
        torch.manual_seed(0)
        again = loss(activations, targets)
        kept = torch.randperm(N_BITS, generator=torch.Generator().manual_seed(0))[:4]
    assert torch.equal(first, again)
    expected = TieAwareLoss()(activations[:, kept], targets)
    torch.testing.assert_close(first, expected)
    assert torch.equal(loss.eval()(activations, targets), plain)


def test_half_precision_counts_in_float32():
    activations, targets, _ = draw("labels")
    half = activations.to(torch.bfloat16).requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value = TieAwareLoss()(half, targets)
    value.backward()
    assert value.dtype == torch.float32
    assert half.grad.dtype == torch.bfloat16
    torch.testing.assert_close(value, TieAwareLoss()(activations.float(), targets))


def test_bad_parameters_are_refused():
    for parameters, message in [
        ({"measure": "nDCG@10"}, "without a cutoff"),
        ({"bit_dropout": 1.0}, "bit_dropout"),
        ({"tanh_scale": 0.0}, "tanh_scale"),
        ({"n_bins": 0}, "n_bins"),
        ({"levels": [1, 2]}, "levels must be ascending"),
        ({"levels": [0, 2, 1]}, "levels must be ascending"),
        ({"levels": [[0, 1]]}, "levels must be ascending"),
    ]:
        with pytest.raises(ValueError, match=message):
            TieAwareLoss(**parameters)


def test_targets_that_do_not_fit_are_refused():
    pairs = [((6, 1, 1), None), ((6,), (6, 2)), ((6, 3), (6, 2)), ((6,), "none")]
    for targets, database in pairs:
        activations = torch.zeros(6, 4)
        rest = () if database is None else (activations,)
        if database not in (None, "none"):
            rest += (torch.zeros(database),)
        with pytest.raises(ValueError, match="must both be labels"):
            TieAwareLoss()(activations, torch.zeros(targets), *rest)


@pytest.mark.parametrize("measure", ["AP", "nDCG"])
def test_affinities_in_place_of_places_of_levels_are_refused(measure):
    """They would be written beside a table."""
    targets = torch.zeros(6, 6, dtype=int)
    targets[0, 3] = 5
    with pytest.raises(ValueError, match="places of levels, not affinities"):
        TieAwareLoss(measure, levels=[0, 5])(torch.zeros(6, 4), targets)
