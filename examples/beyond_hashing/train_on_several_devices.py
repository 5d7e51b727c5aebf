"""
Train on several devices: one ranking loss over the batches of all processes
============================================================================

If several processes train one network, ``TieAwareLoss(gather=True)`` ranks the items of all
processes together. Two processes with 128 images each then train like one process with 256
images. Start the script with torchrun::

    cd examples/beyond_hashing
    torchrun --standalone --nproc-per-node 2 train_on_several_devices.py

The script trains the same network twice: with gradients that the script averages, and with
DistributedDataParallel, which averages them in the same way. The images are scikit-learn's
digits. The option ``--fashion-mnist`` fetches Fashion-MNIST from OpenML.
:doc:`/user_guide/large_data` explains training on several GPUs or processes.
"""

# sphinx_gallery_thumbnail_path = "thumbnails/train_on_several_devices.svg"

import sys

import torch
import torch.distributed as dist

# This module must be imported before a process group exists, because default arguments of
# its functions would keep the group alive.
import torch.distributed.nn
from sklearn.datasets import fetch_openml, load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.losses import TieAwareLoss
from sklearn_talr.measures import AP

N_BITS = 16
N_EPOCHS = 10
JOINT_BATCH_SIZE = 256


def load_images():
    """Return images of shape (n, 1, side, side) in [0, 1], and their labels."""
    if "--fashion-mnist" in sys.argv:
        X, y = fetch_openml("Fashion-MNIST", version=1, return_X_y=True, as_frame=False)
    else:
        X, y = load_digits(return_X_y=True)
    side = round(X.shape[1] ** 0.5)
    return (X / X.max()).astype("float32").reshape(-1, 1, side, side), y.astype("int64")


def make_network(side):
    """Return a network whose output for an image does not depend on the rest of the batch.

    GroupNorm has this property, and BatchNorm has not.
    """
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
    """Train on every n-th image of each joint batch, with n the number of processes."""
    rank = dist.get_rank()
    n_ranks = dist.get_world_size()
    loss = TieAwareLoss(gather=True, bit_dropout=0.5)
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3)
    # All processes draw the same order of the images.
    generator = torch.Generator().manual_seed(0)
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
    averaged = train(make_network(X.shape[-1]), X, y, average_gradients=True)
    torch.manual_seed(0)
    wrapped = DistributedDataParallel(make_network(X.shape[-1]))
    parallel = train(wrapped, X, y, average_gradients=False).module
    if dist.get_rank() == 0:
        print(f"{dist.get_world_size()} processes, mean AP at {N_BITS} bits")
        for name, network in {"own average": averaged, "data parallel": parallel}.items():
            score = mean_average_precision(network, X, y, X_query, y_query)
            print(f"  {name:15s}{score:.3f}")
    # The threads of the process group end only after its last reference is deleted.
    del wrapped
    # No process ends while another process still computes.
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
