"""
Several devices: one ranking loss over the batches of all processes
===================================================================

Rankings of many items give better gradients than rankings of few. If several processes
train one network, ``TieAwareLoss(gather=True)`` lets the items of each process rank the
items of all processes. Two processes with 128 images each then train like one process with
256 images. Start the script with torchrun::

    cd examples/beyond_hashing
    torchrun --standalone --nproc-per-node 2 train_on_several_devices.py

The script trains the same network twice: with gradients that it averages itself, and in
DistributedDataParallel, which does the same. The images are handwritten digits that come
with scikit-learn; ``--fashion-mnist`` fetches Fashion-MNIST from OpenML.
:doc:`/user_guide/large_data` explains training on several GPUs or processes.
"""

# sphinx_gallery_thumbnail_path = "thumbnails/train_on_several_devices.svg"

import sys

import torch
import torch.distributed as dist
import torch.distributed.nn  # before there is a group, which its defaults would keep alive
from sklearn.datasets import fetch_openml, load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.losses import TieAwareLoss
from sklearn_talr.measures import AP

N_BITS, N_EPOCHS, JOINT_BATCH_SIZE = 16, 10, 256


def load_images():
    """Images of shape (n, 1, side, side) with values in [0, 1], and their labels."""
    if "--fashion-mnist" in sys.argv:
        X, y = fetch_openml("Fashion-MNIST", version=1, return_X_y=True, as_frame=False)
    else:
        X, y = load_digits(return_X_y=True)
    side = round(X.shape[1] ** 0.5)
    return (X / X.max()).astype("float32").reshape(-1, 1, side, side), y.astype("int64")


def make_network(side):
    """Two convolutions. GroupNorm: its output does not depend on who shares the batch."""
    torch.manual_seed(0)
    half = -(-side // 2)
    return nn.Sequential(
        nn.Conv2d(1, 16, kernel_size=3, padding=1),
        nn.GroupNorm(4, 16),
        nn.ReLU(),
        nn.Conv2d(16, 32, kernel_size=3, padding=1, stride=2),
        nn.GroupNorm(4, 32),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * half * half, N_BITS),
    )


def train(network, images, labels, *, average_gradients):
    """Train on every n-th image of each joint batch; the last batch may be uneven."""
    rank, n_ranks = dist.get_rank(), dist.get_world_size()
    loss = TieAwareLoss(gather=True, bit_dropout=0.5)
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3)
    generator = torch.Generator().manual_seed(0)  # the same order on all ranks
    for epoch in range(N_EPOCHS):
        loss.tanh_scale = 8 ** (epoch / (N_EPOCHS - 1))
        order = torch.randperm(len(images), generator=generator)
        for joint_batch in order.split(JOINT_BATCH_SIZE):
            batch = joint_batch[rank::n_ranks]
            value = loss(network(images[batch]), labels[batch])
            optimizer.zero_grad()
            value.backward()
            if average_gradients:
                for weight in network.parameters():
                    dist.all_reduce(weight.grad)
                    weight.grad /= n_ranks
            optimizer.step()
    return network


@torch.no_grad()
def mean_average_precision(network, database, y_database, queries, y_query):
    codes = [(network(images) > 0).numpy() for images in (queries, database)]
    histogram = hamming_histogram(*codes, "auto", y_query, y_database)
    return AP.of(histogram).mean()


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    X, y = load_images()
    X, X_query, y, y_query = train_test_split(
        torch.from_numpy(X), torch.from_numpy(y), test_size=1 / 6, random_state=0
    )
    by_hand = train(make_network(X.shape[-1]), X, y, average_gradients=True)
    torch.manual_seed(0)
    wrapped = DistributedDataParallel(make_network(X.shape[-1]))
    parallel = train(wrapped, X, y, average_gradients=False).module
    if dist.get_rank() == 0:
        print(f"{dist.get_world_size()} processes, {N_BITS} bits; AP of held-out queries")
        for name, network in {"by hand": by_hand, "data parallel": parallel}.items():
            score = mean_average_precision(network, X, y, X_query, y_query)
            print(f"  {name:15s}{score:.3f}")
    del wrapped  # the threads of the group end with the last that holds it
    dist.barrier()  # nobody leaves while another still computes
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
