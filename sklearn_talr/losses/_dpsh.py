"""DPSHLoss: likelihood of similar and dissimilar pairs."""

from numbers import Real

from .._compat import Interval
from ._bound import PairLoss
from ._pair_terms import inner_products, mean_where, quantization_error, similar_and_not

__all__ = ["DPSHLoss"]


class DPSHLoss(PairLoss):
    r"""DPSH: likelihood of similar and dissimilar pairs.

    Li, Wang and Kang, "Feature Learning Based Deep Supervised Hashing with Pairwise
    Labels", IJCAI 2016, eq. 3 and 4. Of activations u, half the inner product is the logit
    of similarity s, and a penalty draws activations to their signs:

    .. math::

        \sum_{ij} \left[ \ln(1 + e^{\Theta_{ij}}) - s_{ij} \Theta_{ij} \right] + \eta
        \sum_i \| \mathrm{sign}(u_i) - u_i \|^2, \quad \Theta_{ij} = u_i^T u_j / 2.

    The loss is at least 0. What differs from the original: pairs are those of a minibatch,
    rather than of a minibatch and all other samples as last seen; both terms are means,
    over pairs and over samples and bits. Trained without tanh, with a `weight_decay` of
    0.1.

    Parameters
    ----------
    quantization_weight : float, default=0.1
        Weight of the penalty, at least 0.

    See Also
    --------
    DTSHLoss : The likelihood of triplets.
    HashNetLoss : Weighs pairs, and has tanh in place of the penalty.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.hashing import SupervisedHasher
    >>> from sklearn_talr.losses import DPSHLoss
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = SupervisedHasher(16, loss=DPSHLoss(), max_iter=10, random_state=0)
    >>> print(f"{hasher.fit(X[:900], y[:900]).score(X[900:], y[900:]):.1f}")
    0.7
    """

    _parameter_constraints: dict = {
        "quantization_weight": [Interval(Real, 0, None, closed="left")]
    }

    training_defaults = {"tanh_scale": None, "weight_decay": 0.1}

    def __init__(self, quantization_weight=0.1):
        self.quantization_weight = quantization_weight

    def __call__(self, bits, affinity, n_bits=None):
        """Compute the loss of a minibatch.

        Parameters
        ----------
        bits : Tensor of shape (n, k), float
            Activations.

        affinity : Tensor of shape (n, n)
            Similar pairs are those above 0.

        n_bits : int, default=None
            Bits of a code, of which k take part. None: all do.

        Returns
        -------
        loss : Tensor, scalar
            At least 0.
        """
        from torch.nn.functional import softplus

        theta = inner_products(bits, n_bits) / 2
        similar, dissimilar = similar_and_not(affinity)
        loss = mean_where(similar | dissimilar, softplus(theta) - similar * theta)
        return loss + self.quantization_weight * quantization_error(bits)
