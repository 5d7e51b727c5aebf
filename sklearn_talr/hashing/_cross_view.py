"""CrossViewHasher: codes for queries of one kind and items of another."""

from numbers import Integral
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.compat import (
    HasMethods,
    Interval,
    StrOptions,
    fit_method,
    independent_random_state,
)
from .._core.parameters import KW_ONLY, parameters
from .._core.progress import Progress, warn_caller
from .._core.state import replace_fitted
from .._core.types import Column, NDArray, Rows, Sequence
from .._core.validation import NUMPY, Space
from ..codes import PackedCodes
from ..losses._tie_aware import loss_of
from ..metrics import make_retrieval_scorer
from ._additive import AdditiveHasher
from ._base import errors_in_message, errors_of
from ._common_space import (
    BehindTeacher,
    ViewLayers,
    beside_features,
    teach_classes,
    teach_judgments,
)
from ._function import HashFunction
from ._gradient import GradientHasher
from ._towers import fit_towers
from ._views import check_views, judgments_by_query

_AUTO = StrOptions({"auto"})


class _Functions(NamedTuple):
    """Fitted hash functions of both views.

    Parameters
    ----------
    items, queries : hasher
        The functions.

    losses : list of float
        Mean loss of each epoch.

    n_iter : int
        Number of epochs, or of alternations.

    item_layers : dict
        Fitted attributes of the items' function if it is layers of features, else empty.
    """

    items: object
    queries: object
    losses: list
    n_iter: int
    item_layers: dict

    def behind_teachers(self, views, taught):
        """The functions of features, which teachers turn into coordinates first."""
        return self._replace(
            items=_behind_teacher(views.items, taught.items, self.items),
            queries=_behind_teacher(views.queries, taught.queries, self.queries),
            item_layers={},
        )


def _behind_teacher(view, taught, hasher):
    """The function of features of a view, which its teacher turns into coordinates."""
    return BehindTeacher.from_fitted(
        view.seen | {"teacher_": taught.teacher, "hasher_": hasher}
    )


@parameters
class CrossViewHasher(GradientHasher):
    """Codes of items of one kind, which queries of another kind search.

    For example, texts search images, sketches search photographs, or questions search
    documents. Items and queries have their own features, and a hash function each. The data
    of `fit` say which items are relevant to which queries, in one of these forms:

    ========================================  ===========================================
    ``fit(X, y, X_query=Q, y_query=c)``       labels, or label indicators, of both sides
    ``fit(X, judgments, X_query=Q)``          grades: a row per item, a column per query
    ``fit(X, X_query=Q)``                     row i of Q belongs to row i of X
    ``fit(X, y)``                             each row is an item and a query
    ========================================  ===========================================

    First a *teacher* for each view brings both into one space, in which inner products give
    relevance. If both sides have labels, this is the space of their probabilities, see
    :class:`ClassProbabilities`. With judgments it is the space of their factors, see Notes.
    Then a loss trains a hash function for each view, or one for both, so that queries rank
    relevant items first; by default it maximizes tie-aware average precision.

    Parameters
    ----------
    n_bits : int, default=32
        Number of bits of a code, at least 1.

    query : {"bits", "weights"}, default="bits"
        How codes will be searched: by Hamming distance to the bits of a query, or by its
        weights, see :meth:`query_weights`. With ``"weights"`` and teachers, an
        :class:`AdditiveHasher` codes the items, and no loss is minimized.

    loss : {"AP", "nDCG"}, Measure or callable, default="AP"
        Training objective, one of these:

        * A measure, by its name or as a value, is maximized.
        * An object of :mod:`sklearn_talr.losses` that compares pairs is minimized.
        * Your own function ``loss(query_bits, item_bits, affinity)`` is minimized; it
          returns a scalar tensor. It gets relaxed bits of shapes (n, `n_bits`) and
          (m, `n_bits`), with fewer columns if the step leaves bits out, and the affinities
          of all pairs, -1 for pairs that do not count.

    teacher : {"auto"}, transformer or None, default="auto"
        How both views get into one space. ``"auto"``:

        * `ClassProbabilities()`, if both sides have labels;
        * none, if `fit` is given only rows that belong together, or if most items are
          relevant to no query;
        * factors of the judgments otherwise.

        A transformer like :class:`ClassProbabilities` is cloned for each view and fitted to
        labels of both sides. None: hash functions take the features themselves.

    unjudged : {"irrelevant", "ignored"}, default="irrelevant"
        Meaning of a judgment that is missing in a sparse matrix. Under ``"ignored"`` the
        loss leaves such pairs out, and stored zeros are irrelevant items. A teacher takes
        missing judgments as irrelevant under both.

    shared : bool, default=False
        Whether one hash function serves both views, whose features must be of one kind.
        After teachers of classes one function always serves both.

    hidden_layer_sizes : int or sequence of int, default=()
        Sizes of hidden rectifier layers of the items' function. Empty: linear.

    query_hidden_layer_sizes : int, sequence of int or None, default=None
        Sizes of hidden layers of the queries' function. None: `hidden_layer_sizes`. Ignored
        if one function serves both views.

    dropout : float, (float, float) or "auto", default="auto"
        Fraction of the hidden units, or of the features and of the hidden units, that each
        step leaves out, in [0, 1). ``"auto"``: 0.2 and 0.5 with hidden layers, else none.

    affinity : "auto" or affinity oracle, default="auto"
        Who is relevant to whom, if both sides have targets. ``"auto"`` depends on the form
        of `y`, as in :class:`TALRHasher`.

    init : {"cca", "random"}, default="cca"
        First weights of the last layers. ``"cca"``: canonical directions of items and
        queries that are relevant to each other, rotated for the least quantization error;
        for a shared function, iterative quantization of all rows.

    tanh_scale : float, (float, float), None or "auto", default="auto"
        Scale of tanh, as in :class:`TALRHasher`.

    bit_dropout : float or "auto", default="auto"
        Fraction of the bits that each step leaves out, in [0, 1). ``"auto"`` keeps the
        square root of 8 times their number.

    learning_rate_init : float or "auto", default="auto"
        First learning rate, which falls to 0 along half a cosine. ``"auto"`` is
        ``0.025``, or ``0.014`` with hidden layers.

    weight_decay : float or "auto", default="auto"
        Decoupled weight decay, at least 0. ``"auto"``: for each view 0.6, but 0 for fewer
        than 64 features; with hidden layers 2.4 divided by the number of all layers.

    batch_size : int or "auto", default="auto"
        Queries per step, at least 2. They rank one relevant item per query, and four random
        items per query. ``"auto"``: a twentieth of the queries, between 32 and 256.

    max_iter : int, default=50
        Number of epochs over the queries.

    device : str, default="auto"
        Device to train on: ``"cpu"``, ``"cuda"`` or ``"cuda:1"``. ``"auto"`` uses a GPU, if
        CUDA has one, for hidden layers or batches of 1 024 and more.

    verbose : bool, default=False
        Print the loss of each epoch.

    random_state : int, RandomState instance or None, default=None
        Draws first weights, batches, and the bits and units that are left out.

    Attributes
    ----------
    item_hasher_, query_hasher_ : hasher
        The hash function of each view, a fitted hasher like any other.

    teacher_, query_teacher_ : transformer or None
        The teacher of each view.

    coefs_, intercepts_ : list of ndarray
        Layers of the items' function. Only without a teacher.

    means_ : list of one ndarray of shape (n_features,)
        Subtracted from items before the first layer. Only without a teacher.

    affinity_ : affinity oracle
        The fitted oracle. For judgments:
        :class:`~sklearn_talr.affinity.JudgmentAffinity`.

    has_query_view_ : bool
        Whether `fit` was given queries.

    loss_curve_ : list of float
        Mean loss of each epoch; empty if no loss was minimized.

    n_iter_ : int
        Number of epochs, or of alternations of the :class:`AdditiveHasher`.

    n_features_in_ : int
        Number of features of items.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of these features, if `fit` saw any.

    See Also
    --------
    TALRHasher : For queries and items of one kind.
    sklearn_talr.neighbors.HashedNeighbors : Searches items by features of queries.
    sklearn_talr.neighbors.ItemRanker : Cross-validation over queries.
    sklearn_talr.affinity.query_groups : Queries that share relevant items.

    Notes
    -----
    *Factors of judgments.* The truncated singular value decomposition of the matrix of
    grades gives coordinates to each item and to each query. Their inner products are nearly
    the grades. A ridge regression with a Gaussian kernel predicts the coordinates from
    features. Hash functions learn from predictions for rows that were left out.

    Training scales the features of each view by itself, as :class:`TALRHasher` does. Items
    are similar by their labels, or if they are relevant to a common query. If row i
    belongs to row i and nothing else is known, scale the columns yourself.

    At the end of a Pipeline the earlier steps transform items only. `transform_query` gets
    features of queries as they are.

    An interrupt (Ctrl-C) ends training with a warning, and keeps the weights of the last
    completed epoch. Before the first epoch is complete, it leaves the hasher as it was.

    References
    ----------
    K. He, F. Cakir, S. A. Bargal, S. Sclaroff, "Hashing as Tie-Aware Learning to Rank",
    CVPR 2018. Two views, teachers and judgments are additions of this library.

    Examples
    --------
    Left halves of digits search right halves:

    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.hashing import CrossViewHasher
    >>> X, y = load_digits(return_X_y=True)
    >>> left, right = X.reshape(-1, 8, 8)[:, :, :4], X.reshape(-1, 8, 8)[:, :, 4:]
    >>> Q, X = left.reshape(-1, 32), right.reshape(-1, 32)
    >>> hasher = CrossViewHasher(n_bits=16, max_iter=10, random_state=0)
    >>> hasher = hasher.fit(X[300:900], y[300:900], X_query=Q[300:900], y_query=y[300:900])
    >>> hasher.score(X[900:], y[900:], X_query=Q[:300], y_query=y[:300]) > 0.6
    True
    """

    _parameter_constraints = GradientHasher._parameter_constraints | {
        "query": [StrOptions({"bits", "weights"})],
        "teacher": [_AUTO, HasMethods(["fit_transform", "transform"]), None],
        "unjudged": [StrOptions({"irrelevant", "ignored"})],
        "shared": ["boolean"],
        "query_hidden_layer_sizes": ["array-like", Integral, None],
        "init": [StrOptions({"cca", "random"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    _: KW_ONLY
    query: Literal["bits", "weights"] = "bits"
    teacher: Any = "auto"
    unjudged: Literal["irrelevant", "ignored"] = "irrelevant"
    shared: bool = False
    query_hidden_layer_sizes: int | Sequence[int] | None = None
    init: Literal["cca", "random"] = "cca"
    max_iter: int = 50

    @property
    def default_query(self) -> str:
        """How codes are to be searched: the parameter `query`."""
        return self.query

    @fit_method
    def fit(
        self,
        X: Rows,
        y: Any = None,
        *,
        X_query: Rows | None = None,
        y_query: Any = None,
        groups: Column = None,
        groups_query: Column = None,
    ) -> Self:
        """Learn the hash functions of both views.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features of at least two items.

        y : targets of length n_samples, default=None
            With `y_query`: labels or label indicators of the items. Without `y_query`:
            judgments, dense or sparse, of shape (n_samples, n_queries); integers, 0 for
            "not relevant", below 0 for pairs that do not count. None: row i of `X_query`
            belongs to row i of `X`.

        X_query : {array-like, CSR} of shape (n_queries, n_query_features), default=None
            Features of at least two queries. None: each row of `X` is a query, too, which
            ranks the others, and one function serves both.

        y_query : targets of length n_queries, default=None
            Targets of the queries, in the form of `y`.

        groups, groups_query : array-like of shape (n,), default=None
            Labels of groups of the items and of the queries. Pairs of one group are left
            out of the loss. Without `X_query` pass `groups` alone.

        Returns
        -------
        self : object
            The fitted hasher.

        Raises
        ------
        ValueError
            If features and targets do not fit, features are constant, nothing is relevant
            to any query, all is equally relevant, or the loss knows one view only.

        Warns
        -----
        UserWarning
            If most items are relevant to no query.
        """
        views = check_views(self, X, y, X_query, y_query, groups, groups_query)
        self._refuse_unlike_widths(views)
        has_few_judgments = _has_few_judgments(views.pairs)
        teaching = self._choose_teaching(
            views.pairs, are_partners=y is None, has_few_judgments=has_few_judgments
        )
        is_additive = teaching is not None and self.query == "weights"
        n_teachers = 0 if teaching is None else 2
        progress = Progress(
            self,
            X,
            y,
            0 if is_additive else self.max_iter,
            "epoch",
            n_fits=n_teachers + is_additive,
        )
        rng = independent_random_state(self.random_state)
        taught = self._teach(views, teaching, rng, progress)
        if is_additive:
            functions = self._fit_additive(taught, rng, progress)
        else:
            is_shared = self.shared or views.pairs.same_rows or teaching == "classes"
            functions = self._fit_towers(taught, rng, progress, is_shared=is_shared)
        if teaching is not None:
            functions = functions.behind_teachers(views, taught)
        fitted = (
            views.items.seen
            | functions.item_layers
            | {
                "item_hasher_": functions.items,
                "query_hasher_": functions.queries,
                "teacher_": taught.items.teacher,
                "query_teacher_": taught.queries.teacher,
                "affinity_": views.pairs.affinity.given,
                "has_query_view_": X_query is not None,
                "loss_curve_": functions.losses,
                "n_iter_": functions.n_iter,
            }
        )
        return replace_fitted(self, progress.finish(fitted))

    def _refuse_unlike_widths(self, views):
        n_features = views.items.X.shape[1]
        n_query_features = views.queries.X.shape[1]
        if self.shared and n_features != n_query_features:
            raise ValueError(
                f"shared=True needs features of one kind, but X has {n_features} and "
                f"X_query {n_query_features}. Set shared=False."
            )

    def _choose_teaching(self, pairs, *, are_partners, has_few_judgments):
        """What teachers of both views learn: "classes", "judgments" or None."""
        if self.teacher is None:
            return None
        if pairs.classes is not None:
            return "classes"
        if not isinstance(self.teacher, str):
            raise ValueError(
                "teacher needs labels or label indicators of both sides, as y and y_query. "
                "Set teacher='auto' or None for judgments and other affinities."
            )
        return None if are_partners or has_few_judgments else "judgments"

    def _teach(self, views, teaching, rng, progress):
        """Views in the coordinates from which hash functions learn."""
        if teaching is None:
            return views
        if teaching == "classes":
            teacher = None if isinstance(self.teacher, str) else self.teacher
            return teach_classes(views, teacher, progress)
        taught = teach_judgments(views, rng, progress)
        if self.query == "weights":
            return taught
        return beside_features(views, taught, is_shared=self.shared)

    def _fit_additive(self, taught, rng, progress):
        """Code the coordinates of items; queries get their weights from the same hasher."""
        hasher = AdditiveHasher(
            self.n_bits, metric="inner_product", verbose=self.verbose, random_state=rng
        )
        with progress.nested("fit-additive-hasher")(hasher):
            hasher.fit(taught.items.X)
        return _Functions(hasher, hasher, losses=[], n_iter=hasher.n_iter_, item_layers={})

    def _fit_towers(self, taught, rng, progress, *, is_shared):
        """Train layers of both views."""
        towers = fit_towers(
            self, loss_of(self.loss), taught, rng, progress, is_shared=is_shared
        )
        return _Functions(
            items=ViewLayers.from_fitted(taught.items.seen | towers.items),
            queries=ViewLayers.from_fitted(taught.queries.seen | towers.queries),
            losses=towers.losses,
            n_iter=len(towers.losses),
            item_layers=towers.items,
        )

    def transform_query(self, X: Rows) -> NDArray[np.uint8]:
        """Compute binary codes of queries.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_queries, n_query_features)
            Features of queries.

        Returns
        -------
        codes : ndarray of shape (n_queries, n_bits), dtype uint8
            Zeros and ones.
        """
        return self._call_query_hasher("transform", X)

    def encode_query(self, X: Rows) -> PackedCodes:
        """Compute binary codes of queries, packed eight bits to the byte.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_queries, n_query_features)
            Features of queries.

        Returns
        -------
        codes : PackedCodes
            Codes of shape (n_queries, n_bits), in little bit order.
        """
        return self._call_query_hasher("encode", X)

    def query_weights(self, X: Rows) -> NDArray[np.float32]:
        """Compute how much each bit of an item's code counts for weighted queries.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_queries, n_query_features)
            Features of queries.

        Returns
        -------
        weights : ndarray of shape (n_queries, n_weights), dtype float32
            Weights as other hashers have them; with teachers and ``query="weights"``,
            weights of :class:`AdditiveHasher`.
        """
        return self._call_query_hasher("query_weights", X)

    def score(
        self, X: Rows, y: Any = None, *, X_query: Rows | None = None, y_query: Any = None
    ) -> float:
        """Tie-aware retrieval score of queries that rank these items.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features of items.

        y : targets of length n_samples, default=None
            As given to `fit`.

        X_query : {array-like, CSR} of shape (n_queries, n_query_features), default=None
            Features of queries, as given to `fit`.

        y_query : targets of length n_queries, default=None
            As given to `fit`.

        Returns
        -------
        score : float
            Mean over the queries that have something relevant, in [0, 1]: average
            precision, or NDCG if the loss maximizes that. Codes are searched by bits or by
            weights, according to `query`.

        Raises
        ------
        ValueError
            If `fit` was given queries and `score` is not, or the other way round.
        """
        check_is_fitted(self)
        if self.has_query_view_ and X_query is None:
            raise ValueError(
                "fit was given queries, so score needs queries: pass X_query, with y_query "
                "or judgments as y."
            )
        if not self.has_query_view_ and X_query is not None:
            raise ValueError(
                "fit was not given queries, so each row of X is a query: call score(X, y) "
                "without X_query."
            )
        measure = loss_of(self.loss).measure
        if X_query is None:
            return make_retrieval_scorer(measure)(self, X, y)
        if y_query is None:
            # Judgments are targets of queries, and items have none.
            y_query = judgments_by_query(self.affinity_, X, y, X_query)
            y = None
        return make_retrieval_scorer(measure, database=(X, y))(self, X_query, y_query)

    def _call_query_hasher(self, method, X):
        """Call a method of the queries' function; errors name the features of queries."""
        check_is_fitted(self)
        message = "Features of queries cannot be used: {}"
        with errors_in_message(message), errors_of(self, self.query_hasher_):
            return getattr(self.query_hasher_, method)(X)

    def __talr_hash_function__(self, space: Space) -> HashFunction:
        """Make the hash function of items, which is the function of `item_hasher_`.

        Parameters
        ----------
        space : Space
            NumPy.

        Returns
        -------
        function : HashFunction
            Queries have another one, the function of `query_hasher_`.
        """
        return self.item_hasher_.__talr_hash_function__(space)

    @property
    def _n_features_out(self):
        return self.__talr_hash_function__(NUMPY).n_bits

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        tags.target_tags.required = True
        return tags


def _has_few_judgments(pairs):
    """Whether most items are relevant to no query, by judgments; warn if so.

    Judgments then say nothing about most items.
    """
    if pairs.judgments is None:
        return False
    n_relevant_items = pairs.n_items_known()
    if 2 * n_relevant_items >= pairs.n_items:
        return False
    warn_caller(
        f"Only {n_relevant_items} of {pairs.n_items} items are relevant to a query in y, "
        "and training learns nothing about the other items. If one model computed the "
        "embeddings of both views, codes without judgments may rank better: compare with "
        "ITQHasher or AdditiveHasher."
    )
    return True
