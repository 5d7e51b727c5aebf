"""The functions of both views in training, and the batches that they are trained on."""

from typing import NamedTuple

import numpy as np
import torch

from ...losses._door import to_device
from ..gradient._minibatches import MinibatchLoss

_ITEMS_PER_QUERY = 4  # of a batch


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


class PairedRows(NamedTuple):
    """A batch of queries, and of items that they rank.

    Parameters
    ----------
    query, item : Tensors of shapes (n, n_query_features) and (m, n_features)
        Features; activations once the functions are applied.

    queries, items : ndarrays of int
        Which rows they are.
    """

    query: torch.Tensor
    item: torch.Tensor
    queries: np.ndarray
    items: np.ndarray


class _TwoModules(torch.nn.Module):
    """Applies a module to each view."""

    def __init__(self, item, query):
        super().__init__()
        self.item, self.query = item, query

    def forward(self, rows):
        return rows._replace(query=self.query(rows.query), item=self.item(rows.item))


class DrawnItems:
    """Features of queries by batches, with items that are drawn for each batch.

    Each query brings an item that is relevant to it, and the rest are drawn at random.

    Parameters
    ----------
    item_features, query_features : Features
        All rows of both views.

    pairs : JudgedPairs or AffinePairs
        Who is relevant to whom.

    rng : RandomState
        Draws the items.
    """

    def __init__(self, item_features, query_features, pairs, rng):
        self.device = query_features.device
        self._items, self._queries = item_features, query_features
        self._pairs, self._rng = pairs, rng

    def batch(self, queries):
        """Rows of a batch, `PairedRows`."""
        n_random = min(_ITEMS_PER_QUERY * len(queries), self._pairs.n_items)
        drawn = self._rng.choice(self._pairs.n_items, n_random, replace=False)
        relevant = self._pairs.draw_relevant(queries, self._rng)
        items = np.unique(np.concatenate([relevant, drawn]))
        rows = self._queries.batch(queries), self._items.batch(items)
        return PairedRows(*rows, queries, items)


class RankingBatchLoss(MinibatchLoss):
    """A loss of the activations of queries and items, of which each step keeps some bits.

    Parameters
    ----------
    step : callable
        ``step(query_bits, item_bits, level_index) -> scalar tensor``.

    settings, rng : Settings, RandomState
        As of `MinibatchLoss`.

    pairs : JudgedPairs or AffinePairs
        Who is relevant to whom.
    """

    def __init__(self, step, settings, rng, pairs):
        super().__init__(step, settings, False, rng)
        self._pairs = pairs

    def __call__(self, activations, samples, progress):
        """Compute the loss of `PairedRows` of activations."""
        scale = self.scale(progress)
        kept = self.draw_bits(activations.query.shape[1])
        bits = [_bits(each, kept, scale) for each in (activations.query, activations.item)]
        index = self._pairs.level_index(activations.queries, activations.items)
        return self._step(*bits, to_device(index, self._settings.device))


def _bits(activations, kept, scale):
    if kept is not None:
        activations = activations.index_select(1, kept)
    activations = activations.float()
    return activations if scale is None else torch.tanh(scale * activations)
