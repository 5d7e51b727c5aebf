"""The fit of the hash functions of two views by gradients."""

from dataclasses import replace

import numpy as np
import torch
from sklearn import config_context

from ..._threads import one_thread
from ...losses._door import ViewsTraining, bind_between
from .._callbacks import FitCallbacks
from .._rows import mean_and_unit
from ..gradient._early_descent import LastEpoch
from ..gradient._features import make_features
from ..gradient._functions import FeedForward
from ..gradient._settings import Settings
from ..gradient._trainer import Trainer
from ._towers import DrawnItems, RankingBatchLoss, Towers
from ._view_start import Start

# What hashers by gradients have, and those of two views do without.
_WITHOUT = {
    "module": None,
    "solver": "auto",
    "learning_rate": "cosine",
}


def fit_towers(hasher, loss, X, X_query, pairs, is_shared, rng):
    """Train the functions of both views.

    Parameters
    ----------
    hasher : CrossViewHasher
        Gives its parameters; it is not changed.

    loss : callable
        See :mod:`sklearn_talr.losses`.

    X, X_query : {ndarray, CSR}
        Features of items and of queries.

    pairs : JudgedPairs or AffinePairs
        Who is relevant to whom.

    is_shared : bool
        Whether one function serves both.

    rng : RandomState
        Draws all that is random.

    Returns
    -------
    item, query : dict
        Fitted attributes of each function.

    losses : list of float
        Mean loss of each epoch.
    """
    settings = _settings(hasher, loss, X, X_query)
    features = _features(X, X_query, is_shared, settings[0].device)
    with torch.enable_grad(), config_context():
        with one_thread():
            towers = _start(hasher, features, settings, pairs, is_shared, rng)
        losses = _train(hasher, loss, towers, features, settings[1], pairs, rng)
    return towers.item.fitted(), towers.query.fitted(), losses


def _train(hasher, loss, towers, features, settings, pairs, rng):
    """Train both functions by the settings of queries; return the loss of each epoch."""
    is_relaxed = settings.tanh_scale is not None
    levels = pairs.levels, pairs.gain_levels
    training = ViewsTraining(hasher.n_bits, *levels, is_relaxed, settings.device)
    trainer = Trainer(
        towers,
        RankingBatchLoss(bind_between(loss, training), settings, rng, pairs),
        rng,
        replace(settings, weight_decay=1.0),  # towers have their own
        LastEpoch(),
        FitCallbacks(None, None, None, settings.max_iter, dict),
        verbose=hasher.verbose,
    )
    return trainer.run(DrawnItems(*features, pairs, rng), _queries_to_train(pairs))


def _settings(hasher, loss, X, X_query):
    """Settings of items and of queries, which differ in layers and decay."""
    params = hasher.get_params(deep=False) | _WITHOUT
    of_queries = dict(params)
    if params["query_hidden_layer_sizes"] is not None:
        of_queries["hidden_layer_sizes"] = params["query_hidden_layer_sizes"]
    both = (params, X), (of_queries, X_query)
    return [Settings.resolve(of_view, loss, X, False) for of_view, X in both]


def _features(X, X_query, is_shared, device):
    """Rows of both views in standard units, which are common for a shared function."""
    units = [mean_and_unit(of_view) for of_view in (X, X_query)]
    if is_shared:
        mean, unit = np.mean([units[0][0], units[1][0]], axis=0), units[0][1]
        units = [(mean, unit)] * 2
    return [make_features(x, *unit, device) for x, unit in zip((X, X_query), units)]


def _start(hasher, features, settings, pairs, is_shared, rng):
    sizes = [of_view.layer_sizes for of_view in settings]
    start = Start(*features, *sizes, pairs, is_shared, rng)
    if is_shared:
        weights = [start.shared_weights(hasher.init, hasher.n_bits)]
    else:
        weights = start.weights(hasher.init, hasher.n_bits)
    functions = [
        FeedForward(*of_view, rows, each.dropout, rng)
        for of_view, rows, each in zip(weights, features, settings)
    ]
    decays = tuple(each.weight_decay for each in settings)
    return Towers(functions[0], functions[-1], decays)


def _queries_to_train(pairs):
    """Queries that have something relevant; with another one if that is but one."""
    queries = np.flatnonzero(pairs.has_relevant())
    if len(queries) > 1:
        return queries
    return np.append(queries, np.setdiff1d([0, 1], queries)[:1])
