"""Losses of two views: slow definitions, gradients, and pairs of which nothing is known."""

import math

import numpy as np
import pytest
import torch
from hashers import name_of
from reference import evaluate, rankings
from sklearn.base import clone

from sklearn_talr.losses import (
    AveragePrecisionLoss,
    BaseLoss,
    Batch,
    ContrastiveLoss,
    CSQLoss,
    DCMHLoss,
    DPSHLoss,
    DSHLoss,
    DTSHLoss,
    HashNetLoss,
    LossContext,
    MutualInformationLoss,
    NDCGLoss,
    OrthoHashLoss,
)
from sklearn_talr.losses._tie_aware import loss_of

N_QUERIES, N_ITEMS, N_BITS = 6, 7, 5
LOSSES = [
    AveragePrecisionLoss(),
    NDCGLoss(),
    AveragePrecisionLoss(simplified=True),
    NDCGLoss(simplified=True),
    DCMHLoss(quantization_weight=0.3, balance_weight=0.2),
    ContrastiveLoss(temperature=0.4),
    DPSHLoss(quantization_weight=0.3),
    DSHLoss(margin=1),
    DTSHLoss(),
    HashNetLoss(),
]
OF_ONE_VIEW = [CSQLoss(), OrthoHashLoss(), MutualInformationLoss()]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=str)


@pytest.fixture
def batch():
    """Bits of queries and of items, and grades of pairs: -1 where nothing is known."""
    rng = np.random.default_rng(3)
    query, items = (rng.uniform(-0.9, 0.9, (n, N_BITS)) for n in (N_QUERIES, N_ITEMS))
    grades = rng.integers(-1, 3, (N_QUERIES, N_ITEMS))
    grades[0] = np.minimum(grades[0], 0)  # nothing is relevant
    grades[1] = -1  # nothing is known
    return query, items, grades


def tensors(*arrays):
    return [torch.from_numpy(array) for array in arrays]


@pytest.mark.parametrize(
    ("loss", "metric"),
    [(AveragePrecisionLoss(), "average_precision"), (NDCGLoss(), "ndcg")],
    ids=name_of,
)
@pytest.mark.parametrize("seed", range(5))
def test_rankings_of_signs(loss, metric, seed):
    """Of known items alone, averaged over all orders of ties."""
    rng = np.random.default_rng(seed)
    query, items = (np.sign(rng.normal(size=(n, 3))) for n in (N_QUERIES, N_ITEMS))
    grades = rng.integers(-1, 3, (N_QUERIES, N_ITEMS))
    grades[1] = -1
    values = []
    for bits, of_query in zip(query, grades):
        known = of_query >= 0
        if not np.any(of_query > 0):
            continue
        products = items[known] @ bits
        orders = list(rankings(of_query[known].tolist(), products.tolist()))
        values.append(np.mean([evaluate(metric, order) for order in orders]))
    found = loss.between(*tensors(query, items, grades)).item()
    assert found == pytest.approx(1 - np.mean(values), abs=1e-9)


def test_likelihood_of_pairs(batch):
    query, items, grades = batch
    terms = []
    for i, j in zip(*np.nonzero(grades >= 0)):
        theta = query[i] @ items[j] * 8 / N_BITS / 2
        probability = 1 / (1 + math.exp(-theta))
        terms.append(-math.log(probability if grades[i, j] else 1 - probability))
    expected = np.mean(terms)
    for bits in (query, items):
        expected += 0.3 * np.mean((np.sign(bits) - bits) ** 2)
        expected += 0.2 * np.mean([np.mean(bits[:, b]) ** 2 for b in range(N_BITS)])
    loss = DCMHLoss(quantization_weight=0.3, balance_weight=0.2)
    found = loss.between(*tensors(query, items, grades), n_bits=8).item()
    assert found == pytest.approx(expected)


def choice_by_definition(query, items, grades, temperature):
    """Mean over rows of the mean of -ln of the share of each relevant known column."""
    losses = []
    for bits, of_row in zip(query, grades):
        scores = [bits @ item / N_BITS / temperature for item in items]
        total = sum(math.exp(s) for s, grade in zip(scores, of_row) if grade >= 0)
        shares = [math.exp(s) / total for s, grade in zip(scores, of_row) if grade > 0]
        if shares:
            losses.append(-np.mean(np.log(shares)))
    return np.mean(losses)


def test_choice_in_both_directions(batch):
    query, items, grades = batch
    expected = choice_by_definition(query, items, grades, 0.4) / 2
    expected += choice_by_definition(items, query, grades.T, 0.4) / 2
    loss = ContrastiveLoss(temperature=0.4)
    for n_bits in (None, 8):  # products are means, of however many bits
        found = loss.between(*tensors(query, items, grades), n_bits=n_bits).item()
        assert found == pytest.approx(expected)


@every_loss
class TestEveryLoss:
    def test_gradient(self, loss, batch):
        query, items, grades = tensors(*batch)
        query.requires_grad_()
        items.requires_grad_()
        both = (query, items)
        assert torch.autograd.gradcheck(lambda q, x: loss.between(q, x, grades), both)

    def test_unknown_pairs_do_not_count(self, loss, batch):
        """An item that nobody knows may be anywhere, where bits are not penalized."""
        query, items, grades = batch
        grades[:, 2] = -1
        loss = clone(loss)
        weights = [name for name in loss.get_params() if name.endswith("weight")]
        loss.set_params(**dict.fromkeys(weights, 0))
        expected = loss.between(
            *tensors(query, np.delete(items, 2, 0)), *tensors(np.delete(grades, 2, 1))
        )
        items = torch.from_numpy(items).requires_grad_()
        found = loss.between(*tensors(query), items, *tensors(grades))
        torch.testing.assert_close(found, expected)
        found.backward()
        assert torch.all(items.grad[2] == 0)
        assert torch.any(items.grad != 0)

    def test_one_view_is_its_own_other_view(self, loss, batch):
        """Samples do not look for themselves, whatever the affinity says of them."""
        bits = torch.from_numpy(batch[0])
        affinity = np.abs(np.random.default_rng(0).integers(-2, 3, (6, 6)))
        affinity, others = affinity + affinity.T, affinity + affinity.T
        np.fill_diagonal(affinity, 4)
        np.fill_diagonal(others, -1)
        for dtype in (np.int64, np.float64):
            once, between = tensors(affinity.astype(dtype), others.astype(dtype))
            # Levels up to 4 on both sides: gains differ, unused ones do not matter.
            expected = loss.between(bits, bits, between)
            torch.testing.assert_close(loss(bits, once), expected)

    @pytest.mark.parametrize("grade", [-1, 0, 1])
    def test_pairs_that_are_all_alike(self, loss, batch, grade):
        """Also of saturated bits; values and gradients are finite."""
        for change in (np.asarray, np.sign):
            leaves = [torch.from_numpy(change(bits)).float() for bits in batch[:2]]
            for leaf in leaves:
                leaf.requires_grad_()
            value = loss.between(*leaves, torch.full((N_QUERIES, N_ITEMS), grade))
            assert torch.isfinite(value)
            if value.requires_grad:
                value.backward()
                assert all(torch.isfinite(leaf.grad).all() for leaf in leaves)
            if grade < 1 and isinstance(loss, AveragePrecisionLoss | NDCGLoss):
                assert value == 1
            if grade < 1 and isinstance(loss, ContrastiveLoss):
                assert value == 0

    def test_it_is_bound_to_training(self, loss, batch):
        query, items, index = tensors(*batch)
        values = torch.where(index < 0, -1, torch.tensor([0, 2, 3])[index.clamp(min=0)])
        expected = loss.between(query, items, values, n_bits=8)
        torch.testing.assert_close(bound(loss, query, items, index), expected)


def bound(loss, query=None, items=None, index=None, is_relaxed=True):
    """The loss of a step of two views, whose codes have eight bits."""
    levels = np.array([0, 2, 3])
    context = LossContext(
        affinity=None,
        targets=None,
        levels=levels,
        gain_levels=levels,
        n_bits=8,
        is_relaxed=is_relaxed,
        device=torch.device("cpu"),
        rng=np.random.RandomState(0),
        fitted_before={},
    )
    step, _ = loss_of(loss).bind(context)
    return step(Batch((query, items), lambda: index.to(torch.int16), None, None, None))


@pytest.mark.parametrize("loss", OF_ONE_VIEW, ids=name_of)
def test_a_loss_of_one_view_is_refused(loss, batch):
    """By name, with others that know two."""
    message = r"Loss\(\) knows samples of one kind only.*such as AveragePrecisionLoss"
    with pytest.raises(ValueError, match=message):
        bound(loss, *tensors(*batch))


def test_a_function_of_the_user_gets_affinities_of_pairs(batch):
    query, items, index = tensors(*batch)
    seen = []

    def loss(query_bits, item_bits, affinity):
        seen.append(affinity)
        return (query_bits @ item_bits.T * affinity).mean()

    class Loss:
        between = staticmethod(loss)

    for each in (loss, Loss()):
        value = bound(each, query, items, index)
        expected = np.array([0, 2, 3, -1])[batch[2]]
        np.testing.assert_array_equal(seen.pop(), expected)
        assert value.item() == pytest.approx(np.mean(batch[0] @ batch[1].T * expected))


def test_a_loss_of_ones_own_defines_one_method(batch):
    """And serves both kinds of hashers; affinities come as they are, but -1 for itself."""

    class Mean(BaseLoss):
        def between(self, query_bits, item_bits, affinity, n_bits=None):
            assert n_bits in (None, 8)
            return (query_bits @ item_bits.T * affinity).mean()

    query, items, index = tensors(*batch)
    expected = np.array([0, 2, 3, -1])[batch[2]]
    found = bound(Mean(), query, items, index).item()
    assert found == pytest.approx(np.mean(batch[0] @ batch[1].T * expected))
    affinity = np.arange(36).reshape(6, 6) % 4
    found = Mean()(query, torch.from_numpy(affinity)).item()
    np.fill_diagonal(affinity, -1)
    assert found == pytest.approx(np.mean(batch[0] @ batch[0].T * affinity))
