"""
Your own network: cross entropy first, then codes
=================================================

If you have no good features yet, a network must learn them. The simplest way to codes is to
train the network as a classifier, and to pass its class probabilities to
:class:`~sklearn_talr.hashing.TALRHasher`. The ranking loss
:class:`~sklearn_talr.losses.TieAwareLoss` can also train the network itself, after a
warm-up with cross entropy. :doc:`/user_guide/networks` explains when to use which.
"""

# %%
# Words of ten languages
# ----------------------
# Each language is a random Markov chain of letters. Two words are similar if they have the
# same language. Letters are numbered from 1, and words are padded with 0. Nothing is
# trained on the words of queries and database.

import numpy as np

rng = np.random.default_rng(0)
chains = rng.dirichlet(np.full(26, 0.3), size=(10, 26)).cumsum(axis=2)


def make_words(n_words, n_letters=12):
    y = rng.integers(10, size=n_words)
    lengths = rng.integers(5, n_letters + 1, size=n_words)
    letters = rng.integers(26, size=n_words)
    X = np.zeros((n_words, n_letters), dtype=np.int64)
    for place in range(n_letters):
        X[:, place] = np.where(place < lengths, letters + 1, 0)
        draws = rng.random((n_words, 1))
        letters = (chains[y, letters] < draws).sum(axis=1).clip(max=25)
    return X, y


X_train, y_train = make_words(3000)
X_database, y_database = make_words(2000)
X_query, y_query = make_words(500)
N_BITS = 16
N_EPOCHS = 20

# %%
# A recurrent network and its training loop
# -----------------------------------------
# A linear layer maps the state after the last letter to one activation per bit. Batch
# normalization centers the activations at 0. A last layer computes the class scores.

import torch
from torch import nn

# More threads do not make steps of this size faster.
torch.set_num_threads(1)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(27, 32, padding_idx=0)
        self.read = nn.GRU(32, 64, batch_first=True)

    def forward(self, X):
        states, _ = self.read(self.embed(X))
        ends = (X > 0).sum(dim=1) - 1
        return states[torch.arange(len(X)), ends]


def make_bits():
    torch.manual_seed(0)
    return nn.Sequential(
        Reader(), nn.Linear(64, N_BITS), nn.BatchNorm1d(N_BITS, affine=False)
    )


def train(network, loss, X, y, n_epochs=N_EPOCHS):
    torch.manual_seed(0)
    X, y = torch.from_numpy(X), torch.from_numpy(y)
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, n_epochs)
    for _ in range(n_epochs):
        for batch in torch.randperm(len(X)).tensor_split(len(X) // 128):
            value = loss(network(X[batch]), y[batch])
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
        schedule.step()
    return network.eval()


def train_classifier(X, y):
    classifier = nn.Sequential(make_bits(), nn.Linear(N_BITS, 10))
    return train(classifier, nn.CrossEntropyLoss(), X, y)


# %%
# Two stages: classifier, then hasher
# -----------------------------------
# A classifier is too confident on its training words, so the hasher is trained on
# probabilities of held-out words. Three networks each leave out a third of the words. A
# fourth network, trained on all training words, encodes queries and database.

from sklearn.model_selection import StratifiedKFold

from sklearn_talr import TALRHasher


@torch.no_grad()
def probabilities(classifier, X):
    return torch.softmax(classifier(torch.from_numpy(X)), dim=1).numpy()


held_out = np.zeros((len(X_train), 10), dtype=np.float32)
for rest, fold in StratifiedKFold(3).split(X_train, y_train):
    fold_classifier = train_classifier(X_train[rest], y_train[rest])
    held_out[fold] = probabilities(fold_classifier, X_train[fold])
classifier = train_classifier(X_train, y_train)
hasher = TALRHasher(N_BITS, random_state=0).fit(held_out, y_train)

# %%
# End to end, with and without a warm-up
# --------------------------------------
# With a warm-up, the ranking loss continues from the classifier without its last layer.
# Without it, the ranking loss starts from random weights, with twice as many epochs.
# ``TALRHasher(N_BITS, module=network)`` trains a network with the same loss.

import copy

from sklearn_talr.losses import TieAwareLoss

loss = TieAwareLoss("AP", tanh_scale=2.0)
warm = train(copy.deepcopy(classifier[0]).train(), loss, X_train, y_train)
cold = train(make_bits(), loss, X_train, y_train, 2 * N_EPOCHS)


@torch.no_grad()
def signs(bits, X):
    return (bits(torch.from_numpy(X)) > 0).numpy().astype(np.uint8)


# %%
# Average precision
# -----------------
# The queries rank the database. Networks that were first trained with cross entropy reach a
# far higher average precision than the network trained with the ranking loss alone.

from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.measures import AP

encoders = {
    "two stages": lambda X: hasher.transform(probabilities(classifier, X)),
    "warm-up, ranking loss": lambda X: signs(warm, X),
    "ranking loss alone": lambda X: signs(cold, X),
}
histograms = {
    name: hamming_histogram(
        encode(X_query), encode(X_database), "auto", y_query, y_database
    )
    for name, encode in encoders.items()
}

print(f"Mean AP of held-out queries, {N_BITS} bits")
for name, histogram in histograms.items():
    print(f"  {name:24s}{AP.of(histogram).mean():.3f}")

# %%
# Distances of similar and dissimilar pairs
# -----------------------------------------
# Ranking errors come from distances that both kinds of pairs have.

import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 3, figsize=(8, 3.2), sharey=True, layout="constrained")
for ax, (name, histogram) in zip(axes, histograms.items()):
    different, same = histogram.counts.sum(axis=0)
    for label, pairs, hatch in (
        ("different languages", different, ""),
        ("same language", same, "//"),
    ):
        ax.bar(range(N_BITS + 1), pairs / pairs.sum(), alpha=0.6, label=label, hatch=hatch)
    ax.set(title=name, xlabel="Hamming distance", xticks=range(0, N_BITS + 1, 4))
axes[0].set_ylabel("fraction of pairs")
axes[1].legend()
figure.suptitle(f"Distances of pairs, {N_BITS} bits")
figure.savefig("own_network.png", dpi=150)
print("Figure saved as own_network.png")
