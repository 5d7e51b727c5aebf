"""The search backend for mteb, without an import of mteb."""

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array

from .._core.types import Any, Sequence
from .._core.validation import read_features


class HashedSearchBackend:
    """Search backend for mteb: it searches the embeddings of a benchmark by their codes.

    The class has the three methods of mteb's ``IndexEncoderSearchProtocol``. mteb encodes
    the texts of a task and passes their embeddings. The backend fits the hasher to the
    embeddings of the documents, keeps their codes, and finds documents for the embeddings
    of queries. Embeddings of documents are kept only if the index has `n_rescored`.

    Parameters
    ----------
    neighbors : HashedNeighbors or HammingNeighbors
        The hasher with its index. Each task fits a clone of it; `neighbors` itself is not
        fitted. With ``FrozenEstimator(hasher)`` one hasher, fitted before, encodes all
        tasks. :class:`HammingNeighbors` takes the signs of the embeddings.

    Attributes
    ----------
    neighbors_ : HashedNeighbors, HammingNeighbors or None
        The fitted index; None before documents are added, and after `clear`.

    n_bytes_per_item_ : float
        Mean bytes of memory per document of the last task, as :class:`HashedNeighbors`
        counts them. mteb clears the backend after each search, and this number stays.

    See Also
    --------
    HashedNeighbors : The hasher with its index.

    Notes
    -----
    The hasher defines the similarity, for example the `metric` of an
    :class:`~sklearn_talr.hashing.AdditiveHasher`. mteb's own similarity is not used. Scores
    are minus the distances of the index. mteb breaks ties by the identifiers of documents.
    If there are many ties, such as with Hamming distances, save its predictions and
    evaluate them with :func:`~sklearn_talr.runs.evaluate_run`.

    mteb caches results by the name of the model, whatever the backend. Pass ``cache=None``
    to ``mteb.evaluate``, or it may return the cached results of the embeddings.

    Examples
    --------
    These are the calls of mteb. The first and the third document have the same code, and
    are tied:

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
            If there is not an identifier for each document, or an identifier comes twice.
            The backend is then unchanged.
        """
        X = _read_embeddings(embeddings)
        added_names = list(idxs)
        if len(added_names) != len(X):
            raise ValueError(
                f"idxs has {len(added_names)} identifiers for {len(X)} documents."
            )
        names = [*self._places, *added_names]
        places = dict(zip(names, range(len(names))))
        if len(places) < len(names):
            raise ValueError("idxs has an identifier twice; each document has its own.")
        if self.neighbors_ is None:
            self.neighbors_ = clone(self.neighbors).fit(X)
        else:
            self.neighbors_.add(X)
        self._places = places
        self.n_bytes_per_item_ = self.neighbors_.n_bytes_per_item_

    def search(
        self,
        embeddings: Any,
        top_k: int,
        similarity_fn: Any = None,
        top_ranked: dict[str, list[str]] | None = None,
        query_idx_to_id: dict[int, str] | None = None,
    ) -> tuple[list[list[float]], list[list[int]]]:
        """Find the best documents of each query, or order a list of documents.

        Parameters
        ----------
        embeddings : array-like or tensor of shape (n_queries, n_features)
            Embeddings of the queries.

        top_k : int
            Number of documents to find; all if there are fewer.

        similarity_fn : callable, default=None
            Not used. mteb passes it.

        top_ranked : dict of str to list of str, default=None
            Identifiers of the documents to order for each query, by the identifier of the
            query. None searches all documents.

        query_idx_to_id : dict of int to str, default=None
            Identifiers of the queries, with `top_ranked`.

        Returns
        -------
        scores : list of list of float
            Minus the distances, descending. If documents were rescored by inner products:
            the products.

        places : list of list of int
            Places of the documents in the order in which they were added. With
            `top_ranked`: places in the list of the query, as mteb's own backend returns
            them.

        Raises
        ------
        ValueError
            If there are no documents, or `top_ranked` names one that was not added.
        """
        if self.neighbors_ is None:
            raise ValueError("there are no documents to search; call add_documents first.")
        X = _read_embeddings(embeddings)
        if top_ranked is None:
            scores, places = self._best(X, min(top_k, self.neighbors_.n_items_))
            return scores.tolist(), places.tolist()
        if query_idx_to_id is None:
            raise ValueError(
                "top_ranked needs query_idx_to_id, the identifiers of the queries."
            )
        scores = []
        places = []
        for place, x in enumerate(X):
            names = list(top_ranked.get(query_idx_to_id[place], ()))
            scores_of_query, places_in_list = self._order(x, names, top_k)
            scores.append(scores_of_query)
            places.append(places_in_list)
        return scores, places

    def clear(self) -> None:
        """Forget the documents."""
        self.neighbors_ = None
        self._places = {}

    def _best(self, X, n_documents, include=None):
        """Scores and places of the best documents of queries."""
        index = self.neighbors_
        values, places = index.kneighbors(X, n_documents, include=include)
        is_rescored = bool(getattr(index, "n_rescored", None))
        if is_rescored and index.rescore_metric == "inner_product":
            return values.astype(float), places
        return 0.0 - values, places

    def _order(self, x, names, top_k):
        """Scores of the documents of a list, best first, and their places in the list."""
        # A name that comes twice has its first place.
        place_in_list = dict(zip(reversed(names), range(len(names) - 1, -1, -1)))
        unknown = place_in_list.keys() - self._places.keys()
        if unknown:
            raise ValueError(f"top_ranked names {min(unknown)!r}, which was not added.")
        if not names:
            return [], []
        include = np.array([self._places[name] for name in place_in_list])
        scores, places = self._best(x[None], min(top_k, len(include)), include)
        place_by_index = dict(zip(include.tolist(), place_in_list.values()))
        return scores[0].tolist(), [place_by_index[place] for place in places[0].tolist()]


def _read_embeddings(embeddings):
    """Embeddings as float32 in memory, from any library and device."""
    if hasattr(embeddings, "detach"):
        # NumPy lacks the type bfloat16, which a tensor may have.
        embeddings = embeddings.detach().cpu().float().numpy()
    embeddings = read_features(embeddings, "embeddings")
    return check_array(embeddings, dtype=np.float32, input_name="embeddings")
