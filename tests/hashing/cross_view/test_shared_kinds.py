"""One function of two views, whose features are dense, or sparse of few or many entries."""

from itertools import pairwise, product
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from sklearn_talr.affinity import LabelAffinity
from sklearn_talr.features._scaling import Scaling
from sklearn_talr.hashing import CrossViewHasher
from sklearn_talr.hashing.training._host import Features, HostEngine, LayersInTraining
from sklearn_talr.hashing.training._plan import Dropout
from sklearn_talr.losses import LossContext
from sklearn_talr.losses._tie_aware import loss_of

N_SAMPLES, N_FEATURES, N_BITS = 120, 300, 6
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 5, N_SAMPLES)
FEW = np.where(RNG.random((N_SAMPLES, N_FEATURES)) < 0.01, 1.0, 0.0)
FEW[np.arange(N_SAMPLES), Y] = 1
MORE = FEW + (RNG.random(FEW.shape) < 0.08)
KINDS = {"few": sp.csr_array(FEW), "more": sp.csr_array(MORE), "dense": FEW}


def engine_of(views, solver, sizes):
    """An engine of a shared function in units of its own, at fixed weights."""
    plan = SimpleNamespace(dropout=Dropout(0.0, 0.0), weight_decay=0.1, solver=solver)
    rng = np.random.RandomState(0)
    widths = [N_FEATURES, *sizes, N_BITS]
    coefs = [rng.normal(size=shape) / shape[0] ** 0.5 for shape in pairwise(widths)]
    intercepts = [rng.normal(size=width) / 9 for width in widths[1:]]
    scaling = Scaling(FEW.mean(axis=0), 0.5 + rng.random_sample(N_FEATURES))
    features = [Features(view, scaling) for view in views]
    function = LayersInTraining(coefs, intercepts, features[0], plan, rng)
    levels = np.array([0, 1])
    context = LossContext(
        affinity=LabelAffinity(),
        targets=None,
        levels=levels,
        gain_levels=levels,
        n_bits=N_BITS,
        is_relaxed=True,
        device="cpu",
        rng=rng,
        fitted_before={},
    )

    def level_index(queries, items):
        return np.equal.outer(Y[queries], Y[items]).astype(int)

    both = [function, function], features[::-1]
    return HostEngine(*both, loss_of("AP"), context, plan, level_index)


def steps_of(engine, kept):
    """Weights after three steps."""
    rows = np.arange(40), np.arange(20, N_SAMPLES)
    for _ in range(3):
        engine.step(rows, kept, 1.0, 0.01)
    return engine.weights()


@pytest.mark.parametrize("kept", [None, np.array([0, 2, 5])])
@pytest.mark.parametrize("sizes", [(), (7,)])
@pytest.mark.parametrize("solver", ["adam", "adam_mini"])
@pytest.mark.parametrize(("item", "query"), product(KINDS, KINDS))
def test_steps_are_those_of_dense_features(item, query, solver, sizes, kept):
    views = KINDS[item], KINDS[query]
    dense = [view.toarray() if sp.issparse(view) else view for view in views]
    found, expected = (
        steps_of(engine_of(each, solver, sizes), kept) for each in (views, dense)
    )
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, rtol=1e-3, atol=2e-4)


@pytest.mark.parametrize("has_labels", [True, False])
@pytest.mark.parametrize("options", [{}, {"hidden_layer_sizes": (8,)}, {"loss": "nDCG"}])
@pytest.mark.parametrize(("item", "query"), product(KINDS, KINDS))
def test_fits_of_all_kinds(item, query, options, has_labels):
    hasher = CrossViewHasher(
        N_BITS, shared=True, teacher=None, max_iter=1, random_state=0, **options
    )
    y = Y if has_labels else None
    hasher.fit(KINDS[item], y, X_query=KINDS[query], y_query=y)
    assert np.isfinite(hasher.coefs_[0]).all()
