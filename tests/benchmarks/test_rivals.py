"""Rivals of the benchmark of embeddings: their codes against slow definitions."""

from importlib import import_module
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import norm

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module


@pytest.fixture(scope="module")
def rows():
    """Rows of which some axes vary much more than others, as those of embeddings do."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 48)) * np.geomspace(1, 0.1, 48)
    X = X @ np.linalg.qr(rng.normal(size=(48, 48)))[0]
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)


def expected_error(levels):
    """Expected squared error of rounding a normal number, by numerical integration."""
    edges = [-12, *(np.diff(levels) / 2 + levels[:-1]), 12]
    return sum(
        quad(lambda z, level=level: (z - level) ** 2 * norm.pdf(z), low, high)[0]
        for level, low, high in zip(levels, edges, edges[1:])
    )


@pytest.mark.parametrize("n_bits", [0, 1, 2, 4])
def test_levels_have_the_least_error(module, n_bits):
    codes = module("_scalar_codes")
    levels = codes.lloyd_max(n_bits)
    assert len(levels) == 2**n_bits
    error = expected_error(levels)
    np.testing.assert_allclose(codes.lloyd_max_error(n_bits), error, atol=1e-7)
    if 0 < n_bits < 4:
        moved = levels + np.random.default_rng(0).normal(size=levels.shape) / 10
        best = minimize(lambda x: expected_error(np.sort(x)), moved, tol=1e-10)
        np.testing.assert_allclose(np.sort(best.x), levels, atol=1e-4)
        assert error < expected_error(np.sort(moved))


def test_known_levels(module):
    """Max's table of 1960."""
    levels = module("_scalar_codes").lloyd_max
    np.testing.assert_allclose(levels(1), [-0.7979, 0.7979], atol=1e-4)
    np.testing.assert_allclose(levels(2)[2:], [0.4528, 1.5104], atol=1e-4)
    np.testing.assert_allclose(levels(4)[[8, 15]], [0.1284, 2.7326], atol=1e-4)


def test_numbers_get_the_nearest_level(module):
    codes = module("_scalar_codes")
    Z, levels = np.random.default_rng(0).normal(size=(50, 7)), codes.lloyd_max(2)
    nearest = np.abs(Z[:, :, None] - levels).argmin(axis=2)
    np.testing.assert_array_equal(codes.nearest_levels(Z, levels), nearest)


@pytest.mark.parametrize(("n_bits", "n_dims"), [(1, 6), (2, 5), (3, 4), (4, 3)])
def test_half_integers_have_the_best_direction(module, n_bits, n_dims):
    codes = module("_scalar_codes")
    Z = np.random.default_rng(0).normal(size=(2_100, n_dims))  # more than one part
    Z[0] = 0
    Z[1, 1:] = 0
    found = codes.half_integers(codes.half_integer_codes(Z, n_bits), n_bits)
    grid = np.arange(2**n_bits) - (2**n_bits - 1) / 2
    every = np.array([*product(grid, repeat=n_dims)])
    assert set(np.unique(found)) <= set(grid)
    best = (Z @ (every / np.linalg.norm(every, axis=1, keepdims=True)).T).max(axis=1)
    cosines = (Z * found).sum(axis=1) / np.linalg.norm(found, axis=1)
    np.testing.assert_allclose(cosines, best, rtol=1e-6)


@pytest.mark.parametrize("n_bits", [1, 2, 4])
def test_interval_of_a_row(module, n_bits):
    """Its loss is that of the definition, and lower than where the search begins."""
    codes = module("_scalar_codes")
    Z = np.random.default_rng(0).normal(size=(40, 30)) + 0.3
    got, ends = codes.interval_codes(Z, n_bits)
    decoded = codes.interval_values(got, ends, n_bits)

    def loss(z, decoded):
        return 0.9 * (z @ (z - decoded)) ** 2 / (z @ z) + 0.1 * np.sum((z - decoded) ** 2)

    n_lower = 0
    for z, code, (low, high), values in zip(Z, got, ends.astype(float), decoded):
        steps = np.linspace(low, high, 2**n_bits)
        np.testing.assert_array_equal(np.abs(z[:, None] - steps).argmin(axis=1), code)
        np.testing.assert_allclose(steps[code], values, atol=1e-5)
        start = codes._BEST_INTERVALS[n_bits] * z.std()
        first = np.linspace(z.mean() - start, z.mean() + start, 2**n_bits)
        rounded = first[np.abs(z[:, None] - first).argmin(axis=1)]
        assert loss(z, values) <= loss(z, rounded) * 1.02  # ends are stored in 16 bits
        n_lower += loss(z, values) < 0.9 * loss(z, rounded)
    assert n_lower > 20


def test_first_intervals_are_best_for_normal_numbers(module):
    def error(reach, n_bits):
        return expected_error(np.linspace(-reach, reach, 2**n_bits))

    for n_bits, reach in module("_scalar_codes")._BEST_INTERVALS.items():
        best = minimize_scalar(error, (0.5, 3), args=(n_bits,)).x
        np.testing.assert_allclose(reach, best, atol=2e-3)


def test_packed_codes_take_the_bits_of_their_widths(module):
    codes, widths = module("_scalar_codes"), [3, 1, 8, 2, 4, 1, 6]
    rng = np.random.default_rng(0)
    values = np.stack([rng.integers(2**w, size=20) for w in widths], axis=1)
    packed = codes.pack(values.astype(np.uint8), widths)
    assert packed.shape == (20, 4)  # 25 bits
    assert packed.dtype == np.uint8
    np.testing.assert_array_equal(codes.unpack(packed, widths), values)


@pytest.mark.parametrize("n_bits", [1, 5, 40, 400])
def test_water_level_spends_the_bits(module, n_bits):
    variances = np.geomspace(1, 1e-6, 30)
    variances[-3:] = 0
    level = module("_rate_distortion").water_level(variances, n_bits)
    spent = np.log2(np.maximum(variances / level, 1)).sum() / 2
    np.testing.assert_allclose(spent, n_bits)


def test_reference_has_the_error_of_the_theory(module):
    """And with as much of the row in it as a code of so many bits can have."""
    theory, rng = module("_rate_distortion"), np.random.default_rng(0)
    variances = np.geomspace(2, 0.01, 12)
    Z = (rng.normal(size=(200_000, 12)) * np.sqrt(variances)).astype(np.float32)
    level = theory.water_level(variances, 9)
    decoded = theory.test_channel(Z, variances, 9, rng)
    distortions = np.minimum(variances, level)
    np.testing.assert_allclose(((Z - decoded) ** 2).mean(axis=0), distortions, rtol=0.02)
    shared = [
        np.corrcoef(z, y)[0, 1] ** 2 if y.any() else 0 for z, y in zip(Z.T, decoded.T)
    ]
    np.testing.assert_allclose(-np.log2(1 - np.array(shared)).sum() / 2, 9, rtol=0.01)


def test_allocation_spends_the_bits_as_the_best_one_does(module):
    theory, codes = module("_rate_distortion"), module("_scalar_codes")
    variances = np.array([5, 2, 0.7, 0.3])
    widths = theory.allocated_bits(variances, 7)
    assert widths.sum() == 7

    def error(widths):
        return sum(v * codes.lloyd_max_error(int(w)) for v, w in zip(variances, widths))

    every = (w for w in product(range(8), repeat=4) if sum(w) == 7)
    np.testing.assert_allclose(error(widths), min(map(error, every)))


def test_no_component_has_more_bits_than_a_byte(module):
    widths = module("_rate_distortion").allocated_bits(np.array([1e12, 1, 1]), 20)
    assert widths.max() == 8
    assert widths.sum() == 20
    every = module("_rate_distortion").allocated_bits(np.array([3.0, 1]), 20)
    np.testing.assert_array_equal(every, [8, 8])


def contenders(module, n_bytes):
    rivals = module("_rivals")
    for rival in (
        rivals.ASH,
        rivals.UnbiasedASH,
        rivals.RaBitQ,
        rivals.TurboQuant,
        rivals.OSQ,
    ):
        for width in (1, 2, 4):
            yield rival(48, n_bytes, 0, width)
    yield rivals.AllocatedComponents(48, n_bytes, 0)


def test_rivals_store_their_budget(module, rows):
    """Factors included, and less only where a row has no more coordinates."""
    for rival in contenders(module, 8):
        rival.fit(rows[:500])
        rival.add(rows[500:])
        n_bytes = 8
        if rival.width == 1:
            n_bytes = min(6 + 2 * rival.n_factors, 8)  # 48 coordinates
        assert rival.n_bytes == n_bytes, type(rival)
        assert rival.codes.dtype == np.uint8
        assert rival.factors.dtype == np.float16


def test_decodings_approach_the_rows(module, rows):
    """As far as levels of one, two and four bits are from normal numbers, about."""
    rivals, far = module("_rivals"), {}
    for rival in (rivals.ASH, rivals.RaBitQ, rivals.TurboQuant, rivals.OSQ):
        for width in (1, 2, 4):
            model = rival(48, 30, 0, width)
            model.fit(rows[:500])
            model.add(rows[500:])
            codes = module("_scalar_codes").unpack(model.codes, model.widths)
            decoded = model.decode(codes) @ model.axes.T
            assert decoded.shape == (200, 48)
            decoded /= np.linalg.norm(decoded, axis=1, keepdims=True)
            far[width] = 1 - np.mean((rows[500:] * decoded).sum(axis=1))
        assert far[4] < 0.02 < far[2] < 0.1 < 0.15 < far[1] < 0.25, rival


def test_products_are_unbiased(module, rows):
    """The factor of RaBitQ gives back each row's product with its own decoding."""
    model = module("_rivals").RaBitQ(48, 8, 0, 2)
    model.fit(rows[:500])
    model.add(rows[500:])
    Z = rows[500:] @ model.axes
    decoded = model.decode(module("_scalar_codes").unpack(model.codes, model.widths))
    lengths = (Z**2).sum(axis=1)
    np.testing.assert_allclose((Z * decoded).sum(axis=1), lengths, rtol=2e-3)


def test_learned_axes_suit_their_codes(module, rows):
    """Axes of ASH are orthonormal, and rows are nearer their codes than by random
    ones."""
    rivals, nearness = module("_rivals"), {}
    for rival in (rivals.UnbiasedASH, rivals.RaBitQ):
        model = rival(48, 8, 0, 2)
        model.fit(rows)
        model.add(rows)
        unit = model.axes.T @ model.axes
        np.testing.assert_allclose(unit, np.eye(model.axes.shape[1]), atol=1e-5)
        codes = module("_scalar_codes").unpack(model.codes, model.widths)
        decoded = model.decode(codes) @ model.axes.T
        decoded /= np.linalg.norm(decoded, axis=1, keepdims=True)
        nearness[rival] = np.mean((rows * decoded).sum(axis=1))
    assert nearness[rivals.UnbiasedASH] > nearness[rivals.RaBitQ] + 0.005


def test_searches_find_what_the_scores_say(module, rows):
    searches = module("_searches")
    scores = rows[:20] @ rows[20:].T
    found = searches.by_product(rows[:20], rows[20:], 50)
    np.testing.assert_array_equal(found, np.argsort(-scores, axis=1)[:, :50])
    many = np.random.default_rng(0).random((3, 5_000))  # few are sorted by accident
    order = np.argsort(-many, axis=1)[:, :1_000]
    np.testing.assert_array_equal(searches.highest(many, 1_000), order)
    longer = rows[20:] * np.linspace(1, 9, len(rows) - 20)[:, None].astype(np.float32)
    np.testing.assert_array_equal(searches.by_cosine(rows[:20], longer, 50), found)
