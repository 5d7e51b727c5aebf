"""A training step on soft counts, side by side with other ways to make it.

    python benchmarks/bench_training.py               # time and memory, some minutes
    python benchmarks/bench_training.py time --batch 1024 --bits 64
    python benchmarks/bench_training.py memory --batch 4096 16384 --bits 64

A step is soft counts and objective (AP for 2 levels, NDCG for more), forward and backward,
in float32, for a batch that ranks itself. Contenders get the same relaxed bits in one
process and take turns; figures are medians of wall time, and ratios are to the three
matrix products that any step of this kind needs. Peers that are not installed are left
out: ``pip install ".[bench]"``.

Memory is what the peak resident memory of a fresh process rises by during one step, after
a tiny step has loaded all code. Counting torch's own allocations would miss the buffers
that operations and matrix products allocate for themselves. Linux only.
"""

import argparse
import re
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from _store import record
from _timing import medians

from sklearn_talr.losses import soft_average_precision, soft_counts, soft_ndcg
from sklearn_talr.losses._rankings import MeasureTables, measure_rankings

N_CLASSES = 10
MOST_PAIRS = 1024**2  # of contenders that keep a number or more for each pair and bin


def draw(batch, n_bits, n_levels):
    """Relaxed bits that lean to the class of their label, and levels of pairs."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(N_CLASSES, (batch,), generator=generator)
    centers = torch.randn(N_CLASSES, n_bits, generator=generator)
    noise = torch.randn(batch, n_bits, generator=generator)
    relaxed = torch.tanh(2 * (centers[labels] + noise)).requires_grad_()
    index = (labels[:, None] == labels).view(torch.uint8)
    if n_levels > 2:
        index = index * torch.randint(
            1, n_levels, (batch, batch), generator=generator, dtype=torch.uint8
        )
    return relaxed, labels, index


def objective(counts):
    levels = torch.arange(counts.shape[1], device=counts.device)
    function = soft_average_precision if len(levels) == 2 else soft_ndcg
    return 1 - function(counts, levels).mean()


def ours(relaxed, labels, index, n_levels):
    """What a hasher trains by on the host, without torch."""
    bits, levels = relaxed.detach().numpy(), index.numpy().astype(np.int16)
    np.fill_diagonal(levels, -1)
    measure = "AP" if n_levels == 2 else "nDCG"
    tables = MeasureTables.from_levels(
        np.arange(float(n_levels)), measure=measure, is_simplified=False, n_items=len(bits)
    )
    rankings = measure_rankings(bits, bits, levels, tables=tables, n_bins=bits.shape[1])
    return rankings.grad_query + rankings.grad_items


def in_torch(relaxed, labels, index, n_levels):
    objective(soft_counts(relaxed, relaxed, index, n_levels, exclude_self=True)).backward()


def soft_counts_only(relaxed, labels, index, n_levels):
    counts = soft_counts(relaxed, relaxed, index, n_levels, exclude_self=True)
    counts.backward(torch.ones_like(counts))


@torch.no_grad()
def gemms(relaxed, labels, index, n_levels):
    """Products of codes forward; to queries and to database items backward."""
    product = relaxed @ relaxed.T
    product @ relaxed
    product.T @ relaxed


def naive(relaxed, labels, index, n_levels):
    """The kernel of every pair and bin in one tensor, left to autograd."""
    distance = _distances(relaxed)
    bins = torch.arange(relaxed.shape[1] + 1)
    kernel = torch.relu(1 - (distance[:, :, None] - bins).abs())
    members = _members(index, n_levels)
    objective(torch.einsum("qvi,qij->qvj", members, kernel)).backward()


def loop_over_bins(relaxed, labels, index, n_levels):
    distance = _distances(relaxed)
    members = _members(index, n_levels)
    counts = [
        (members * torch.relu(1 - (distance - j).abs())[:, None]).sum(-1)
        for j in range(relaxed.shape[1] + 1)
    ]
    objective(torch.stack(counts, dim=-1)).backward()


def fastap(relaxed, labels, index, n_levels):
    """pytorch-metric-learning: binary affinity, Euclidean distances of unit vectors."""
    from pytorch_metric_learning.losses import FastAPLoss

    FastAPLoss(num_bins=relaxed.shape[1])(relaxed, labels).backward()


def _distances(relaxed):
    return (relaxed.shape[1] - relaxed @ relaxed.T) / 2


def _members(index, n_levels):
    """Which items are of which level, self pairs of none: (n, n_levels, n) of 0 and 1."""
    members = (index[:, None] == torch.arange(n_levels)[:, None]).float()
    members.diagonal(dim1=0, dim2=2).zero_()
    return members


CONTENDERS = {
    "GEMMs": gemms,
    "ours": ours,
    "ours in torch": in_torch,
    "counts": soft_counts_only,
    "naive": naive,
    "bins loop": loop_over_bins,
}
if find_spec("pytorch_metric_learning"):
    CONTENDERS["FastAP"] = fastap


def contenders(batch, n_levels):
    """Those that can do this batch."""
    names = list(CONTENDERS)
    if batch**2 > MOST_PAIRS:
        names = ["GEMMs", "ours", "ours in torch", "counts"]
    return [name for name in names if name != "FastAP" or n_levels == 2]


def time_steps(batch, n_bits, n_levels):
    data = draw(batch, n_bits, n_levels)
    repeats = {256: 101, 1024: 25, 4096: 9}.get(batch, 3)
    rows = {}
    for threads in (1, 2):
        torch.set_num_threads(threads)
        names = contenders(batch, n_levels)
        fast = [
            name
            for name in names
            if CONTENDERS[name] in (gemms, ours, in_torch, soft_counts_only)
        ]
        runs = {name: partial(CONTENDERS[name], *data, n_levels) for name in names}
        rows[threads] = medians({name: runs[name] for name in fast}, repeats)
        if threads == 1:
            slow = {name: runs[name] for name in names if name not in fast}
            rows[threads] |= medians(slow, 1 + repeats // 25)
    torch.set_num_threads(1)
    return rows


def bench_time(grid):
    print("\nStep time in ms, one thread (times the GEMMs); two threads behind the slash")
    others = [name for name in CONTENDERS if name != "GEMMs"]
    print(f"{'batch/bits/levels':>18s}{'GEMMs':>16s}", *(f"{name:>20s}" for name in others))
    for batch, n_bits, n_levels in grid:
        rows = time_steps(batch, n_bits, n_levels)
        cells = [f"{batch}/{n_bits}/{n_levels}".rjust(18)]
        floors = [1e3 * seconds["GEMMs"] for seconds in rows.values()]
        for threads, ms in zip(rows, floors):
            record("bench_training", cells[0].strip(), "GEMMs", f"ms, {threads}", ms)
        cells.append("{:.2f}/{:.2f}".format(*floors).rjust(15))
        for name in others:
            found = [1e3 * row[name] for row in rows.values() if name in row]
            for threads, ms in zip(rows, found):
                record("bench_training", cells[0].strip(), name, f"ms, {threads}", ms)
            times = "/".join(f"{ms:.4g}" for ms in found)
            ratio = f" ({found[0] / floors[0]:.2f}x)" if found else "-"
            cells.append((times + ratio).rjust(20))
        print(" ".join(cells), flush=True)


def peak_of_one_step(name, batch, n_bits, n_levels):
    """Print the MiB that peak resident memory rises by; for a process of its own."""
    torch.set_num_threads(1)
    CONTENDERS[name](*draw(16, n_bits, n_levels), n_levels)
    data = draw(batch, n_bits, n_levels)
    Path("/proc/self/clear_refs").write_text("5")  # the peak is now what there is
    before = _peak_kib()
    CONTENDERS[name](*data, n_levels)
    print((_peak_kib() - before) / 1024)


def _peak_kib():
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])


def bench_memory(grid):
    print("\nExtra peak memory of a step in MiB")
    print(f"{'batch/bits/levels':>18s}", *(f"{name:>10s}" for name in CONTENDERS))
    for case in grid:
        cells = ["/".join(map(str, case)).rjust(18)]
        for name in CONTENDERS:
            if name not in contenders(case[0], case[2]):
                cells.append(f"{'-':>10s}")
                continue
            command = [sys.executable, __file__, "peak", "--contender", name]
            for option, value in zip(("--batch", "--bits", "--levels"), case):
                command += [option, str(value)]
            found = subprocess.run(command, capture_output=True, text=True, check=True)
            record("bench_training", cells[0].strip(), name, "MiB", float(found.stdout))
            cells.append(f"{float(found.stdout):10.0f}")
        print(" ".join(cells), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", nargs="?", choices=["time", "memory", "peak", "all"])
    parser.add_argument("--batch", nargs="+", type=int, default=[256, 1024, 4096])
    parser.add_argument("--bits", nargs="+", type=int, default=[16, 32, 64])
    parser.add_argument("--levels", nargs="+", type=int, default=[2, 5])
    parser.add_argument("--contender", choices=list(CONTENDERS), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    grid = [(a, b, c) for a in chosen.batch for b in chosen.bits for c in chosen.levels]
    if chosen.table == "peak":
        peak_of_one_step(chosen.contender, *grid[0])
        return
    print(f"torch {torch.__version__}, CPU")
    if chosen.table in ("time", "all", None):
        bench_time(grid)
    if chosen.table in ("memory", "all", None):
        bench_memory(grid)


if __name__ == "__main__":
    main()
