"""Draw retrieval.png, the picture of README.md: one query and what three codes find.

python docs/_static/draw_retrieval.py
"""

from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from sklearn_talr import HammingNeighbors, ITQHasher, LSHHasher, TALRHasher

QUERY, N_SHOWN = 95, 12


def split():
    """Return training rows, database and queries of the digits, with their labels."""
    X, y = load_digits(return_X_y=True)
    X_train, X_rest, y_train, y_rest = train_test_split(
        X, y, train_size=600, stratify=y, random_state=0
    )
    X_database, X_query, y_database, y_query = train_test_split(
        X_rest, y_rest, test_size=300, stratify=y_rest, random_state=0
    )
    return X_train, y_train, X_database, y_database, X_query, y_query


def show(ax, row, color=None):
    ax.imshow(row.reshape(8, 8), cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set(color=color or "black", linewidth=2.5 if color else 1)


def main():
    X_train, y_train, X_database, y_database, X_query, y_query = split()
    hashers = {
        "random\nhyperplanes": LSHHasher(16, random_state=0),
        "ITQ,\nno labels": ITQHasher(16, random_state=0),
        "TALRHasher": TALRHasher(16, max_iter=20, random_state=0),
    }
    fig, axes = plt.subplots(
        len(hashers), N_SHOWN + 2, figsize=(9, 2.9), layout="constrained"
    )
    for line, (name, hasher) in zip(axes, hashers.items(), strict=True):
        hasher.fit(X_train, y_train)
        index = HammingNeighbors(N_SHOWN).fit(hasher.transform(X_database))
        distances, found = index.kneighbors(hasher.transform(X_query[[QUERY]]))
        show(line[0], X_query[QUERY])
        line[0].set_title("query", fontsize=9)
        line[0].set_ylabel(name, fontsize=9, rotation=0, ha="right", va="center")
        line[1].axis("off")
        for ax, item, distance in zip(line[2:], found[0], distances[0], strict=True):
            similar = y_database[item] == y_query[QUERY]
            show(ax, X_database[item], "#009e73" if similar else "#d55e00")
            ax.set_title(distance, fontsize=9)
    fig.suptitle(
        "The nearest by Hamming distance, 16 bits, with their distances", fontsize=10
    )
    fig.savefig(Path(__file__).with_name("retrieval.png"), dpi=110)


if __name__ == "__main__":
    main()
