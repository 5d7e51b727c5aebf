"""Soft counts against a double loop, and their gradient against finite differences."""

import numpy as np
import pytest
import torch

from sklearn_talr.losses import _soft_counts as module
from sklearn_talr.losses import soft_counts


def counts_by_loop(query, database, level_index, n_levels, n_bins, exclude_self):
    """Eq. 13 to 15: every pair and bin; triangular kernel of bin width b / n_bins."""
    n_bits = query.shape[1]
    width = n_bits / n_bins
    counts = np.zeros((len(query), n_levels, n_bins + 1))
    for q, phi in enumerate(query):
        for i, phi_other in enumerate(database):
            if exclude_self and q == i:
                continue
            distance = (n_bits - phi @ phi_other) / 2
            for j in range(n_bins + 1):
                kernel = max(0.0, 1 - abs(distance - j * width) / width)
                counts[q, level_index[q, i], j] += kernel
    return counts


def draw(rng, n_query, n_database, n_bits, n_levels):
    query = torch.from_numpy(rng.uniform(-1, 1, (n_query, n_bits)))
    database = torch.from_numpy(rng.uniform(-1, 1, (n_database, n_bits)))
    level_index = torch.from_numpy(rng.integers(n_levels, size=(n_query, n_database)))
    return query, database, level_index


GRID = [
    # n_bits, n_bins, (n_query, n_database), n_levels
    (1, 1, (2, 3), 1),
    (1, 3, (3, 3), 2),
    (4, None, (5, 7), 2),
    (8, 4, (6, 6), 3),
    (8, 16, (4, 9), 2),
    (16, 5, (9, 9), 5),
]


@pytest.mark.parametrize(("n_bits", "n_bins", "shape", "n_levels"), GRID)
def test_equals_double_loop(n_bits, n_bins, shape, n_levels):
    for exclude_self in [False, True]:
        rng = np.random.default_rng(0)
        query, database, index = draw(rng, *shape, n_bits, n_levels)
        counts = soft_counts(
            query, database, index, n_levels, n_bins=n_bins, exclude_self=exclude_self
        )
        expected = counts_by_loop(
            query.numpy(),
            database.numpy(),
            index.numpy(),
            n_levels,
            n_bins or n_bits,
            exclude_self,
        )
        np.testing.assert_allclose(counts.numpy(), expected, atol=1e-12)


@pytest.mark.parametrize(("n_bits", "n_bins", "shape", "n_levels"), GRID[1:4])
@pytest.mark.parametrize("exclude_self", [False, True])
def test_gradcheck(n_bits, n_bins, shape, n_levels, exclude_self):
    rng = np.random.default_rng(1)  # uniform bits: distances miss the kinks
    query, database, index = draw(rng, *shape, n_bits, n_levels)
    torch.autograd.gradcheck(
        lambda q, d: soft_counts(
            q, d, index, n_levels, n_bins=n_bins, exclude_self=exclude_self
        ),
        (query.requires_grad_(), database.requires_grad_()),
    )


@pytest.mark.parametrize("exclude_self", [False, True])
def test_a_device_counts_like_the_loop(monkeypatch, exclude_self):
    """What runs on CUDA, here on the CPU."""
    rng = np.random.default_rng(8)
    query, _, index = draw(rng, 40, 40, 12, 3)
    query[0], query[1] = 1, -1  # distances 0 and 12
    weights = torch.from_numpy(rng.standard_normal((40, 3, 9)))
    found = []
    for on_host in (True, False):
        monkeypatch.setattr(module, "is_on_host", lambda tensor, host=on_host: host)
        leaf = query.clone().requires_grad_()
        options = {"n_bins": 8, "exclude_self": exclude_self}
        counts = soft_counts(leaf, leaf, index, 3, **options)
        (counts * weights).sum().backward()
        found.append((counts.detach(), leaf.grad))
    for loop, device in zip(*found):
        torch.testing.assert_close(loop, device)


def test_half_precision_is_counted_in_single():
    for dtype in [torch.float16, torch.bfloat16]:
        rng = np.random.default_rng(9)
        bits, _, index = draw(rng, 40, 40, 8, 2)
        half, single = (
            bits.to(dtype).to(t).requires_grad_() for t in (dtype, torch.float32)
        )
        found, expected = (soft_counts(leaf, leaf, index, 2) for leaf in (half, single))
        torch.testing.assert_close(found, expected.to(dtype))
        for counts in (found, expected):
            counts[:, 1, :3].sum().backward()
        torch.testing.assert_close(half.grad, single.grad.to(dtype))


def test_saturated_bits_give_integer_counts_and_finite_gradients():
    rng = np.random.default_rng(5)
    bits = torch.from_numpy(rng.choice([-1.0, 1.0], size=(9, 6))).requires_grad_()
    index = torch.from_numpy(rng.integers(2, size=(9, 9)))
    counts = soft_counts(bits, bits, index, 2, exclude_self=True)
    assert torch.equal(counts, counts.round())
    counts.square().sum().backward()
    assert torch.isfinite(bits.grad).all()


def test_rounding_beyond_the_last_bin_is_held_inside():
    """Opposite float32 codes whose product falls short of -n_bits by rounding."""
    bits = torch.full((2, 7), 1 / 0.9999999, dtype=torch.float32)
    bits[1] *= -1
    counts = soft_counts(bits, bits, torch.ones(2, 2, dtype=torch.int64), 2)
    torch.testing.assert_close(counts.sum((1, 2)), torch.full((2,), 2.0))
    assert counts.min() >= 0


def test_bad_shapes_are_refused():
    for change, message in [
        ({"database": (4, 3)}, "equally many bits"),
        ({"index": (2, 4)}, "level_index must have shape"),
        ({"n_levels": 0}, "n_levels"),
        ({"n_bins": 0}, "n_bins"),
        ({"query": (5, 2), "index": (5, 4), "exclude_self": True}, "exclude_self"),
    ]:
        shapes = {"query": (3, 2), "database": (4, 2), "index": (3, 4)} | change
        with pytest.raises(ValueError, match=message):
            soft_counts(
                torch.zeros(shapes["query"]),
                torch.zeros(shapes["database"]),
                torch.zeros(shapes["index"], dtype=torch.int64),
                shapes.get("n_levels", 2),
                n_bins=shapes.get("n_bins"),
                exclude_self=shapes.get("exclude_self", False),
            )
