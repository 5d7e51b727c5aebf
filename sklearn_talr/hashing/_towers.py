"""The fit of the hash functions of two views by gradients.

The relevance-CCA, which they start from, is the canonical correlation analysis of items and
queries that are relevant to each other: its covariance between the views sums over relevant
pairs, in the place of rows that are partners. Of partners it is the ordinary analysis.
"""

import numpy as np
from scipy.linalg import svd
from sklearn import config_context
from sklearn.utils.extmath import svd_flip

from .._parameters import values_of_parameters
from .._threads import one_thread
from ..affinity._similar_rows import inverse_root
from ..losses import Training
from ._base import centered, mean_and_units
from ._host_engine import HostEngine
from ._linear import (
    drawn_rows,
    hidden_units,
    itq_projection,
    principal_directions,
    random_layers,
    random_projection,
    with_last_layer,
)
from ._settings import resolve
from ._training import Keeper, minimize, of_torch

_ITEMS_PER_QUERY = 4  # of a batch
_MOST_ROWS = 5000  # of each view
_MOST_CELLS = 2**25
_MOST_FEATURES = 1024  # principal directions beyond which views are not correlated
_LEAST_CORRELATION = 1e-6  # in relation to the largest
# What hashers by gradients have, and those of two views do without.
_WITHOUT = {"module": None, "nested": False, "solver": "auto", "learning_rate": "cosine"}


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
    X, X_query, pairs = views.X, views.X_query, views.pairs
    # Settings of items and of queries, which differ in layers and decay.
    params = values_of_parameters(hasher) | _WITHOUT
    sizes = params["query_hidden_layer_sizes"]
    of_query = params if sizes is None else params | {"hidden_layer_sizes": sizes}
    both = resolve(params, loss, X, False), resolve(of_query, loss, X_query, False)
    # Rows in standard units, which are common for a shared function.
    units = [
        mean_and_units(of_view, np.arange(of_view.shape[0]), similar)
        for of_view, similar in zip((X, X_query), pairs.similar())
    ]
    if is_shared:
        mean, unit = np.mean([units[0][0], units[1][0]], axis=0), units[0][1]
        units = [(mean, unit)] * 2
    # Training goes by the settings of queries.
    settings = both[1]
    settings.device, settings.on_host = both[0].device, both[0].on_host
    Engine = HostEngine if settings.on_host else of_torch("TorchEngine")
    features = [Engine.features(x, unit, settings) for x, unit in zip((X, X_query), units)]
    with Engine.context(), config_context(), one_thread():
        # The functions, from their first weights.
        sizes = [of_view.layer_sizes for of_view in both]
        how = pairs, is_shared, hasher.init, hasher.n_bits, rng
        weights = _start_weights(features, sizes, *how)
        functions = [
            Engine.layers(*of_view, rows, of_settings, rng)
            for of_view, rows, of_settings in zip(weights, features, both)
        ]
        item, query = functions[0], functions[-1]
        how = settings.n_bits, settings.tanh_scale is not None, settings.device, rng
        gains = pairs.affinity.gain_levels(pairs.levels)
        training = Training(pairs.affinity, None, pairs.levels, gains, *how, {})
        engine = Engine(
            [query, item], features[::-1], loss, training, settings, pairs.level_index
        )

        def draw(queries):
            """Queries of a batch, each with an item that is relevant, and random ones."""
            n_random = min(_ITEMS_PER_QUERY * len(queries), pairs.n_items)
            drawn = rng.choice(pairs.n_items, n_random, replace=False)
            relevant = pairs.draw_relevant(queries, rng)
            return queries, np.unique(np.concatenate([relevant, drawn]))

        # Queries that have something relevant; with another one if that is but one.
        queries = np.flatnonzero(pairs.has_relevant())
        if len(queries) < 2:
            queries = np.append(queries, np.setdiff1d([0, 1], queries)[:1])
        losses = minimize(engine, queries, settings, rng, Keeper(), progress, draw)
    return item.fitted(), query.fitted(), losses


def _start_weights(features, layer_sizes, pairs, is_shared, init, n_bits, rng):
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
