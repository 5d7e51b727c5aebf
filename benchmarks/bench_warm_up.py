"""Networks of your own under the ranking loss: warmed up by cross entropy, or not.

    python benchmarks/bench_warm_up.py  # ten minutes

Each network has 16 bits and 30 epochs in all. *Warm-up* spends half of them on cross
entropy behind one more layer, by Adam with a rate of .003 that falls along a cosine, in
batches of 64. AP of 600 new rows among the training rows, and CPU seconds of both parts.

* *digits*: 900 rows of pixels between 0 and 1.
* *words*: those of `bench_batches.py`, centered and in units of their standard deviation.
"""

from itertools import product
from time import process_time

import numpy as np
import torch
from _store import RESULTS, Store
from bench_batches import words
from sklearn.datasets import load_digits
from torch import nn

from sklearn_talr.affinity import LabelAffinity
from sklearn_talr.hashing import TALRHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.measures import AP

N_BITS, N_EPOCHS, N_QUERIES, N_SEEDS = 16, 30, 600, 3
BATCH_SIZE, RATE = 64, 3e-3


def digits(seed):
    X, y = load_digits(return_X_y=True)
    X, order = (X / 16).astype(np.float32), np.random.default_rng(seed).permutation(len(X))
    return X[order[:900]], y[order[:900]], X[order[900:]], y[order[900:]]


def scaled_words(seed):
    X, y, query, y_query = words(seed)
    mean, unit = X.mean(axis=0), X.std()
    return (X - mean) / unit, y, (query - mean) / unit, y_query


def perceptron(n_features):
    return nn.Sequential(nn.Linear(n_features, 128), nn.ReLU(), nn.Linear(128, N_BITS))


def normalized_perceptron(n_features):
    return nn.Sequential(perceptron(n_features), nn.BatchNorm1d(N_BITS, affine=False))


def convolutions(n_features):
    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        *(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten()),
        *(nn.Linear(512, N_BITS), nn.BatchNorm1d(N_BITS, affine=False)),
    )


SETS = {"digits": digits, "words": scaled_words}
NETWORKS = {
    "perceptron": perceptron,
    "perceptron, normalized": normalized_perceptron,
    "convolutions": convolutions,
}
STARTS = {"random": 0, "warm-up": N_EPOCHS // 2}  # epochs of cross entropy


def warm_up(network, X, y, n_epochs, seed):
    """Train a network, and a layer behind it, by cross entropy."""
    generator = torch.Generator().manual_seed(seed)
    classes, y = np.unique(y, return_inverse=True)
    classifier = nn.Sequential(network, nn.Linear(N_BITS, len(classes))).train()
    solver = torch.optim.Adam(classifier.parameters(), lr=RATE)
    n_steps = n_epochs * (len(X) // BATCH_SIZE)
    rate = torch.optim.lr_scheduler.CosineAnnealingLR(solver, n_steps)
    X, y = torch.tensor(X), torch.tensor(y)
    for _ in range(n_epochs):
        order = torch.randperm(len(X), generator=generator)
        for rows in order[: len(X) // BATCH_SIZE * BATCH_SIZE].split(BATCH_SIZE):
            solver.zero_grad()
            nn.functional.cross_entropy(classifier(X[rows]), y[rows]).backward()
            solver.step()
            rate.step()


def measure(name, seed, network_name, start_name):
    """Mean AP of queries among the training rows, and CPU seconds of training."""
    X, y, query, y_query = SETS[name](seed)
    query, y_query = query[:N_QUERIES], y_query[:N_QUERIES]
    torch.manual_seed(seed)
    network, n_warm = NETWORKS[network_name](X.shape[1]), STARTS[start_name]
    start = process_time()
    if n_warm:
        warm_up(network, X, y, n_warm, seed)
    how = {"max_iter": N_EPOCHS - n_warm, "random_state": seed, "device": "cpu"}
    hasher = TALRHasher(N_BITS, module=network, **how).fit(X, y)
    seconds = process_time() - start
    codes, affinity = (hasher.transform(query), hasher.transform(X)), LabelAffinity().fit(y)
    ap = np.nanmean(AP.of(hamming_histogram(*codes, affinity, y_query, y)))
    return {"ap": float(ap), "fit_seconds": seconds}


if __name__ == "__main__":
    torch.set_num_threads(1)
    columns = ["data", "seed", "network", "start"]
    store = Store(RESULTS / "warm_up.csv", columns, ["ap", "fit_seconds"])
    for seed, network, name in product(range(N_SEEDS), NETWORKS, SETS):
        if network == "convolutions" and name != "digits":
            continue
        for start in STARTS:
            if not store.has(data=name, seed=seed, network=network, start=start):
                row = measure(name, seed, network, start)
                store.add(data=name, seed=seed, network=network, start=start, **row)
