"""The fit of the hash functions of two views by gradients (torch).

The relevance-CCA, which they start from, is the canonical correlation analysis of items and
queries that are relevant to each other: its covariance between the views sums over relevant
pairs, in the place of rows that are partners. Of partners it is the ordinary analysis.
"""

import copy

import numpy as np
import torch
from scipy.linalg import eigh, svd
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.utils.extmath import svd_flip

from .._threads import one_thread
from ..losses import Training
from ..losses._base import to_device
from ..losses._soft_counts import keep_freed_memory
from ._base import FitCallbacks, centered, mean_and_unit
from ._linear import itq_projection, random_projection
from ._networks import FeedForward, hidden_units, random_layers, with_last_layer
from ._settings import resolve
from ._training import Features, Keeper, MinibatchLoss, drawn_rows, minimize

_ITEMS_PER_QUERY = 4  # of a batch
_MOST_ROWS = 5000  # of each view
_MOST_CELLS = 2**25
_MOST_FEATURES = 1024  # principal directions beyond which views are not correlated
_SHRINKAGE = 0.1
_LEAST_CORRELATION = 1e-6  # in relation to the largest
_PENALTY = 0.1  # of the regression on bits, in relation to the mean variance
# What hashers by gradients have, and those of two views do without.
_WITHOUT = {"module": None, "solver": "auto", "learning_rate": "cosine"}


def fit_towers(hasher, loss, X, X_query, pairs, is_shared, rng):
    """Train the functions of both views.

    Parameters
    ----------
    hasher : CrossViewHasher
        Gives its parameters; it is not changed.

    loss : BaseLoss
        What is minimized.

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
    # Settings of items and of queries, which differ in layers and decay.
    params = hasher.get_params(deep=False) | _WITHOUT
    of_queries = dict(params)
    if params["query_hidden_layer_sizes"] is not None:
        of_queries["hidden_layer_sizes"] = params["query_hidden_layer_sizes"]
    both = resolve(params, loss, X, False), resolve(of_queries, loss, X_query, False)
    # Rows in standard units, which are common for a shared function.
    units = [mean_and_unit(of_view) for of_view in (X, X_query)]
    if is_shared:
        mean, unit = np.mean([units[0][0], units[1][0]], axis=0), units[0][1]
        units = [(mean, unit)] * 2
    device = both[0].device
    features = [Features(x, *unit, device) for x, unit in zip((X, X_query), units)]
    with torch.enable_grad(), config_context():
        # The functions, from their first weights.
        with one_thread():
            sizes = [of_view.layer_sizes for of_view in both]
            how = pairs, is_shared, hasher.init, hasher.n_bits, rng
            functions = [
                FeedForward(*weights, rows, of_view.dropout, rng)
                for weights, rows, of_view in zip(
                    _start_weights(features, sizes, *how), features, both
                )
            ]
        item, query = functions[0], functions[-1]
        towers = Towers(item, query, [of_view.weight_decay for of_view in both])
        # Training by the settings of queries; towers have decays of their own.
        settings = copy.copy(both[1])
        settings.weight_decay = 1.0
        keep_freed_memory()
        training = Training(
            None,
            None,
            pairs.levels,
            pairs.gain_levels,
            hasher.n_bits,
            settings.tanh_scale is not None,
            settings.device,
            rng,
            {},
        )
        step, _ = loss.bind(training)

        def draw(queries):
            """Queries of a batch, each with an item that is relevant, and random ones."""
            n_random = min(_ITEMS_PER_QUERY * len(queries), pairs.n_items)
            drawn = rng.choice(pairs.n_items, n_random, replace=False)
            relevant = pairs.draw_relevant(queries, rng)
            items = np.unique(np.concatenate([relevant, drawn]))

            def level_index():
                return to_device(pairs.level_index(queries, items), settings.device)

            rows = features[1].batch(queries), features[0].batch(items)
            return rows, level_index, (queries, items)

        # Queries that have something relevant; with another one if that is but one.
        queries = np.flatnonzero(pairs.has_relevant())
        if len(queries) < 2:
            queries = np.append(queries, np.setdiff1d([0, 1], queries)[:1])
        losses, _ = minimize(
            towers,
            draw,
            queries,
            MinibatchLoss(loss, step, settings, False, rng),
            settings,
            rng,
            Keeper(),
            FitCallbacks(None, None, None, settings.max_iter),
            hasher.verbose,
        )
    return item.fitted(), query.fitted(), losses


class Towers:
    """Hash functions of items and of queries, or one function of both.

    Parameters
    ----------
    item, query : FeedForward
        One and the same for a shared function.

    decays : tuple of two float
        Weight decay of each.
    """

    def __init__(self, item, query, decays):
        self.item, self.query = item, query
        self._decays = decays
        self.module = _TwoModules(item.module, query.module)

    def steps(self):
        """Factors of the learning rate and of the weight decay, for each parameter."""
        views = [self.item] if self.item is self.query else [self.item, self.query]
        return [
            (rate, decay * of_view)
            for view, of_view in zip(views, self._decays)
            for rate, decay in view.steps()
        ]


class _TwoModules(torch.nn.Module):
    """Applies a module to each view."""

    def __init__(self, item, query):
        super().__init__()
        self.item, self.query = item, query

    def forward(self, rows):
        return self.query(rows[0]), self.item(rows[1])


def _start_weights(features, layer_sizes, pairs, is_shared, init, n_bits, rng):
    """First weights of the items' and of the queries' function, or of one for both.

    Parameters
    ----------
    features : list of two Features
        Rows of items and of queries in standard units.

    layer_sizes : list of two tuples of int
        Units of hidden layers, which start at random; a shared function has those of items.

    pairs : JudgedPairs or AffinePairs
        Who is relevant to whom.

    is_shared : bool
        Whether one function serves both views.

    init : {"cca", "itq", "random"}
        Last layer: relevance-CCA, rotated to lose least by taking signs; bits of items by
        iterative quantization, and a regression of queries on the mean bits of their
        relevant items; or random directions. Of one function random directions, or else
        iterative quantization of all rows.

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
    rows = [
        drawn_rows(
            np.arange(of_view.X.shape[0]),
            min(_MOST_ROWS, max(2, _MOST_CELLS // of_view.X.shape[1])),
            rng,
        )
        for of_view in features
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
    relevant = pairs.relevant(rows[1])[:, rows[0]]
    start = {"cca": _cca_start, "itq": _itq_start, "random": _random_start}[init]
    projections = start(X, X_query, relevant, n_bits, rng)
    sides = (X, mean, *layers[0]), (X_query, mean_query, *layers[1])
    return [with_last_layer(*side, last) for side, last in zip(sides, projections)]


def _cca_start(X, X_query, relevant, n_bits, rng):
    X, basis = _reduced(X, rng)
    X_query, basis_query = _reduced(X_query, rng)
    n_relevant = np.maximum(relevant.sum(axis=1), 1)
    covariance = X.T @ (relevant.T @ (X_query / n_relevant[:, None]))
    white, white_query = _whitening(X), _whitening(X_query)
    left, values, right = svd(white @ covariance @ white_query, full_matrices=False)
    left, right = svd_flip(left, right)  # or rounding chooses their signs
    if not values[0] > 0:
        return tuple(_random(each, n_bits, rng) for each in (basis, basis_query))
    n_kept = min(n_bits, int(np.sum(values > _LEAST_CORRELATION * values[0])))
    values = values[:n_kept] / values[0]
    directions = white @ left[:, :n_kept] * values
    directions_query = white_query @ right[:n_kept].T * values
    both = [_of_unit_size(X @ directions), _of_unit_size(X_query @ directions_query)]
    rotation = itq_projection(np.vstack(both), n_bits, rng)
    return basis @ directions @ rotation, basis_query @ directions_query @ rotation


def _itq_start(X, X_query, relevant, n_bits, rng):
    projection = itq_projection(X, n_bits, rng)
    signs = np.where(X @ projection > 0, 1.0, -1.0)
    n_relevant = np.maximum(relevant.sum(axis=1), 1)
    wanted = (relevant @ signs) / n_relevant[:, None]
    X_query, basis = _reduced(X_query, rng)
    gram = X_query.T @ X_query
    gram[np.diag_indices_from(gram)] += _PENALTY * np.trace(gram) / len(gram)
    return projection, basis @ np.linalg.solve(gram, X_query.T @ wanted)


def _random_start(X, X_query, relevant, n_bits, rng):
    return random_projection(X, n_bits, rng), random_projection(X_query, n_bits, rng)


def _random(basis, n_bits, rng):
    return basis @ rng.standard_normal((basis.shape[1], n_bits))


def _reduced(X, rng):
    """Centered rows by at most so many principal directions, and these as columns."""
    if X.shape[1] <= _MOST_FEATURES:
        return X, np.eye(X.shape[1])
    n_directions = min(_MOST_FEATURES, *X.shape)
    basis = PCA(n_directions, random_state=rng).fit(X).components_.T
    return X @ basis, basis


def _whitening(X):
    """Symmetric square root of the inverse of a covariance that is shrunk to a sphere."""
    covariance = X.T @ X / len(X)
    mean = np.trace(covariance) / len(covariance) or 1.0
    covariance *= 1 - _SHRINKAGE
    covariance[np.diag_indices_from(covariance)] += _SHRINKAGE * mean
    values, vectors = eigh(covariance)
    return (vectors / np.sqrt(values)) @ vectors.T


def _of_unit_size(X):
    return X / (np.sqrt(np.mean(X**2)) or 1.0)
