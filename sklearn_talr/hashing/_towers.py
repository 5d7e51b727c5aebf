"""The fit of the hash functions of two views by gradients.

The relevance-CCA, which they start from, is the canonical correlation analysis of items and
queries that are relevant to each other: its covariance between the views sums over relevant
pairs, in the place of rows that are partners. Of partners it is the ordinary analysis.
"""

from dataclasses import replace
from functools import partial

import numpy as np
from scipy.linalg import svd
from sklearn import config_context
from sklearn.utils.extmath import svd_flip

from .._core.threads import one_thread
from ..features._scaling import Scaling, centered
from ..features._similar_rows import inverse_root
from ..losses import LossContext
from ._linear import (
    drawn_rows,
    hidden_units,
    itq_projection,
    principal_directions,
    random_layers,
    random_projection,
    with_last_layer,
)
from .training._fit import choose_engine
from .training._loop import train
from .training._monitor import Monitor
from .training._plan import TrainingParameters, resolve_plan

_ITEMS_PER_QUERY = 4  # of a batch
_MOST_ROWS = 5000  # of each view
_MOST_CELLS = 2**25
_MOST_FEATURES = 1024  # principal directions beyond which views are not correlated
_LEAST_CORRELATION = 1e-6  # in relation to the largest


def fit_towers(hasher, loss, views, is_shared, rng, progress):
    """Train the functions of both views.

    Parameters
    ----------
    hasher : CrossViewHasher
        Gives its parameters; it is not changed.

    loss : BaseLoss
        What is minimized.

    views : Views
        Features of items and of queries, and who is relevant to whom.

    is_shared : bool
        Whether one function serves both.

    rng : RandomState
        Draws all that is random.

    progress : Progress
        Told of each epoch.

    Returns
    -------
    item, query : dict
        Fitted attributes of each function.

    losses : list of float
        Mean loss of each epoch.
    """
    pairs = views.pairs
    item_plan, query_plan = _plan_towers(hasher, loss, views)
    item_scaling, query_scaling = _scale_views(views, is_shared=is_shared)
    engine_class = choose_engine(query_plan)
    item_features = engine_class.features(views.X, item_scaling, query_plan)
    query_features = engine_class.features(views.X_query, query_scaling, query_plan)
    with engine_class.context(), config_context(), one_thread():
        weights = _start_weights(
            [item_features, query_features],
            [item_plan.layer_sizes, query_plan.layer_sizes],
            pairs,
            is_shared=is_shared,
            init=hasher.init,
            n_bits=hasher.n_bits,
            rng=rng,
        )
        item = engine_class.layers(*weights[0], item_features, item_plan, rng)
        query = item
        if not is_shared:
            query = engine_class.layers(*weights[1], query_features, query_plan, rng)
        context = LossContext(
            affinity=pairs.affinity,
            targets=None,
            levels=pairs.levels,
            gain_levels=pairs.affinity.gain_levels(pairs.levels),
            n_bits=query_plan.n_bits,
            is_relaxed=query_plan.tanh_scale is not None,
            device=query_plan.device,
            rng=rng,
            fitted_before={},
        )
        engine = engine_class(
            [query, item],
            [query_features, item_features],
            loss,
            context,
            query_plan,
            pairs.level_index,
        )
        monitor = Monitor()
        train(
            engine,
            _queries_to_train(pairs),
            query_plan,
            rng=rng,
            monitor=monitor,
            progress=progress,
            draw_views=partial(_draw_views, pairs=pairs, rng=rng),
        )
    return item.fitted(), query.fitted(), monitor.losses


def _plan_towers(hasher, loss, views):
    """Plans of items and of queries, which differ in layers and decay.

    Training goes by the plan of queries, where the features of items are.
    """
    parameters = TrainingParameters.from_hasher(hasher, loss)
    item_plan = resolve_plan(parameters, loss, views.X, by_distance=False)
    if hasher.query_hidden_layer_sizes is not None:
        parameters = replace(parameters, hidden_layer_sizes=hasher.query_hidden_layer_sizes)
    query_plan = resolve_plan(parameters, loss, views.X_query, by_distance=False)
    query_plan = replace(query_plan, device=item_plan.device, on_host=item_plan.on_host)
    return item_plan, query_plan


def _scale_views(views, *, is_shared):
    """Scalings of items and of queries, which are one for a shared function."""
    similar_items, similar_queries = views.pairs.similar()
    n_items = views.X.shape[0]
    n_queries = views.X_query.shape[0]
    of_items = Scaling.from_rows(views.X, np.arange(n_items), similar_items)
    of_queries = Scaling.from_rows(views.X_query, np.arange(n_queries), similar_queries)
    if is_shared:
        mean = np.mean([of_items.mean, of_queries.mean], axis=0)
        return Scaling(mean, of_items.unit), Scaling(mean, of_items.unit)
    return of_items, of_queries


def _queries_to_train(pairs):
    """Queries that have something relevant; with another one if that is but one."""
    queries = np.flatnonzero(pairs.has_relevant())
    if len(queries) < 2:
        queries = np.append(queries, np.setdiff1d([0, 1], queries)[:1])
    return queries


def _draw_views(queries, *, pairs, rng):
    """Queries of a batch, each with an item that is relevant, and random ones."""
    n_random = min(_ITEMS_PER_QUERY * len(queries), pairs.n_items)
    drawn = rng.choice(pairs.n_items, n_random, replace=False)
    relevant = pairs.draw_relevant(queries, rng)
    return queries, np.unique(np.concatenate([relevant, drawn]))


def _start_weights(features, layer_sizes, pairs, *, is_shared, init, n_bits, rng):
    """First weights of the items' and of the queries' function, or of one for both.

    Parameters
    ----------
    features : list of two Features
        Rows of items and of queries in standard units.

    layer_sizes : list of two tuples of int
        Units of hidden layers, which start at random; a shared function has those of items.

    pairs : Pairs
        Who is relevant to whom.

    is_shared : bool
        Whether one function serves both views.

    init : {"cca", "random"}
        Last layer: relevance-CCA, rotated to lose least by taking signs, or of one function
        iterative quantization of all rows; or random directions.

    n_bits : int
        Bits of a code.

    rng : RandomState
        Draws what is random.

    Returns
    -------
    weights : list of (coefs, intercepts)
        Lists of one array per layer.
    """
    widths = [of_view.X.shape[1] for of_view in features]
    n_most = [min(_MOST_ROWS, max(2, _MOST_CELLS // width)) for width in widths]
    rows = [
        drawn_rows(np.arange(of_view.X.shape[0]), n_rows, rng)
        for of_view, n_rows in zip(features, n_most)
    ]
    layers = [random_layers(widths[0], layer_sizes[0], rng)]
    layers.append(layers[0] if is_shared else random_layers(widths[1], layer_sizes[1], rng))
    hidden = [
        hidden_units(of_view.block(drawn), *of_layers)
        for of_view, drawn, of_layers in zip(features, rows, layers)
    ]
    if is_shared:
        X, mean = centered(np.vstack(hidden))
        project = random_projection if init == "random" else itq_projection
        return [with_last_layer(X, mean, *layers[0], project(X, n_bits, rng))]
    (X, mean), (X_query, mean_query) = map(centered, hidden)
    if init == "random":
        projections = [random_projection(each, n_bits, rng) for each in (X, X_query)]
    else:
        relevant = pairs.relevant(rows[1])[:, rows[0]]
        projections = _correlated(X, X_query, relevant, n_bits, rng)
    sides = (X, mean, *layers[0]), (X_query, mean_query, *layers[1])
    return [with_last_layer(*side, last) for side, last in zip(sides, projections)]


def _correlated(X, X_query, relevant, n_bits, rng):
    """Projections of both views by relevance-CCA, rotated to lose least by taking signs."""
    X, basis = _reduced(X, rng)
    X_query, basis_query = _reduced(X_query, rng)
    n_relevant = np.maximum(relevant.sum(axis=1), 1)
    covariance = X.T @ (relevant.T @ (X_query / n_relevant[:, None]))
    white, white_query = (inverse_root(x.T @ x / len(x)) for x in (X, X_query))
    left, values, right = svd(white @ covariance @ white_query, full_matrices=False)
    left, right = svd_flip(left, right)  # or rounding chooses their signs
    if not values[0] > 0:
        both = basis, basis_query
        return [each @ rng.standard_normal((each.shape[1], n_bits)) for each in both]
    n_kept = min(n_bits, int(np.sum(values > _LEAST_CORRELATION * values[0])))
    values = values[:n_kept] / values[0]
    directions = white @ left[:, :n_kept] * values
    directions_query = white_query @ right[:n_kept].T * values
    both = X @ directions, X_query @ directions_query
    both = [rows / (np.sqrt(np.mean(rows**2)) or 1.0) for rows in both]
    rotation = itq_projection(np.vstack(both), n_bits, rng)
    return basis @ directions @ rotation, basis_query @ directions_query @ rotation


def _reduced(X, rng):
    """Centered rows by at most so many principal directions, and these as columns."""
    if X.shape[1] <= _MOST_FEATURES:
        return X, np.eye(X.shape[1])
    basis = principal_directions(X, _MOST_FEATURES, rng)
    return X @ basis, basis
