"""Distorted copies: whether the original is found, by codes that saw copies or did not.

    python benchmarks/bench_copies.py  # a quarter of an hour

500 queries are copies of some of 5 000 items, of 2 500 in ``fashion_copies``. *First* is
the share of queries whose original is found first, the mean over orders of ties. Codes
have 8 bytes and are fitted to 2 000 other rows, 500 in ``fashion_copies``. Copies are
made by

* *sounds*: notes made up here, described by logarithms of the energy in 32 bands of 16
  frames. Copies have another loudness and white noise, 10 to 20 decibels below the sound.
* *fashion_copies*: GIST descriptors of images that were moved, shaded and made noisy
  before they were described (``make_features.py``).
* *scenes*, *cifar10*, *text*: features with normal noise added, as long as a centered row
  is on average.

*Raw* features are as they come. *Prepared* ones are centered and have unit length; so are
those of all methods that learn from pairs. *Pairs* are the rows to fit, each with a copy,
as a class of its own. *Whitening* turns features until the differences of pairs have the
identity as their covariance, with the shrinkage of Ledoit and Wolf. AdditiveHasher is
asked by weights, floats are compared by the cosine, and all others by bits.
SKLEARN_TALR_DATA names the folder of the sets.
"""

import argparse
from functools import lru_cache
from itertools import product
from time import process_time
from typing import NamedTuple

import numpy as np
import torch  # noqa: F401  (or the first fit would load it)
from _store import RESULTS, Store
from benchmark_sets import folder_of_sets
from scipy.linalg import inv, sqrtm
from sklearn.covariance import ledoit_wolf
from sklearn.preprocessing import normalize

from sklearn_talr.codes import hamming_distances, weighted_scores
from sklearn_talr.hashing import AdditiveHasher, ITQHasher, LSHHasher, TALRHasher

N_BITS, N_QUERIES, N_ITEMS, N_TRAIN = 64, 500, 5_000, 2_000
N_SAMPLES, RATE, N_NOTES, N_FRAMES, N_BANDS = 4_096, 8_000, 4, 16, 32  # of a sound
FLOOR = 0.01  # of the mean energy, under which bands count as silent
FILES = {
    "scenes": "scenes_gist512.npz",
    "cifar10": "cifar10_cnn512.npz",
    "text": "text_minilm384.npz",
}
SETS = ["sounds", "fashion_copies", *FILES]
# Fitted to rows alone: the hasher, and the state of the features
ALONE = {
    "LSH, prepared": ("LSH", "prepared"),
    "ITQ, raw": ("ITQ", "raw"),
    "ITQ, prepared": ("ITQ", "prepared"),
    "AdditiveHasher, raw": ("AdditiveHasher", "raw"),
    "AdditiveHasher, prepared": ("AdditiveHasher", "prepared"),
    "TALRHasher, raw": ("TALRHasher", "raw"),
    "TALRHasher, prepared": ("TALRHasher", "prepared"),
}
PAIRS = ["TALRHasher of pairs", "whitening, ITQ", "whitening, AdditiveHasher"]
FLOATS = ["floats, raw", "floats, prepared", "floats, whitening"]
STORE = Store(RESULTS / "copies.csv", ["data", "seed", "method"], ["first", "fit_seconds"])


class Rows(NamedTuple):
    """Rows to fit and their copies, queries and items; query i is a copy of item i."""

    train: np.ndarray
    copies: np.ndarray
    query: np.ndarray
    items: np.ndarray


def sounds(n_sounds, rng):
    """Waves of four notes with overtones, each fading: (n_sounds, n_samples)."""
    length = N_SAMPLES // N_NOTES
    time = np.arange(length) / RATE
    notes = 110 * 2 ** (rng.integers(36, size=(n_sounds, N_NOTES, 1)) / 12)
    waves = np.zeros((n_sounds, N_NOTES, length))
    for overtone in range(1, 5):
        loudness = rng.uniform(size=(n_sounds, 1, 1)) / overtone
        waves += loudness * np.sin(2 * np.pi * overtone * notes * time)
    waves *= np.exp(-time * rng.uniform(0, 20, size=(n_sounds, 1, 1)))
    return waves.reshape(n_sounds, -1)


def energies(waves):
    """Logarithms of the energy in bands of frames, of shape (n_sounds, 512)."""
    frames = waves.reshape(len(waves), N_FRAMES, -1) * np.hanning(N_SAMPLES // N_FRAMES)
    spectra = np.abs(np.fft.rfft(frames))[..., 1:] ** 2
    bands = spectra.reshape(len(waves), N_FRAMES, N_BANDS, -1).sum(axis=-1)
    floor = FLOOR * bands.mean(axis=(1, 2), keepdims=True)
    return np.log(bands + floor).reshape(len(waves), -1).astype(np.float32)


def noisy(waves, rng):
    """Copies of another loudness, with white noise."""
    decibels = rng.uniform(10, 20, size=(len(waves), 1))
    deviation = np.sqrt((waves**2).mean(axis=1, keepdims=True) * 10 ** (-decibels / 10))
    noise = deviation * rng.standard_normal(waves.shape)
    return rng.uniform(0.5, 2, size=(len(waves), 1)) * (waves + noise)


@lru_cache(maxsize=1)
def load(name, seed):
    """The rows of a set."""
    rng = np.random.default_rng(seed)
    if name == "sounds":
        waves = sounds(N_TRAIN + N_ITEMS, rng)
        copies = energies(noisy(waves[: N_TRAIN + N_QUERIES], rng))
        X = energies(waves)
    elif name == "fashion_copies":
        X, copies = read("fashion_gist512.npz"), read("fashion_copies_gist512.npz")
        order = rng.permutation(len(copies))
        X, copies = X[order], copies[order]
        n_train = N_QUERIES
        rows = X[:n_train], copies[:n_train], copies[n_train : 2 * n_train], X[n_train:]
        return Rows(*rows)
    else:
        X = read(FILES[name])
        X = X[rng.permutation(len(X))[: N_TRAIN + N_ITEMS]]
        noise = rng.standard_normal((N_TRAIN + N_QUERIES, X.shape[1]))
        length = np.linalg.norm(X - X.mean(axis=0), axis=1).mean()
        copies = X[: len(noise)] + (length * normalize(noise)).astype(np.float32)
    return Rows(X[:N_TRAIN], copies[:N_TRAIN], copies[N_TRAIN:], X[N_TRAIN:])


def read(file):
    with np.load(folder_of_sets() / file) as arrays:
        return arrays["X"].astype(np.float32)


def in_state(rows, state):
    """Rows raw, prepared or whitened."""
    if state == "raw":
        return rows
    mean = rows.train.mean(axis=0)
    prepared = Rows(*(normalize(part - mean) for part in rows))
    if state == "prepared":
        return prepared
    covariance, _ = ledoit_wolf(prepared.copies - prepared.train, assume_centered=True)
    whitening = inv(sqrtm(covariance).real).astype(np.float32)
    return Rows(*(part @ whitening for part in prepared))


def first(scores):
    """Mean share of orders of ties in which item i comes first for query i."""
    own = scores[np.arange(len(scores)), np.arange(len(scores))][:, None]
    is_best = ~(scores > own).any(axis=1)
    return float(np.mean(is_best / (scores == own).sum(axis=1)))


def new_hasher(name, seed):
    """A hasher of 8 bytes by its name, which fits rows alone."""
    if name == "AdditiveHasher":  # whose factor takes one
        return AdditiveHasher(N_BITS - 8, random_state=seed)
    if name == "TALRHasher":
        return TALRHasher(N_BITS, loss="nDCG", random_state=seed)
    return {"LSH": LSHHasher, "ITQ": ITQHasher}[name](N_BITS, random_state=seed)


def scores_of(hasher, rows):
    """Scores of all items, by weights of an AdditiveHasher and by bits of others."""
    if isinstance(hasher, AdditiveHasher):
        return weighted_scores(hasher.query_weights(rows.query), hasher.encode(rows.items))
    return -hamming_distances(hasher.transform(rows.query), hasher.transform(rows.items))


def measure(data, seed, method):
    """Columns of one row."""
    rows, start = load(data, seed), process_time()
    if method in FLOATS:
        rows = in_state(rows, method.split(", ")[1])
        return {"first": first(normalize(rows.query) @ normalize(rows.items).T)}
    if method in ALONE:
        name, state = ALONE[method]
        rows = in_state(rows, state)
        hasher = new_hasher(name, seed).fit(rows.train)
    elif method == "TALRHasher of pairs":
        rows = in_state(rows, "prepared")
        classes = np.tile(np.arange(len(rows.train)), 2)
        hasher = TALRHasher(N_BITS, random_state=seed)
        hasher.fit(np.concatenate([rows.train, rows.copies]), classes)
    else:
        rows = in_state(rows, "whitening")
        hasher = new_hasher(method.split(", ")[1], seed).fit(rows.train)
    seconds = process_time() - start
    return {"first": first(scores_of(hasher, rows)), "fit_seconds": seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    for seed, data, method in product(
        parser.parse_args().seeds, SETS, [*FLOATS, *ALONE, *PAIRS]
    ):
        key = {"data": data, "seed": seed, "method": method}
        if not STORE.has(**key):
            STORE.add(**key, **measure(**key))


if __name__ == "__main__":
    main()
