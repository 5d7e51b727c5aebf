"""Sets of the benchmarks of raw features, of copies and of classes to come."""

import gzip
import sys
from importlib import import_module
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def module(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    return import_module


@pytest.mark.parametrize("name", ["digits_units", "cancer"])
def test_states_share_their_rows(module, name):
    bench = module("bench_raw")
    raw, unit, prepared = (bench.load(name, s, 0) for s in ("raw", "unit", "prepared"))
    X, _ = bench.read(name)
    known = {row.tobytes() for row in X}
    parts = raw.X_train, raw.X_query, raw.X_items
    rows = [{row.tobytes() for row in part} for part in parts]
    assert set.union(*rows) <= known
    assert not rows[1] & rows[2]
    assert not rows[0] & rows[1]
    for state in (unit, prepared):
        np.testing.assert_array_equal(state.y_items, raw.y_items)
        np.testing.assert_allclose(np.linalg.norm(state.X_items, axis=1), 1)
    cosines = raw.X_items @ unit.X_items.T
    np.testing.assert_allclose(np.diag(cosines), np.linalg.norm(raw.X_items, axis=1))
    # Columns of unlike units weigh alike once they are prepared.
    deviations = prepared.X_train.std(axis=0)
    assert deviations.max() < 10 * np.median(deviations)
    assert raw.X_train.std(axis=0).max() > 100 * np.median(raw.X_train.std(axis=0))


def test_first_counts_every_order_of_ties(module):
    scores = np.array([[2, 2, 0], [1, 3, 3], [3, 0, 1]])
    shares = []
    for order in permutations(range(3)):
        # The order is a tie break that no score difference yields to.
        broken = scores - 0.1 * np.array(order)
        shares.append(np.mean(broken.argmax(axis=1) == np.arange(3)))
    assert module("bench_copies").first(scores) == pytest.approx(np.mean(shares))


def test_copies_of_sounds_are_near_their_originals(module, monkeypatch):
    bench = module("bench_copies")
    monkeypatch.setattr(bench, "N_TRAIN", 60)
    monkeypatch.setattr(bench, "N_ITEMS", 40)
    monkeypatch.setattr(bench, "N_QUERIES", 30)
    rows = bench.in_state(bench.load.__wrapped__("sounds", 0), "whitening")
    assert bench.first(rows.query @ rows.items.T) > 0.5  # 0.025 by chance
    differences = np.cov((rows.copies - rows.train).T)
    # Shrinkage is strong with 60 pairs, and no direction is amplified.
    assert np.linalg.eigvalsh(differences).max() < 3


def test_new_classes_are_not_trained_on(module):
    bench = module("bench_unseen")
    train, query, items = bench.split("digits", 7, 0)
    assert len(np.unique(train[1])) == 7
    assert not set(train[1]) & set(query[1])
    assert set(query[1]) == set(items[1])
    known = {row.tobytes() for row in items[0]}
    assert not any(row.tobytes() in known for row in query[0])


def test_features_of_fashion_mnist(module, tmp_path):
    make = module("make_features")
    rng = np.random.default_rng(0)
    pixels = rng.integers(256, size=(12, 28, 28), dtype=np.uint8)
    labels = np.arange(12, dtype=np.uint8)
    for name, head, data in (("images-idx3", 16, pixels), ("labels-idx1", 8, labels)):
        with gzip.open(tmp_path / f"train-{name}-ubyte.gz", "wb") as file:
            file.write(bytes(head) + data.tobytes())
    images, y = make.fashion_images(tmp_path)
    np.testing.assert_array_equal(images, pixels)
    np.testing.assert_array_equal(y, labels)
    copies = make.distorted(images)
    assert copies.shape == images.shape
    assert not np.array_equal(copies, images)
    descriptors = make.gist_of_pixels(images, n_at_once=5)
    assert descriptors.shape == (12, 512)
    assert (descriptors >= 0).all()
    np.testing.assert_allclose(make.gist_of_pixels(images[7:8]), descriptors[7:8])
