"""The search backend for mteb, of which it imports nothing."""

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array

from .._core.types import Any, Sequence
from .._core.validation import read_features


class HashedSearchBackend:
    """Search backend for mteb: a benchmark of embeddings is searched by codes.

    The class has the three methods of mteb's ``IndexEncoderSearchProtocol``. mteb encodes
    the texts of a task and passes their embeddings. The backend fits the hasher to those of
    the documents, keeps their codes, and finds documents for those of queries. The
    embeddings are not kept, unless the index is to order the best anew by them.

    Parameters
    ----------
    neighbors : HashedNeighbors or HammingNeighbors
        The hasher with its index. Each task fits a clone of it, and `neighbors` stays as it
        is. With ``FrozenEstimator(hasher)`` all tasks are encoded by one hasher that has
        been fitted before. :class:`HammingNeighbors` takes the signs of the embeddings.

    Attributes
    ----------
    neighbors_ : HashedNeighbors, HammingNeighbors or None
        The fitted index; None before documents are added, and after `clear`.

    n_bytes_per_item_ : float
        Bytes of memory for a document of the last task, as
        :class:`HashedNeighbors` counts them. mteb clears the backend after each search, and
        this number stays.

    See Also
    --------
    HashedNeighbors : The hasher with its index.

    Notes
    -----
    What is similar is said by the hasher, as by the `metric` of an
    :class:`~sklearn_talr.hashing.AdditiveHasher`; mteb's own similarity is not asked.
    Scores are minus the distances of the index. mteb breaks ties by the identifiers of
    documents. Where there are many, as with Hamming distances, save its predictions and
    evaluate them by :func:`~sklearn_talr.runs.evaluate_run`.

    mteb keeps results under the name of the model, whatever the backend. Pass
    ``cache=None`` to ``mteb.evaluate``, or it may return what the floats had.

    Examples
    --------
    As mteb calls it. The third document is tied with the first, which has the same code:

    >>> import numpy as np
    >>> from sklearn_talr.hashing import ITQHasher
    >>> from sklearn_talr.neighbors import HashedNeighbors, HashedSearchBackend
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 8))
    >>> X[2] = X[0]
    >>> hasher = ITQHasher(n_bits=8, random_state=0)
    >>> backend = HashedSearchBackend(HashedNeighbors(hasher))
    >>> backend.add_documents(X, [f"d{i}" for i in range(100)])
    >>> scores, places = backend.search(X[:1], top_k=2)
    >>> scores, places
    ([[0.0, 0.0]], [[0, 2]])
    >>> backend.clear()
    """

    def __init__(self, neighbors: Any) -> None:
        for method in ("fit", "add", "kneighbors"):
            if not hasattr(neighbors, method):
                raise TypeError(
                    f"neighbors has no method {method}; pass HashedNeighbors(hasher), got "
                    f"{neighbors!r}."
                )
        self.neighbors = neighbors
        self.clear()

    def add_documents(self, embeddings: Any, idxs: Sequence[str]) -> None:
        """Add documents; the first call fits the hasher to them.

        Parameters
        ----------
        embeddings : array-like or tensor of shape (n_documents, n_features)
            Embeddings, on any device.

        idxs : sequence of str of length n_documents
            Identifiers of the documents.

        Raises
        ------
        ValueError
            If there is not an identifier for each document, or one comes twice. The backend
            is then what it was before.
        """
        X, added = _embedding_rows(embeddings), list(idxs)
        if len(added) != len(X):
            raise ValueError(f"idxs has {len(added)} identifiers of {len(X)} documents.")
        names = [*self._places, *added]
        known = dict(zip(names, range(len(names))))
        if len(known) < len(names):
            raise ValueError("idxs has an identifier twice; each document has its own.")
        if self.neighbors_ is None:
            self.neighbors_ = clone(self.neighbors).fit(X)
        else:
            self.neighbors_.add(X)
        self._places = known
        self.n_bytes_per_item_ = self.neighbors_.n_bytes_per_item_

    def search(
        self,
        embeddings: Any,
        top_k: int,
        similarity_fn: Any = None,
        top_ranked: dict[str, list[str]] | None = None,
        query_idx_to_id: dict[int, str] | None = None,
    ) -> tuple[list[list[float]], list[list[int]]]:
        """Find the best documents of each query, or order those that are given.

        Parameters
        ----------
        embeddings : array-like or tensor of shape (n_queries, n_features)
            Embeddings of the queries.

        top_k : int
            How many documents to find; fewer if there are not so many.

        similarity_fn : callable, default=None
            Not used; mteb passes it.

        top_ranked : dict of str to list of str, default=None
            Identifiers of the documents that each query is to order, by that of the query.
            None searches all documents.

        query_idx_to_id : dict of int to str, default=None
            Identifiers of the queries, with `top_ranked`.

        Returns
        -------
        scores : list of list of float
            Minus the distances, descending. Of products by which documents were ordered
            anew, the products.

        places : list of list of int
            Places of the documents in the order in which they were added; with `top_ranked`
            places in the list of the query, as mteb's own backend returns them.

        Raises
        ------
        ValueError
            If there are no documents, or `top_ranked` names one that was not added.
        """
        if self.neighbors_ is None:
            raise ValueError("there are no documents to search; call add_documents first.")
        X = _embedding_rows(embeddings)
        if top_ranked is None:
            scores, places = self._best(X, min(top_k, self.neighbors_.n_items_))
            return scores.tolist(), places.tolist()
        if query_idx_to_id is None:
            raise ValueError("top_ranked needs query_idx_to_id: who the queries are.")
        lists = [list(top_ranked.get(query_idx_to_id[i], ())) for i in range(len(X))]
        found = [self._order(x, names, top_k) for x, names in zip(X, lists)]
        return [scores for scores, _ in found], [places for _, places in found]

    def clear(self) -> None:
        """Forget the documents."""
        self.neighbors_, self._places = None, {}

    def _best(self, X, n_found, include=None):
        """Scores and documents of queries, the best first."""
        index = self.neighbors_
        values, places = index.kneighbors(X, n_found, include=include)
        n_rescored = getattr(index, "n_rescored", None)
        are_products = n_rescored and index.rescore_metric == "inner_product"
        return (values.astype(float) if are_products else 0.0 - values), places

    def _order(self, x, names, top_k):
        """Scores and places in a list of documents, of one query."""
        place_of = dict(zip(reversed(names), range(len(names) - 1, -1, -1)))
        unknown = place_of.keys() - self._places.keys()
        if unknown:
            raise ValueError(f"top_ranked names {min(unknown)!r}, which was not added.")
        if not names:
            return [], []
        include = np.array([self._places[name] for name in place_of])
        scores, found = self._best(x[None], min(top_k, len(include)), include)
        local = dict(zip(include.tolist(), place_of.values()))
        return scores[0].tolist(), [local[place] for place in found[0].tolist()]


def _embedding_rows(embeddings):
    """Embeddings as float32 in memory, whatever the library and the device."""
    if hasattr(embeddings, "detach"):  # a tensor, perhaps of bfloat16, which NumPy lacks
        embeddings = embeddings.detach().cpu().float().numpy()
    embeddings = read_features(embeddings, "embeddings")
    return check_array(embeddings, dtype=np.float32, input_name="embeddings")
