"""The fit of the hash functions of two views by gradients.

The relevance-CCA, which they start from, is the canonical correlation analysis of items and
queries that are relevant to each other: its covariance between the views sums over relevant
pairs. If row i of one view belongs to row i of the other, it is the ordinary analysis.
"""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

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

# A batch has this many random items per query.
_ITEMS_PER_QUERY = 4
# First weights are made from at most this many rows of a view, and this many cells.
_MOST_ROWS = 5000
_MOST_CELLS = 2**25
# Views of more features are correlated along this many principal directions.
_MOST_FEATURES = 1024
# Directions of less correlation than this, as a fraction of the largest, are left out.
_LEAST_CORRELATION = 1e-6


class TrainedTowers(NamedTuple):
    """Fitted attributes of the functions of both views, and mean losses of the epochs."""

    items: dict
    queries: dict
    losses: list


def fit_towers(hasher, loss, views, rng, progress, *, is_shared):
    """Train the functions of both views.

    Parameters
    ----------
    hasher : CrossViewHasher
        Gives its parameters; it is not changed.

    loss : BaseLoss
        Loss that is minimized.

    views : Views
        Features of items and of queries, and who is relevant to whom.

    rng : RandomState
        Generator.

    progress : Progress
        Is told of each epoch.

    is_shared : bool
        Whether one function serves both views.

    Returns
    -------
    towers : TrainedTowers
        Functions of both views.
    """
    pairs = views.pairs
    item_plan, query_plan = _plan_towers(hasher, loss, views)
    item_scaling, query_scaling = _scale_views(views, is_shared=is_shared)
    engine_class = choose_engine(query_plan)
    item_features = engine_class.features(views.items.X, item_scaling, query_plan)
    query_features = engine_class.features(views.queries.X, query_scaling, query_plan)
    with engine_class.context(), config_context(), one_thread():
        item_start, query_start = start_towers(
            Tower(item_features, item_plan.layer_sizes),
            Tower(query_features, query_plan.layer_sizes),
            pairs,
            is_shared=is_shared,
            init=hasher.init,
            n_bits=hasher.n_bits,
            rng=rng,
        )
        items = engine_class.layers(*item_start, item_features, item_plan, rng)
        queries = items
        if not is_shared:
            queries = engine_class.layers(*query_start, query_features, query_plan, rng)
        engine = engine_class(
            [queries, items],
            [query_features, item_features],
            loss,
            _loss_context(pairs, query_plan, rng),
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
    return TrainedTowers(items.fitted(), queries.fitted(), monitor.losses)


def _loss_context(pairs, plan, rng):
    """What a loss is bound to, without targets: pairs give places of levels."""
    return LossContext(
        affinity=pairs.affinity,
        targets=None,
        levels=pairs.levels,
        gain_levels=pairs.affinity.gain_levels(pairs.levels),
        n_bits=plan.n_bits,
        is_relaxed=plan.tanh_scale is not None,
        device=plan.device,
        rng=rng,
        fitted_before={},
    )


def _plan_towers(hasher, loss, views):
    """Plans of items and of queries, which differ in layers and weight decay.

    Training follows the plan of queries, on the device of the plan of items.
    """
    parameters = TrainingParameters.from_hasher(hasher, loss)
    item_plan = resolve_plan(parameters, loss, views.items.X, by_distance=False)
    if hasher.query_hidden_layer_sizes is not None:
        parameters = replace(parameters, hidden_layer_sizes=hasher.query_hidden_layer_sizes)
    query_plan = resolve_plan(parameters, loss, views.queries.X, by_distance=False)
    query_plan = replace(query_plan, device=item_plan.device, on_host=item_plan.on_host)
    return item_plan, query_plan


def _scale_views(views, *, is_shared):
    """Scalings of items and of queries, which are one for a shared function."""
    items = _scale_view(views.items, views.pairs.similar_items())
    queries = _scale_view(views.queries, views.pairs.similar_queries())
    if is_shared:
        mean = np.mean([items.mean, queries.mean], axis=0)
        return Scaling(mean, items.unit), Scaling(mean, items.unit)
    return items, queries


def _scale_view(view, similar):
    return Scaling.from_rows(view.X, np.arange(view.X.shape[0]), similar)


def _queries_to_train(pairs):
    """Queries that have a relevant item, and another query if there is only one."""
    queries = np.flatnonzero(pairs.has_relevant())
    if len(queries) < 2:
        queries = np.append(queries, np.setdiff1d([0, 1], queries)[:1])
    return queries


def _draw_views(queries, *, pairs, rng):
    """Queries of a batch, and its items: a relevant one per query, and random ones."""
    n_random = min(_ITEMS_PER_QUERY * len(queries), pairs.n_items)
    drawn = rng.choice(pairs.n_items, n_random, replace=False)
    relevant = pairs.draw_relevant(queries, rng)
    return queries, np.unique(np.concatenate([relevant, drawn]))


class Tower(NamedTuple):
    """The function of one view before its weights are known.

    Parameters
    ----------
    features : Features
        Rows in standard units.

    layer_sizes : tuple of int
        Units of hidden layers, which start at random.
    """

    features: object
    layer_sizes: tuple

    @property
    def n_features(self):
        """Number of features."""
        return self.features.X.shape[1]

    def draw_rows(self, rng):
        """Rows from which the first weights are made, ascending."""
        n_most = min(_MOST_ROWS, max(2, _MOST_CELLS // self.n_features))
        return drawn_rows(np.arange(self.features.X.shape[0]), n_most, rng)

    def draw_layers(self, rng):
        """Weights of the hidden layers."""
        coefs, intercepts = random_layers(self.n_features, self.layer_sizes, rng)
        return _HiddenLayers(coefs, intercepts)

    def hidden(self, rows, layers):
        """Rows as the last layer takes them."""
        return hidden_units(self.features.block(rows), layers.coefs, layers.intercepts)


class _HiddenLayers(NamedTuple):
    """Weights of hidden layers."""

    coefs: list
    intercepts: list

    def complete(self, hidden, mean, projection):
        """All layers, of which the projection of centered hidden units is the last."""
        return with_last_layer(hidden, mean, self.coefs, self.intercepts, projection)


def start_towers(items, queries, pairs, *, is_shared, init, n_bits, rng):
    """First weights of the items' and of the queries' function.

    Parameters
    ----------
    items, queries : Tower
        Features and sizes of both. A shared function has the layer sizes of items.

    pairs : Pairs
        Who is relevant to whom.

    is_shared : bool
        Whether one function serves both views.

    init : {"cca", "random"}
        First weights of the last layer. ``"cca"``: relevance-CCA, rotated to minimize the
        quantization error; for a shared function iterative quantization of all rows.
        ``"random"``: random directions.

    n_bits : int
        Bits of a code.

    rng : RandomState
        Generator.

    Returns
    -------
    item_weights, query_weights : tuple of (coefs, intercepts)
        Lists with one array per layer; twice the same of a shared function.
    """
    item_rows = items.draw_rows(rng)
    query_rows = queries.draw_rows(rng)
    item_layers = items.draw_layers(rng)
    query_layers = item_layers if is_shared else queries.draw_layers(rng)
    item_hidden = items.hidden(item_rows, item_layers)
    query_hidden = queries.hidden(query_rows, query_layers)
    if is_shared:
        X, mean = centered(np.vstack((item_hidden, query_hidden)))
        project = random_projection if init == "random" else itq_projection
        weights = item_layers.complete(X, mean, project(X, n_bits, rng))
        return weights, weights
    X, mean = centered(item_hidden)
    X_query, query_mean = centered(query_hidden)
    if init == "random":
        projection = random_projection(X, n_bits, rng)
        query_projection = random_projection(X_query, n_bits, rng)
    else:
        relevant = pairs.relevant(query_rows)[:, item_rows]
        projection, query_projection = _correlated(X, X_query, relevant, n_bits, rng)
    return (
        item_layers.complete(X, mean, projection),
        query_layers.complete(X_query, query_mean, query_projection),
    )


def _correlated(X, X_query, relevant, n_bits, rng):
    """Projections of both views by relevance-CCA, rotated for least quantization error."""
    X, basis = _reduced(X, rng)
    X_query, query_basis = _reduced(X_query, rng)
    n_relevant = np.maximum(relevant.sum(axis=1), 1)
    covariance = X.T @ (relevant.T @ (X_query / n_relevant[:, None]))
    whitening = _whitening(X)
    query_whitening = _whitening(X_query)
    left, values, right = svd(whitening @ covariance @ query_whitening, full_matrices=False)
    # Without this, rounding would choose the signs of the directions.
    left, right = svd_flip(left, right)
    if not values[0] > 0:
        return [
            columns @ rng.standard_normal((columns.shape[1], n_bits))
            for columns in (basis, query_basis)
        ]
    n_kept = min(n_bits, int(np.sum(values > _LEAST_CORRELATION * values[0])))
    values = values[:n_kept] / values[0]
    directions = whitening @ left[:, :n_kept] * values
    query_directions = query_whitening @ right[:n_kept].T * values
    projected = _with_unit_mean_square(X @ directions)
    query_projected = _with_unit_mean_square(X_query @ query_directions)
    rotation = itq_projection(np.vstack((projected, query_projected)), n_bits, rng)
    return basis @ directions @ rotation, query_basis @ query_directions @ rotation


def _whitening(X):
    """The matrix that makes the covariance of centered rows the identity."""
    return inverse_root(X.T @ X / len(X))


def _with_unit_mean_square(rows):
    return rows / (np.sqrt(np.mean(rows**2)) or 1.0)


def _reduced(X, rng):
    """Centered rows along their leading principal directions, and these as columns."""
    if X.shape[1] <= _MOST_FEATURES:
        return X, np.eye(X.shape[1])
    basis = principal_directions(X, _MOST_FEATURES, rng)
    return X @ basis, basis
