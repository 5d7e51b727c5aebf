"""Measures of soft counts: exact at integer counts, right gradients, finite everywhere."""

import mpmath
import numpy as np
import pytest
import torch
from scipy.special import digamma, polygamma

from sklearn_talr._loops import _soft
from sklearn_talr.histogram import RankingHistogram
from sklearn_talr.losses import (
    simplified_average_precision,
    simplified_ndcg,
    soft_average_precision,
    soft_counts,
    soft_ndcg,
)
from sklearn_talr.measures import AP, nDCG

SOFT_MEASURES = [soft_average_precision, simplified_average_precision]
SOFT_MEASURES += [soft_ndcg, simplified_ndcg]
EXACT = [(soft_average_precision, AP), (soft_ndcg, nDCG)]
SIMPLIFIED = [
    (simplified_average_precision, soft_average_precision),
    (simplified_ndcg, soft_ndcg),
]
LEVELS = {"binary": [0, 1], "graded": [0, 1, 2, 5, 10]}


def integer_counts(rng, n_queries, n_levels, n_bins, most):
    """Random tables with many empty bins, ties of one and bins without positives."""
    counts = rng.integers(most + 1, size=(n_queries, n_levels, n_bins + 1))
    counts *= rng.random(counts.shape) < 0.5
    return counts


@pytest.mark.parametrize(("measure", "metric"), EXACT)
def test_exact_measure_is_the_metric_at_integer_counts(measure, metric):
    """In lists without ties, with small ones and with large ones; in several blocks."""
    for levels in LEVELS.values():
        rng = np.random.default_rng(0)
        counts = [integer_counts(rng, 300, len(levels), 16, most) for most in (1, 3, 400)]
        counts = np.concatenate(counts)
        histogram = RankingHistogram(counts, np.array(levels))
        value = measure(torch.from_numpy(counts).double(), torch.tensor(levels)).numpy()
        expected = metric.of(histogram, zero_division=0.0)
        np.testing.assert_allclose(value, expected, atol=1e-10)


@pytest.mark.parametrize(("simplified", "exact"), SIMPLIFIED)
def test_simplified_measure_is_exact_without_ties(simplified, exact):
    for levels in LEVELS.values():
        rng = np.random.default_rng(2)
        counts = np.zeros((50, len(levels), 12))
        index = rng.integers(len(levels), size=(50, 12))
        np.put_along_axis(counts, index[:, None], 1.0, axis=1)
        counts, levels = torch.from_numpy(counts), torch.tensor(levels)
        torch.testing.assert_close(simplified(counts, levels), exact(counts, levels))


@pytest.mark.parametrize("measure", SOFT_MEASURES)
@pytest.mark.parametrize("levels", LEVELS.values(), ids=LEVELS)
def test_gradcheck_through_the_counts(measure, levels):
    for n_bits, n_bins, batch in ((1, 1, 3), (8, 3, 7)):
        rng = np.random.default_rng(5)
        bits = torch.from_numpy(rng.uniform(-1, 1, (batch, n_bits))).requires_grad_()
        index = torch.from_numpy(rng.integers(len(levels), size=(batch, batch)))
        options = {"n_levels": len(levels), "n_bins": n_bins, "exclude_self": True}
        torch.autograd.gradcheck(
            lambda b, index=index, options=options: measure(
                soft_counts(b, b, index, **options), torch.tensor(levels)
            ),
            bits,
        )


@pytest.mark.parametrize("measure", SOFT_MEASURES)
def test_gradcheck_in_the_counts(measure):
    """Fractional counts in every bin; kinks of NDCG lie at integer cumulative counts."""
    rng = np.random.default_rng(6)
    counts = torch.from_numpy(rng.uniform(0.1, 2.9, (8, 3, 6))).requires_grad_()
    levels = torch.tensor([0, 1, 2])
    torch.autograd.gradcheck(lambda c: measure(c, levels), counts)


def special_tables():
    """Tables at which the formulas as printed in the paper are infinite or 0 / 0."""
    empty = torch.zeros(1, 2, 5, dtype=torch.float64)
    tables = {name: empty.clone() for name in ("nothing", "tied", "ones", "negatives")}
    tables["tied"][0, :, 2] = torch.tensor([7.0, 3.0])
    tables["ones"][0] = torch.tensor([[1.0, 0, 1, 0, 1], [0.0, 1, 0, 1, 0]])
    tables["negatives"][0, 0] = 2.0
    tables["positives"] = empty.clone()
    tables["positives"][0, 1] = 2.0
    tables["late"] = empty.clone()
    tables["late"][0, :, 4] = torch.tensor([1.0, 1.0])
    tables["tiny"] = torch.full_like(empty, 1e-12)
    tables["near one"] = torch.full_like(empty, 0.5 + 1e-13)
    return tables


def test_values_and_gradients_are_finite():
    for measure in SOFT_MEASURES:
        for dtype in [torch.float32, torch.float64]:
            for name, table in special_tables().items():
                counts = table.to(dtype).requires_grad_()
                value = measure(counts, torch.tensor([0, 1]))
                value.sum().backward()
                assert value.dtype == dtype
                assert torch.isfinite(value).all(), name
                assert torch.isfinite(counts.grad).all(), name


def test_nothing_relevant_gives_zero_and_no_gradient():
    for measure in SOFT_MEASURES:
        counts = special_tables()["negatives"].requires_grad_()
        value = measure(counts, torch.tensor([0, 1]))
        value.sum().backward()
        assert value.item() == 0
        # Only the positives' own cells may ask for more of themselves.
        assert torch.equal(counts.grad[:, 0], torch.zeros_like(counts.grad[:, 0]))


def test_a_single_level_has_nothing_relevant():
    for measure in SOFT_MEASURES:
        counts = torch.ones(3, 1, 4, requires_grad=True)
        value = measure(counts, torch.tensor([0]))
        value.sum().backward()
        assert not value.any()
        assert not counts.grad.any()


@pytest.mark.parametrize("measure", SOFT_MEASURES)
def test_counts_that_are_no_numbers_or_negative(measure):
    counts, levels = torch.ones(2, 2, 4), torch.tensor([0, 1])
    counts[1, 1, 2] = torch.nan
    assert measure(counts, levels).isnan().any()
    counts[1, 1, 2] = -50
    with pytest.raises(ValueError, match="counts must be at least 0, got -50"):
        measure(counts, levels)


@pytest.mark.parametrize("before", [0.4, 1.3, 59.0, 5000.0])
@pytest.mark.parametrize("c", [0.0, 1e-7, 0.2, 0.9995, 1.0, 1 + 1e-7, 1.0005, 3.0, 250.0])
def test_average_precision_where_its_formula_divides_zero_by_zero(before, c):
    """Against digamma with 40 digits. Derivatives at a pole are right to about 1e-3."""
    # A tie of c items, 30 % of them relevant, behind others

    def truth(c, p):
        x, a = before + 1, mpmath.mpf("0.25") * before + 1
        slope = (mpmath.digamma(x + c) - mpmath.digamma(x)) / c
        curve = (mpmath.mpf(1) / x - slope) / (c - 1)
        return p * ((p - 1) * x * curve + a * slope)

    counts = torch.tensor([[[0.75 * before, 0.7 * c], [0.25 * before, 0.3 * c]]]).double()
    levels = torch.tensor([0, 1])
    with mpmath.workdps(40):
        aside = mpmath.mpf("1e-12")  # from the poles that can be removed
        c, p = mpmath.mpf(c) + aside, mpmath.mpf(0.3 * c)
        expected = truth(c, p)
        by_c = (truth(c + aside / 10, p) - expected) / (aside / 10)
        by_p = (truth(c, p + aside / 10) - expected) / (aside / 10)
    counts.requires_grad_()
    total = soft_average_precision(counts, levels) * counts[0, 1].sum()
    first = counts[:, :, :1].detach()
    total = total - soft_average_precision(first, levels) * first[0, 1].sum()
    total.sum().backward()
    assert float(total.detach()) == pytest.approx(float(expected), rel=1e-6, abs=1e-7)
    assert float(counts.grad[0, 0, 1]) == pytest.approx(float(by_c), rel=4e-3, abs=2e-5)
    both = float(by_c + by_p)
    assert float(counts.grad[0, 1, 1]) == pytest.approx(both, rel=4e-3, abs=2e-5)


def test_digamma_and_trigamma_equal_scipy():
    x = np.concatenate([np.linspace(1, 12, 500), [100.0, 1e4, 1e7]])
    psi, trigamma, spare = np.empty((3, len(x)))
    _soft.digamma_and_trigamma(x, psi, trigamma, spare)
    np.testing.assert_allclose(psi, digamma(x), rtol=0, atol=2e-11)
    np.testing.assert_allclose(trigamma, polygamma(1, x), rtol=3e-8)
