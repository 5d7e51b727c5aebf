"""TieAwareLoss over the ranks of a process group: the loss of their joint batch."""

from itertools import product

import pytest
import torch
import torch.distributed as dist
from hashers import MEASURES, name_of
from torch.nn.parallel import DistributedDataParallel

from sklearn_talr.losses import TieAwareLoss

N_RANKS, N_BITS = 2, 6
# Rows of each rank, in a type
BATCHES = [((7, 7), torch.float64), ((9, 4), torch.float32), ((8, 0), torch.float64)]
KINDS = ["labels", "indicators", "levels", "database"]
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-6}
CASES = [(*case, *batch) for *case, batch in product(MEASURES, KINDS, BATCHES)]


def draw(kind, sizes, dtype):
    """Activations and targets of the joint batch, and keywords of the loss."""
    n = sum(sizes)
    generator = torch.Generator().manual_seed(n)
    activations = torch.randn((n, N_BITS), generator=generator, dtype=torch.float64)
    labels = torch.randint(3, (n,), generator=generator)
    indicators = torch.rand((n, 4), generator=generator) < 0.4
    if kind == "indicators":
        return activations.to(dtype), indicators, {}
    if kind == "levels":
        shared = indicators.float() @ indicators.float().T
        return activations.to(dtype), shared.long(), {"levels": range(5)}
    return activations.to(dtype), labels.short(), {}


def arguments(kind, activations, targets):
    """What the loss is called with: with a database of its own, items rank all items."""
    return (activations, targets) * (2 if kind == "database" else 1)


def on_rank(rank, kind, sizes, dtype, measure):
    """Loss on this rank, and the gradient of its own activations."""
    activations, targets, keywords = draw(kind, sizes, dtype)
    own = slice(sum(sizes[:rank]), sum(sizes[: rank + 1]))
    mine = activations[own].clone().requires_grad_()
    loss = TieAwareLoss(**measure, gather=True, **keywords)
    value = loss(*arguments(kind, mine, targets[own]))
    value.backward()
    return value.detach(), mine.grad


def network():
    torch.manual_seed(5)
    return torch.nn.Linear(N_BITS, N_BITS, dtype=torch.float64)


def through_data_parallel(rank):
    """Gradients of the weights, as DistributedDataParallel leaves them."""
    inputs, labels, _ = draw("labels", (9, 4), torch.float64)
    own = slice(0, 9) if rank == 0 else slice(9, 13)
    model = DistributedDataParallel(network())
    TieAwareLoss(gather=True)(model(inputs[own]), labels[own]).backward()
    return [weight.grad for weight in model.parameters()]


def with_bit_dropout(rank):
    activations, labels, _ = draw("labels", (7, 7), torch.float64)
    own = slice(7 * rank, 7 * (rank + 1))
    torch.manual_seed(rank)
    return TieAwareLoss(gather=True, bit_dropout=0.5)(activations[own], labels[own])


def in_half_precision(rank):
    activations, labels, _ = draw("labels", (9, 4), torch.bfloat16)
    own = slice(0, 9) if rank == 0 else slice(9, 13)
    return TieAwareLoss(gather=True)(activations[own], labels[own])


def work(rank, folder):
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=N_RANKS
    )
    found = {
        "cases": [on_rank(rank, *case[1:], measure=case[0]) for case in CASES],
        "data parallel": through_data_parallel(rank),
        "bit dropout": with_bit_dropout(rank),
        "half": in_half_precision(rank),
    }
    dist.destroy_process_group()
    return found


def work_of_the_other(_, folder):
    torch.set_num_threads(1)
    torch.save(work(1, folder), folder / "other.pt")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What each of two processes has found, of which this is one."""
    folder = tmp_path_factory.mktemp("group")
    other = torch.multiprocessing.spawn(
        work_of_the_other, (folder,), join=False, daemon=True
    )
    with torch.random.fork_rng():
        own = work(0, folder)
    other.join()
    return [own, torch.load(folder / "other.pt")]


@pytest.mark.parametrize("measure", MEASURES, ids=name_of)
def test_loss_and_gradient_are_those_of_the_joint_batch(measure, found):
    for number, (name, kind, sizes, dtype) in enumerate(CASES):
        if name != measure:
            continue
        activations, targets, keywords = draw(kind, sizes, dtype)
        activations.requires_grad_()
        loss = TieAwareLoss(**measure, **keywords)
        expected = loss(*arguments(kind, activations, targets))
        expected.backward()
        assert activations.grad.abs().max() > 1e-3
        values, gradients = zip(*(rank["cases"][number] for rank in found))
        near = {"rtol": 0, "atol": TOLERANCE[dtype]}
        for value in values:
            torch.testing.assert_close(value, expected.detach(), **near)
        gradient = torch.cat(gradients) / N_RANKS
        torch.testing.assert_close(gradient, activations.grad, **near)


def test_data_parallel_follows_the_joint_batch(found):
    inputs, labels, _ = draw("labels", (9, 4), torch.float64)
    model = network()
    TieAwareLoss()(model(inputs), labels).backward()
    for rank in found:
        for gradient, weight in zip(rank["data parallel"], model.parameters(), strict=True):
            torch.testing.assert_close(gradient, weight.grad, rtol=0, atol=1e-12)


def test_all_ranks_leave_out_the_bits_that_the_first_draws(found):
    activations, labels, _ = draw("labels", (7, 7), torch.float64)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        expected = TieAwareLoss(bit_dropout=0.5)(activations, labels)
    for rank in found:
        torch.testing.assert_close(rank["bit dropout"], expected)


def test_half_precision_is_gathered_in_float32(found):
    activations, labels, _ = draw("labels", (9, 4), torch.bfloat16)
    for rank in found:
        torch.testing.assert_close(rank["half"], TieAwareLoss()(activations, labels))


def test_a_process_on_its_own_has_the_loss_of_before(tmp_path):
    def losses():
        for measure, kind in product(MEASURES, KINDS):
            activations, targets, keywords = draw(kind, (9, 4), torch.float32)
            for gather in (False, True):
                mine = activations.clone().requires_grad_()
                loss = TieAwareLoss(**measure, gather=gather, **keywords)
                value = loss(*arguments(kind, mine, targets))
                value.backward()
                yield value.detach(), mine.grad

    def assert_same(pairs):
        found = list(pairs)
        for (value, gradient), (other, other_gradient) in zip(found[::2], found[1::2]):
            assert torch.equal(value, other)
            assert torch.equal(gradient, other_gradient)

    assert_same(losses())
    store = f"file://{tmp_path}/store"
    dist.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    try:
        assert_same(losses())
    finally:
        dist.destroy_process_group()
