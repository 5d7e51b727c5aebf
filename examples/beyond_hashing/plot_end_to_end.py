"""
End to end: a convolutional network that learns its codes from pixels
=====================================================================

A hasher turns features into codes. When there are no good features yet, the ranking loss
can train the network that makes them: :class:`sklearn_talr.losses.TieAwareLoss` is a
torch module that takes activations and targets, so that any network whose last layer has
one output per bit will do. :doc:`/user_guide/training` tells what happens in one step.
``TALRHasher(module=network)`` trains such a network without a loop of your own.
"""

# %%
# Queries, a database, and training rows
# --------------------------------------
# Handwritten digits of 8 x 8 pixels; two images are similar if they show the same digit.
# Two fifths train, 300 are queries, and the rest is the database they search: no image is
# in two of the three.

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

X, y = load_digits(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(
    X.astype("float32") / 16, y, train_size=0.4, stratify=y, random_state=0
)
X_database, X_query, y_database, y_query = train_test_split(
    X_rest, y_rest, test_size=300, stratify=y_rest, random_state=0
)
N_BITS = 16

# %%
# A small network
# ---------------
# Two convolutions, and a linear layer with one activation per bit. The sign of an
# activation is the bit.

import torch
from torch import nn

torch.set_num_threads(1)  # steps this small gain nothing from more
torch.manual_seed(0)
network = nn.Sequential(
    nn.Unflatten(1, (1, 8, 8)),
    nn.Conv2d(1, 16, kernel_size=3, padding=1),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.Conv2d(16, 32, kernel_size=3, padding=1, stride=2),
    nn.BatchNorm2d(32),
    nn.ReLU(),
    nn.Flatten(),
    nn.Dropout(0.2),
    nn.Linear(32 * 4 * 4, N_BITS),
)

# %%
# Training by the ranking itself
# ------------------------------
# Each image of a batch ranks the others by the Hamming distance of relaxed codes. Raising
# ``tanh_scale`` from 1 to 8 makes these almost binary by the end; bit dropout asks of
# every half of a code to rank well by itself.

from sklearn_talr.losses import TieAwareLoss

N_EPOCHS, BATCH_SIZE = 30, 200
images, labels = torch.from_numpy(X_train), torch.from_numpy(y_train)
loss = TieAwareLoss("AP", bit_dropout=0.5)
optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, N_EPOCHS)

for epoch in range(N_EPOCHS):
    loss.tanh_scale = 8 ** (epoch / (N_EPOCHS - 1))
    for batch in torch.randperm(len(images)).split(BATCH_SIZE):
        value = loss(network(images[batch]), labels[batch])
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
    schedule.step()


def encode(X):
    network.eval()
    with torch.no_grad():
        return (network(torch.from_numpy(X)) > 0).numpy().astype("uint8")


# %%
# What the convolutions are worth
# -------------------------------
# The same loss on a linear function of the pixels is what
# :class:`~sklearn_talr.hashing.TALRHasher` trains by default. Held-out queries rank the
# database; ties are averaged over all their orders.

from sklearn_talr import TALRHasher
from sklearn_talr.affinity import LabelAffinity
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.measures import AP

linear = TALRHasher(N_BITS, max_iter=N_EPOCHS, random_state=0).fit(X_train, y_train)
encoders = {"linear function": linear.transform, "network": encode}
histograms = {
    name: hamming_histogram(
        encoder(X_query), encoder(X_database), LabelAffinity(), y_query, y_database
    )
    for name, encoder in encoders.items()
}

print(f"Tie-aware AP of held-out queries, {N_BITS} bits")
for name, histogram in histograms.items():
    print(f"  {name:16s}{AP(histogram).mean():.3f}")

# %%
# Where the two classes of pairs lie
# ----------------------------------
# The same counts drawn: how far database images are from their queries. What both kinds of
# bars share is what a ranking gets wrong.

import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(6, 3.2), sharey=True, layout="constrained")
for ax, (name, histogram) in zip(axes, histograms.items()):
    different, same = histogram.counts.sum(axis=0)
    kinds = {"other digits": (different, ""), "the same digit": (same, "//")}
    for label, (pairs, hatch) in kinds.items():
        ax.bar(range(N_BITS + 1), pairs / pairs.sum(), alpha=0.6, label=label, hatch=hatch)
    ax.set(title=name, xlabel="Hamming distance", xticks=range(0, N_BITS + 1, 4))
axes[0].set_ylabel("fraction of pairs")
axes[1].legend()
figure.suptitle("Distances of pairs, 16 bits")
figure.savefig("end_to_end.png", dpi=150)
print("Figure saved as end_to_end.png")
