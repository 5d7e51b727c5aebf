"""MutualInformationLoss: how much distances tell about who is similar."""

from ._bound import CountingLoss

__all__ = ["MutualInformationLoss"]

_LEAST_COUNT = 1e-6  # of pairs: the logarithm of less is cut off


class MutualInformationLoss(CountingLoss):
    r"""MIHash: minus the mutual information of distance and similarity.

    Cakir, He, Bargal and Sclaroff, "MIHash: Online Hashing with Mutual Information", ICCV
    2017. For each sample, the distance D to another one and whether the two are similar,
    C, are random variables; training maximizes the mean of their mutual information,

    .. math:: I(D; C) = H(D) - P(C{=}1) H(D | C{=}1) - P(C{=}0) H(D | C{=}0),

    on soft counts per distance (eq. 2 to 6 there), the same ones that
    :class:`AveragePrecisionLoss` takes. From counts c[s, d] of one sample's N pairs, with
    C[d] their sum over s and N[s] their sum over d, it is the sum of c[s, d] / N
    ln(c[s, d] N / (C[d] N[s])).

    The loss is in [-ln 2, 0], up to rounding. What differs from the original: minibatches
    of a fixed training set, rather than a stream of pairs. Trained under tanh whose scale
    grows from 1 to 8.

    See Also
    --------
    AveragePrecisionLoss : Weighs the top of the ranking, as the measure does.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.hashing import SupervisedHasher
    >>> from sklearn_talr.losses import MutualInformationLoss
    >>> X, y = load_digits(return_X_y=True)
    >>> loss = MutualInformationLoss()
    >>> hasher = SupervisedHasher(16, loss=loss, max_iter=10, random_state=0)
    >>> print(f"{hasher.fit(X[:900], y[:900]).score(X[900:], y[900:]):.1f}")
    0.8
    """

    training_defaults = {"tanh_scale": (1.0, 8.0)}

    def __call__(self, bits, affinity):
        """Compute the loss of a minibatch.

        Parameters
        ----------
        bits : Tensor of shape (n, n_bits), float
            Relaxed bits in [-1, 1].

        affinity : Tensor of shape (n, n)
            Similar pairs are those above 0.

        Returns
        -------
        loss : Tensor, scalar
            At most 0.
        """
        import torch

        from ._soft_counts import soft_counts

        similar = (affinity > 0).view(torch.uint8)
        counts = soft_counts(bits, bits, similar, 2, exclude_self=True)
        n_pairs = len(bits) - 1
        expected = counts.sum(1, keepdim=True) * counts.sum(2, keepdim=True) / n_pairs
        expected = expected.clamp(min=_LEAST_COUNT)
        logs = counts.clamp(min=_LEAST_COUNT).log() - expected.log()
        return -(counts * logs).sum((1, 2)).mean() / n_pairs
