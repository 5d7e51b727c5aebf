"""Losses that draw each sample to the code of its class, or classes."""

import math
from numbers import Real

import numpy as np
from scipy.linalg import hadamard

from .._core.compat import Interval
from .._core.parameters import parameters
from .._core.types import Any, Callable, Tensor
from ._base import BaseLoss, LossContext

# The best of this many sets of random codes is taken. If there are many classes, fewer sets
# are drawn and only the first classes are compared: time is linear in their number.
_N_DRAWS = 100
_MOST_COMPARED = 1000


class _ClassLoss(BaseLoss):
    """A loss that draws each sample to the code of its class, or classes."""

    needs_classes = True

    def bind(self, context: LossContext) -> tuple[Callable[..., Tensor], dict[str, Any]]:
        """Draw a code for each class, unless a warm start has codes.

        Parameters
        ----------
        context : LossContext
            Targets, which are labels or label indicators, and the generator.

        Returns
        -------
        step : callable
            ``step(batch) -> scalar tensor``.

        fitted : dict
            ``classes_`` and ``class_codes_``.

        Raises
        ------
        ValueError
            If targets name no classes, a warm start knew other classes, or there are two
            views.
        """
        self._validate_params()
        if context.targets is None:
            self.between(None, None, None)  # raises
        classes, memberships = class_memberships(context.affinity, context.targets)
        codes = context.fitted_before.get("class_codes_")
        if codes is None:
            codes = draw_class_codes(len(classes), context.n_bits, context.rng)
        elif not np.array_equal(context.fitted_before["classes_"], classes):
            raise ValueError(
                "warm_start=True cannot change the classes. Call fit with "
                "warm_start=False to start anew."
            )
        fitted = {"classes_": classes, "class_codes_": codes}
        return self._step(context, memberships, codes), fitted


@parameters
class CSQLoss(_ClassLoss):
    r"""CSQ: central similarity, each bit aims at that of a hash center.

    Yuan et al., "Central Similarity Quantization for Efficient Image and Video Retrieval",
    CVPR 2020, eq. 4 to 8. Each class has a center, a code far from those of other classes.
    Each bit of the center c of a sample of several classes is the bit of most of their
    centers; ties are drawn. With relaxed bits h = tanh(scale u) and centers of 0 and 1,

    .. math::

        -\sum_{ik} \left[ c_{ik} \ln \frac{1 + h_{ik}}{2} + (1 - c_{ik}) \ln \frac{1 -
        h_{ik}}{2} \right] + \lambda \sum_{ik} \ln \cosh(|h_{ik}| - 1).

    Samples of no class have no say. The loss is at least 0. What differs from the original:
    a random set of balanced centers is the best of a hundred; both terms are means.

    Parameters
    ----------
    quantization_weight : float, default=0.0001
        Weight of the second term, at least 0.

    See Also
    --------
    OrthoHashLoss : Compares the code as a whole with those of all classes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.hashing import TALRHasher
    >>> from sklearn_talr.losses import CSQLoss
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = TALRHasher(16, loss=CSQLoss(), max_iter=10, random_state=0)
    >>> print(f"{hasher.fit(X[:900], y[:900]).score(X[900:], y[900:]):.1f}")
    0.8
    """

    _parameter_constraints = {
        "quantization_weight": [Interval(Real, 0, None, closed="left")]
    }

    quantization_weight: float = 0.0001

    def __call__(self, scaled: Tensor, centers: Tensor) -> Tensor:
        """Compute the loss of a minibatch.

        Parameters
        ----------
        scaled : Tensor of shape (n, n_bits), float
            Activations times the scale of tanh.

        centers : Tensor of shape (n, n_bits), float
            The center of each sample, of -1 and +1; 0 everywhere for a sample of no class.

        Returns
        -------
        loss : Tensor, scalar
            Mean over the bits that have a target, at least 0; 0 if none has.
        """
        import torch

        has_target = centers.abs()
        n_targets = has_target.sum().clamp(min=1)
        softplus = torch.nn.functional.softplus
        entropy = (softplus(-2 * scaled * centers) * has_target).sum() / n_targets
        error = torch.log(torch.cosh(torch.tanh(scaled).abs() - 1)) * has_target
        return entropy + self.quantization_weight * error.sum() / n_targets

    def _step(self, context, memberships, codes):
        centers = context.tensor(majority_codes(memberships, codes, context.rng))

        def step(batch):
            rows = context.tensor(batch.rows)
            return self(batch.scaled, batch.keep(centers[rows]))

        return step


@parameters
class OrthoHashLoss(_ClassLoss):
    r"""OrthoHash: one cosine loss to codes of the classes that are nearly orthogonal.

    Hoe et al., "One Loss for All: Deep Hashing with a Single Cosine Similarity based
    Learning Objective", NeurIPS 2021, eq. 6. Each class has a code c of -1 and +1, and
    the cosines of activations u with these codes are the logits of classes:

    .. math::

        -\ln \frac{e^{s (\cos(u, c_y) - m)}}
        {e^{s (\cos(u, c_y) - m)} + \sum_{k \ne y} e^{s \cos(u, c_k)}}.

    A sample of several classes has equal probabilities of them, and each of them has the
    margin. Samples of no class are ignored.

    The loss is at least 0. Differences from the original: activations are not batch
    normalized; codes are rows of a Hadamard matrix if possible, and else balanced random
    codes. Classes that were not trained on have no code of their own. The defaults train
    without tanh, with a `weight_decay` of 2.

    Parameters
    ----------
    margin : float, default=0.4
        Margin m of the cosine, at least 0.

    cosine_scale : float, default=4.0
        Scale s of the cosine, above 0.

    See Also
    --------
    CSQLoss : Trains each bit by itself, toward the bit of the class.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.hashing import TALRHasher
    >>> from sklearn_talr.losses import OrthoHashLoss
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = TALRHasher(16, loss=OrthoHashLoss(), max_iter=10, random_state=0)
    >>> print(f"{hasher.fit(X[:900], y[:900]).score(X[900:], y[900:]):.1f}")
    0.8
    """

    _parameter_constraints = {
        "margin": [Interval(Real, 0, None, closed="left")],
        "cosine_scale": [Interval(Real, 0, None, closed="neither")],
    }

    training_defaults = {"tanh_scale": None, "weight_decay": 2.0}

    margin: float = 0.4
    cosine_scale: float = 4.0

    def __call__(
        self, activations: Tensor, class_codes: Tensor, memberships: Tensor
    ) -> Tensor:
        """Compute the loss of a minibatch.

        Parameters
        ----------
        activations : Tensor of shape (n, n_bits), float
            Activations.

        class_codes : Tensor of shape (n_classes, n_bits), float
            Codes of -1 and +1.

        memberships : Tensor of shape (n, n_classes), float
            1 if a sample belongs to a class, and else 0.

        Returns
        -------
        loss : Tensor, scalar
            Mean over the samples that have a class, at least 0; 0 if none has.
        """
        from torch.nn.functional import normalize

        cosines = normalize(activations) @ class_codes.T / math.sqrt(class_codes.shape[1])
        logits = self.cosine_scale * (cosines - self.margin * memberships)
        n_own = memberships.sum(1)
        own_logs = (memberships * logits.log_softmax(1)).sum(1) / n_own.clamp(min=1)
        return -own_logs.sum() / (n_own > 0).sum().clamp(min=1)

    def _step(self, context, memberships, codes):
        class_codes = context.tensor(codes)

        def step(batch):
            row_memberships = context.tensor(memberships[batch.rows].toarray())
            return self(batch.bits, batch.keep(class_codes), row_memberships)

        return step


def draw_class_codes(n_classes, n_bits, rng):
    """Draw a code for each class, of -1 and +1, shape (n_classes, n_bits).

    If `n_bits` is a power of two and there are enough rows, codes are rows of a Hadamard
    matrix and their negatives, which differ in half of the bits or in all. Otherwise they
    are random codes of as many -1 as +1. Several sets of these are drawn, and the one whose
    nearest two codes are farthest apart is kept.
    """
    if n_bits & (n_bits - 1) == 0 and n_classes <= 2 * n_bits:
        rows = hadamard(n_bits)[rng.permutation(n_bits)]
        return np.vstack([rows, -rows])[:n_classes].astype(np.float64)
    half = np.resize([1.0, -1.0], n_bits)
    n_draws = max(1, min(_N_DRAWS, _N_DRAWS * _MOST_COMPARED // n_classes))
    draws = (_draw_permutations(half, n_classes, rng) for _ in range(n_draws))
    return min(draws, key=_largest_inner_product)


def _draw_permutations(values, n, rng):
    """Permutations of some values, (n, n_values)."""
    return np.array([rng.permutation(values) for _ in range(n)])


def _largest_inner_product(codes):
    """The largest inner product of two codes, which are the nearest ones."""
    codes = codes[:_MOST_COMPARED]
    products = codes @ codes.T
    np.fill_diagonal(products, -np.inf)
    return products.max()


def class_memberships(affinity, targets):
    """Find the classes, and to which classes each sample belongs.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        Labels of the classes, or the columns of label indicators.

    memberships : CSR of shape (n_samples, n_classes), dtype float32
        Ones. A dense array would be of quadratic size if each sample had its own class.
    """
    classes_and_memberships = affinity.memberships(targets)
    if classes_and_memberships is None:
        raise ValueError(
            f"The loss needs classes, which affinity={affinity!r} does not name. "
            "Pass class labels or label indicators as y, and set affinity='auto'."
        )
    classes, memberships = classes_and_memberships
    if classes is None:
        classes = np.arange(memberships.shape[1])
    return classes, memberships.astype(np.float32)


def majority_codes(memberships, class_codes, rng):
    """Return a center for each sample: each bit is the bit of most of its classes.

    Ties are broken at random. The center of a sample of no class is 0 everywhere.
    """
    votes = memberships @ class_codes
    drawn = rng.choice([-1.0, 1.0], size=votes.shape)
    codes = np.where(votes == 0, drawn, np.sign(votes))
    return codes * (memberships.sum(axis=1) > 0)[:, None]
