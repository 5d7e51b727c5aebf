"""Networks of one's own: `TALRHasher(module=...)` beside the same network by hand.

    python benchmarks/bench_modules.py                  # digits and Fashion-MNIST
    python benchmarks/bench_modules.py --sets words --rows 3000 --epochs 30 --seeds 0 1 2
    python benchmarks/bench_modules.py --sets digits --networks attention --seeds 0 1
    python benchmarks/bench_modules.py --table          # what is measured, as a table

Three small networks learn codes of 32 bits from pixels between 0 and 1: two convolutions
and a linear layer, the same with batch normalization, and two layers of a transformer over
the lines of an image. *By hand* is a loop of one's own: AdamW with a cosine, a scale of
tanh from 1 to 8, half or a quarter of the bits left out, the batches of the hasher, and one
of three learning rates. The best of the six is chosen by the very samples that are scored,
which flatters it. *Module* has the defaults, *linear* is the built-in function. Scores are
tie-aware AP of samples that were not trained on, each of which ranks the others: 897
digits, or 5 000 photographs of Fashion-MNIST.

Words are made up by ten Markov chains of letters. A recurrent network, without or with
batch normalization of its activations, learns them as a module, with batches of four sizes,
or with cross entropy through a linear layer on the activations: *two stages* are cross
entropy and then `TALRHasher` on the probabilities of the training words, or of *held-out*
folds; *warm-up* is cross entropy in half of the epochs, and the module in the other half.

Every cell is a row of a CSV file, ``--csv``. Cells that are there are not measured again.
Seconds are CPU time of one thread.
"""

import argparse
import copy
import time
from collections import defaultdict
from functools import partial
from pathlib import Path

import numpy as np
import torch
from _store import RESULTS, Store
from comparison._data import _arrays
from sklearn.model_selection import KFold
from torch import nn

from sklearn_talr import TALRHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.losses import TieAwareLoss
from sklearn_talr.measures import AP

N_BITS, N_SCORED = 32, 5000
SIDES = {"digits": 8, "fashion_mnist": 28, "words": 12}
LARGEST = {"digits": 16, "fashion_mnist": 255}
BY_HAND = {
    f"by hand, rate {rate}, {dropped} dropped": (rate, dropped)
    for rate in (0.001, 0.003, 0.01)
    for dropped in (0.25, 0.5)
}
OF_PIXELS = ["start", *BY_HAND, "module", "linear"]
BATCHES = {f"module, batches of {size}": size for size in (32, 64, 512)}
STAGES = ["two stages", "two stages, held-out", "warm-up"]
OF_WORDS = ["start", "module", *BATCHES, *STAGES]
KEY = ["data", "network", "rows", "epochs", "seed", "contender"]
FIGURES = ["ap", "seconds"]


class Attention(nn.Module):
    """Two layers of a transformer whose tokens are the lines of an image."""

    def __init__(self, side, width=32):
        super().__init__()
        self.lines = nn.Unflatten(1, (side, side))
        self.embed = nn.Linear(side, width)
        self.place = nn.Parameter(0.02 * torch.randn(side, width))
        layer = nn.TransformerEncoderLayer(width, 4, 64, 0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(width, N_BITS)

    def forward(self, X):
        tokens = self.embed(self.lines(X)) + self.place
        return self.head(self.layers(tokens).mean(1))


def convolutions(side, normalize=False):
    layers = [nn.Unflatten(1, (1, side, side))]
    for n_inputs, n_outputs in ((1, 16), (16, 32)):
        layers.append(nn.Conv2d(n_inputs, n_outputs, 3, stride=2, padding=1))
        layers += [nn.BatchNorm2d(n_outputs)] * normalize + [nn.ReLU()]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(32 * (side // 4) ** 2, N_BITS))


def normalized(side):
    return convolutions(side, normalize=True)


class Recurrent(nn.Module):
    """What a recurrent layer has read at the last letter of a word."""

    def __init__(self, side, last=nn.Identity):
        super().__init__()
        self.embed = nn.Embedding(27, 32, padding_idx=0)
        self.read = nn.GRU(32, 64, batch_first=True)
        self.head = nn.Sequential(nn.Linear(64, N_BITS), last())

    def forward(self, X):
        ends = (X > 0).sum(1) - 1
        states, _ = self.read(self.embed(X.long()))
        return self.head(states[torch.arange(len(X)), ends])


def recurrent_normalized(side):
    return Recurrent(side, partial(nn.BatchNorm1d, N_BITS, affine=False))


NETWORKS = {
    "convolutions": convolutions,
    "normalized": normalized,
    "attention": Attention,
    "recurrent": Recurrent,
    "recurrent, normalized": recurrent_normalized,
}


def make_words(n_words, seed):
    """Words of 5 to 12 letters, numbered from 1 and filled up by 0, and their chains."""
    rng = np.random.default_rng(seed)
    chains = rng.dirichlet(np.full(26, 0.3), size=(10, 26)).cumsum(2)
    y, letters = rng.integers(10, size=n_words), rng.integers(26, size=n_words)
    lengths = rng.integers(5, 13, size=n_words)
    X = np.zeros((n_words, 12), np.float32)
    for place in range(12):
        X[:, place] = np.where(place < lengths, letters + 1, 0)
        draws = rng.random((n_words, 1))
        letters = (chains[y, letters] < draws).sum(1).clip(max=25)
    return X, y


def load(name, n_rows, seed):
    """Training and scored samples, features and labels of each."""
    if name == "words":
        X, y = make_words(n_rows + 2000, seed)
        return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]
    X, y = _arrays(name)
    y = np.unique(y, return_inverse=True)[1]
    order = np.random.default_rng(seed).permutation(len(X))
    X = (X / LARGEST[name]).astype(np.float32)
    train, scored = order[:n_rows], order[n_rows : n_rows + N_SCORED]
    return X[train], y[train], X[scored], y[scored]


def train_by_hand(network, X, y, n_epochs, seed, rate, loss):
    torch.manual_seed(seed)
    X, y = torch.from_numpy(X), torch.from_numpy(y)
    n_batches = -(-len(X) // min(max(len(X) // 20, 32), 256))
    optimizer = torch.optim.AdamW(network.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, n_epochs)
    for epoch in range(n_epochs):
        loss.tanh_scale = 8 ** (epoch / max(1, n_epochs - 1))
        for batch in torch.randperm(len(X)).tensor_split(n_batches):
            value = loss(network(X[batch]), y[batch])
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
        schedule.step()


def codes_of(network, X):
    network.eval()
    with torch.no_grad():
        parts = [network(part) > 0 for part in torch.from_numpy(X).split(1000)]
    return torch.cat(parts).numpy().astype(np.uint8)


def train_classifier(network, X, y, n_epochs, seed):
    """The classifier, by cross entropy, of which `network` is the body."""
    classifier = nn.Sequential(network, nn.Linear(N_BITS, 10))
    train_by_hand(classifier, X, y, n_epochs, seed, 0.003, nn.CrossEntropyLoss())
    return classifier.eval()


@torch.no_grad()
def probabilities(classifier, X):
    return torch.softmax(classifier(torch.from_numpy(X)), 1).numpy()


def codes_by_stages(name, network, X, y, X_scored, params):
    n_epochs, seed = params["max_iter"], params["random_state"]
    if name == "warm-up":
        train_classifier(network, X, y, n_epochs // 2, seed)
        hasher = TALRHasher(N_BITS, module=network, **params)
        return hasher.set_params(max_iter=n_epochs // 2).fit(X, y).transform(X_scored)
    untrained = copy.deepcopy(network)
    classifier = train_classifier(network, X, y, n_epochs, seed)
    P = probabilities(classifier, X)
    for rest, fold in KFold(3).split(X) if name == "two stages, held-out" else ():
        other = copy.deepcopy(untrained)
        other = train_classifier(other, X[rest], y[rest], n_epochs, seed)
        P[fold] = probabilities(other, X[fold])
    hasher = TALRHasher(N_BITS, random_state=seed).fit(P, y)
    return hasher.transform(probabilities(classifier, X_scored))


def measure(cell):
    """AP of the scored samples, and seconds of the training."""
    X, y, X_scored, y_scored = load(cell["data"], cell["rows"], cell["seed"])
    torch.manual_seed(cell["seed"])
    network, name = NETWORKS[cell["network"]](SIDES[cell["data"]]), cell["contender"]
    params = {"max_iter": cell["epochs"], "random_state": cell["seed"]}
    start, codes = time.process_time(), None
    if name in BY_HAND:
        rate, dropped = BY_HAND[name]
        loss = TieAwareLoss(bit_dropout=dropped)
        train_by_hand(network, X, y, cell["epochs"], cell["seed"], rate, loss)
    elif name in STAGES:
        codes = codes_by_stages(name, network, X, y, X_scored, params)
    elif name != "start":
        params["module"] = None if name == "linear" else network
        params["batch_size"] = BATCHES.get(name, "auto")
        codes = TALRHasher(N_BITS, **params).fit(X, y).transform(X_scored)
    seconds = time.process_time() - start
    codes = codes_of(network, X_scored) if codes is None else codes
    table = hamming_histogram(codes, codes, "auto", y_scored, y_scored, exclude_self=True)
    return {"ap": float(np.nanmean(AP.of(table))), "seconds": seconds}


def cells_of(arguments):
    for data in arguments.sets:
        rows = min(arguments.rows, 900) if data == "digits" else arguments.rows
        for network in arguments.networks:
            if network.startswith("recurrent") != (data == "words"):
                continue
            for seed in arguments.seeds:
                contenders = OF_WORDS if data == "words" else OF_PIXELS
                for contender in arguments.contenders or contenders:
                    values = data, network, rows, arguments.epochs, seed, contender
                    yield dict(zip(KEY, values, strict=True))


def print_table(rows):
    """Means over seeds; of the loops by hand the best and what it was."""
    scores = defaultdict(lambda: defaultdict(list))
    for row in rows:
        setting = row["data"], row["network"], int(row["rows"]), int(row["epochs"])
        scores[setting][row["contender"]].append(float(row["ap"]))
    head = "data", "network", "rows", "epochs", "linear", "start", "by hand", "module"
    print("{:14s}{:14s}{:>7s}{:>7s}{:>8s}{:>7s}{:>9s}{:>8s}  best by hand".format(*head))
    for setting, by_contender in sorted(scores.items()):
        means = {name: np.mean(values) for name, values in by_contender.items()}
        if setting[0] == "words":
            print(*setting, *(f"| {name} {ap:.3f}" for name, ap in means.items()))
            continue
        best = max(BY_HAND, key=lambda name: means.get(name, -1))
        shown = [means.get(name, np.nan) for name in ("linear", "start", best, "module")]
        columns = "{:14s}{:14s}{:7d}{:7d}{:8.3f}{:7.3f}{:9.3f}{:8.3f}  {}"
        print(columns.format(*setting, *shown, best))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=SIDES, default=list(SIDES)[:2])
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--contenders", nargs="+", choices={*OF_PIXELS, *OF_WORDS})
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--csv", type=Path, default=RESULTS / "modules.csv")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    store = Store(arguments.csv, KEY, FIGURES)
    for cell in [] if arguments.table else cells_of(arguments):
        if not store.has(**cell):
            store.add(**cell, **measure(cell))
    print_table(store.rows())


if __name__ == "__main__":
    main()
