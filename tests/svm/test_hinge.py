"""RankingHingeLoss: its value by definition, its semi-gradient, and the SVM's."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from reference import DELTA, most_violating

from sklearn_talr.svm import RankingHingeLoss, RankingSVC


def by_definition(scores, targets, loss):
    """The maximum over all rankings, one query."""
    positive, negative = (np.sort(scores[targets == t])[::-1] for t in (1, 0))
    best, _ = most_violating(positive, negative, DELTA[loss])
    return best - np.mean(positive[:, None] - negative)


@pytest.mark.parametrize("loss", ["AP", "nDCG"])
def test_value_by_definition(loss):
    rng = np.random.default_rng(0)
    targets = np.array([[1, 0, 0, 1, 0], [0, 0, 1, 0, 0], [1, 1, 1, 0, 1], [0, 0, 0, 0, 0]])
    both = rng.normal(size=(4, 5)), rng.integers(3, size=(4, 5)) / 2  # the latter are tied
    for scores in both:
        module = RankingHingeLoss(loss)
        expected = [by_definition(s, t, loss) for s, t in zip(scores[:3], targets)]
        for s, t, value in zip(scores, targets, expected):
            assert module(torch.tensor(s), torch.tensor(t)).item() == pytest.approx(value)
        batch = module(torch.tensor(scores), torch.tensor(targets))  # the last has no say
        assert batch.item() == pytest.approx(np.mean(expected))


@pytest.mark.parametrize("loss", ["AP", "nDCG"])
def test_gradient(loss):
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(3, 12, generator=generator, dtype=torch.float64)
    targets = torch.arange(36).reshape(3, 12) % 5 < 2
    module = RankingHingeLoss(loss)
    scores.requires_grad_()
    assert torch.autograd.gradcheck(lambda s: module(s, targets), scores, eps=1e-7)


def test_gradient_vanishes_at_the_optimum_of_the_svm():
    """Few steps of descent from the SVM's weights gain no more than its gap allows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    y = (X[:, 0] + rng.normal(size=80) > 1).astype(int)
    svc = RankingSVC("nDCG", 0.2, tol=1e-6).fit(X, y)
    features, targets = torch.tensor(X), torch.tensor(y)
    w = torch.tensor(svc.coef_[0], requires_grad=True)

    def objective():
        risk = RankingHingeLoss("nDCG")(features @ w, targets)
        return w @ w / 2 + svc.C * len(y) * risk

    assert objective().item() == pytest.approx(svc.objective_, rel=1e-9)
    optimizer = torch.optim.SGD([w], lr=1e-5)
    for _ in range(50):
        optimizer.zero_grad()
        value = objective()
        value.backward()
        optimizer.step()
        assert value.item() >= svc.objective_ * (1 - svc.dual_gap_)


def test_types():
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        scores = torch.tensor([1.0, 0.5, 0.0], dtype=dtype, requires_grad=True)
        loss = RankingHingeLoss()(scores, torch.tensor([0.0, 2.0, 0.0]))
        assert loss.dtype == torch.promote_types(dtype, torch.float32)
        loss.backward()
        assert scores.grad.dtype == dtype
        assert_allclose(scores.grad.double().sum(), 0, atol=1e-3)


def test_nothing_to_rank_is_zero():
    for targets in ([0, 0], [1, 1]):
        assert RankingHingeLoss()(torch.randn(2), torch.tensor(targets)) == 0
    assert RankingHingeLoss()(torch.empty(0, 3), torch.empty(0, 3)) == 0


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_a_device():
    scores = torch.randn(4, 30, generator=torch.Generator().manual_seed(0))
    targets = torch.arange(120).reshape(4, 30) % 7 == 0
    loss = RankingHingeLoss()(scores.cuda(), targets.cuda())
    assert loss.device.type == "cuda"
    assert loss.item() == pytest.approx(RankingHingeLoss()(scores, targets).item())


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="loss must be 'AP' or 'nDCG', got 'zero"):
        RankingHingeLoss("zero_one")
    with pytest.raises(ValueError, match="must have one shape"):
        RankingHingeLoss()(torch.zeros(3), torch.zeros(2))
    with pytest.raises(ValueError, match="must have one shape"):
        RankingHingeLoss()(torch.zeros(1, 1, 1), torch.zeros(1, 1, 1))
    with pytest.raises(ValueError, match="must be finite"):
        RankingHingeLoss()(torch.tensor([1.0, torch.nan]), torch.tensor([1, 0]))
