"""FastHasher: bits one after another, inferred by graph cuts and learned by trees."""

from functools import partial
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier

from .._core.compat import Interval
from .._core.parameters import KW_ONLY, parameters
from .._core.types import Any
from .._core.validation import Space
from ..hashing import HashFunction
from ._graph_cuts import PairwiseBits
from ._sampled_pairs import DiscreteHasher

# The blocks are improved so many times for each bit.
_PASSES_PER_BIT = 2


@parameters
class FastHasher(DiscreteHasher):
    r"""FastHash: boosted decision trees fitted to bits that are inferred by graph cuts.

    Lin et al., "Fast Supervised Hashing with Decision Trees for High-Dimensional Data",
    CVPR 2014. Bit after bit is found in two steps. First, given the bits
    :math:`z^1, \dots, z^{r-1}` so far, that of the samples which minimizes

    .. math::

        \sum_{ij} \left( r y_{ij} - \sum_{p=1}^{r} z_i^p z_j^p \right)^2,

    y being 1 for similar samples and -1 for others, by graph cuts over blocks of mutually
    similar samples. Second, boosted decision trees learn that bit, and what they give for
    the samples is the bit that the next ones build upon.

    What differs from the original: boosting is scikit-learn's, by gradients of the logistic
    loss, with all features for each split (there AdaBoost, with random ones; both on binned
    features); of its losses this is one, that of KSH; all pairs of the samples drawn count.
    Affinities of several levels are similar or not.

    Parameters
    ----------
    n_bits : int, default=32
        Number of bits of a code, at least 1.

    affinity : "auto" or affinity oracle, default="auto"
        Who is similar to whom. ``"auto"`` goes by the form of `y`: labels of shape
        (n_samples,): :class:`~sklearn_talr.affinity.LabelAffinity`; label indicators:
        :class:`~sklearn_talr.affinity.SharedLabelAffinity`; a
        :class:`~sklearn_talr.affinity.PrecomputedAffinity` or a square matrix: itself;
        None: :class:`~sklearn_talr.affinity.ThresholdAffinity` on the features.

    n_trees : int, default=50
        Trees of each bit, at least 1.

    max_depth : int, default=4
        Largest depth of a tree, at least 1.

    learning_rate : float, default=0.2
        Factor of the values that each tree adds, above 0.

    subsample : int or None, default=5000
        Samples to fit at most, at least 2, drawn at random; None for all. Memory grows with
        their square.

    verbose : bool, default=False
        Print the loss after each bit.

    random_state : int, RandomState instance or None, default=None
        Draws samples, first bits, blocks and the order of steps. Global generators are
        never touched; None draws a fresh seed.

    Attributes
    ----------
    estimators_ : list of HistGradientBoostingClassifier
        One for each bit. A bit that all samples shared has a DummyRegressor.

    affinity_ : affinity oracle
        The fitted oracle.

    loss_curve_ : list of float
        Mean over pairs of the samples of the squared error of :math:`z_i \cdot z_j / r`,
        by the first r bits, as the trees give them.

    n_features_in_ : int
        Number of features seen by `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if `fit` saw any.

    See Also
    --------
    MACHasher : Linear functions and all bits at once, fitted to each other.

    Notes
    -----
    Trees are no layers: :func:`~sklearn_talr.export.to_onnx` does not know them.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.baselines import FastHasher
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = FastHasher(8, n_trees=10, random_state=0).fit(X[:900], y[:900])
    >>> print(f"{hasher.score(X[900:], y[900:]):.1f}")
    0.7
    """

    _parameter_constraints = {
        **DiscreteHasher._parameter_constraints,
        "n_trees": [Interval(Integral, 1, None, closed="left")],
        "max_depth": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
    }

    _: KW_ONLY
    n_trees: int = 50
    max_depth: int = 4
    learning_rate: float = 0.2

    def _fit_pairs(self, X, affinities, rng, start):
        pairs = PairwiseBits(affinities > 0, rng)
        X = X[pairs.order]
        codes = rng.choice(np.float32([-1, 1]), (len(X), self.n_bits))
        estimators = []
        losses = []
        fitted_so_far = partial(_fitted_attributes, estimators, losses)
        with start(self.n_bits, "bit", fitted_so_far) as progress:
            for place in progress.over(range(self.n_bits)):
                bit = codes[:, place]
                for _ in range(_PASSES_PER_BIT):
                    pairs.improve(bit, codes[:, :place], place + 1)
                trees = self._fit_trees(X, bit, rng)
                estimators.append(trees)
                bit[:] = np.where(_activations(trees, X) > 0, 1, -1)
                loss = pairs.loss(codes[:, : place + 1])
                losses.append(loss)
                progress.message = f"loss = {loss:.6f}"
        return progress.finish()

    def _fit_trees(self, X, bit, rng):
        """Learn a bit by trees, or by a constant if all samples share it."""
        if np.all(bit == bit[0]):
            return DummyRegressor(strategy="constant", constant=bit[0]).fit(X, bit)
        trees = HistGradientBoostingClassifier(
            learning_rate=self.learning_rate,
            max_iter=self.n_trees,
            max_depth=self.max_depth,
            early_stopping=False,
            random_state=rng.randint(2**31),
        )
        return trees.fit(X, bit)

    def __talr_hash_function__(self, space: Space) -> HashFunction:
        """Make the hash function of this fit: the trees of each bit.

        Parameters
        ----------
        space : Space
            NumPy.

        Returns
        -------
        function : HashFunction
            Its activations are sums of the trees' values.
        """
        estimators = self.estimators_

        def activations(X):
            X = X.toarray() if sp.issparse(X) else X
            return np.stack([_activations(trees, X) for trees in estimators], axis=1)

        return HashFunction(activations=activations, n_bits=len(estimators))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = False  # trees are scikit-learn's
        return tags


def _fitted_attributes(estimators, losses):
    """Fitted attributes: the bits that have a loss."""
    return {"estimators_": estimators[: len(losses)], "loss_curve_": [*losses]}


def _activations(trees, X):
    """Activations of a bit, whose signs are the bit."""
    if isinstance(trees, DummyRegressor):
        return trees.predict(X)
    return trees.decision_function(X)
