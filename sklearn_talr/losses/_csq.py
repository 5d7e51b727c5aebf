"""CSQLoss: each bit aims at that of a hash center."""

from numbers import Real

from .._compat import Interval
from ._bound import ClassLoss

__all__ = ["CSQLoss"]


class CSQLoss(ClassLoss):
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
    >>> from sklearn_talr.hashing import SupervisedHasher
    >>> from sklearn_talr.losses import CSQLoss
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = SupervisedHasher(16, loss=CSQLoss(), max_iter=10, random_state=0)
    >>> print(f"{hasher.fit(X[:900], y[:900]).score(X[900:], y[900:]):.1f}")
    0.8
    """

    _parameter_constraints: dict = {
        "quantization_weight": [Interval(Real, 0, None, closed="left")]
    }

    def __init__(self, quantization_weight=0.0001):
        self.quantization_weight = quantization_weight

    def __call__(self, scaled, centers):
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

    def _bind(self, training, classes):
        centers = training.tensor(classes.draw_majority(training.rng))

        def step(batch):
            samples = training.tensor(batch.samples)
            return self(batch.scaled, batch.keep(centers[samples]))

        return step
