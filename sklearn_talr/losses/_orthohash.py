"""OrthoHashLoss: one cosine loss to codes of the classes."""

import math
from numbers import Real

from .._compat import Interval
from ._bound import ClassLoss

__all__ = ["OrthoHashLoss"]


class OrthoHashLoss(ClassLoss):
    r"""OrthoHash: one cosine loss to codes of the classes that are nearly orthogonal.

    Hoe et al., "One Loss for All: Deep Hashing with a Single Cosine Similarity based
    Learning Objective", NeurIPS 2021, eq. 6. Each class has a code c of -1 and +1, and
    the cosines of activations u with these codes are the logits of classes:

    .. math::

        -\ln \frac{e^{s (\cos(u, c_y) - m)}}
        {e^{s (\cos(u, c_y) - m)} + \sum_{k \ne y} e^{s \cos(u, c_k)}}.

    A sample of several classes has its probability shared among them equally, and each of
    them has the margin. Samples of no class have no say.

    The loss is at least 0. What differs from the original: no batch normalization of the
    activations; codes are rows of a Hadamard matrix where they can be, or balanced and
    random ones. Samples of classes that were not trained on have no code of their own.
    Trained without tanh, with a `weight_decay` of 2.

    Parameters
    ----------
    margin : float, default=0.4
        Margin m of the cosine, at least 0.

    cosine_scale : float, default=4.0
        Scale s of the cosine, above 0.

    See Also
    --------
    CSQLoss : Aims each bit at that of the class by itself.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.hashing import SupervisedHasher
    >>> from sklearn_talr.losses import OrthoHashLoss
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = SupervisedHasher(16, loss=OrthoHashLoss(), max_iter=10, random_state=0)
    >>> print(f"{hasher.fit(X[:900], y[:900]).score(X[900:], y[900:]):.1f}")
    0.8
    """

    _parameter_constraints: dict = {
        "margin": [Interval(Real, 0, None, closed="left")],
        "cosine_scale": [Interval(Real, 0, None, closed="neither")],
    }

    training_defaults = {"tanh_scale": None, "weight_decay": 2.0}

    def __init__(self, margin=0.4, cosine_scale=4.0):
        self.margin = margin
        self.cosine_scale = cosine_scale

    def __call__(self, activations, class_codes, memberships):
        """Compute the loss of a minibatch.

        Parameters
        ----------
        activations : Tensor of shape (n, n_bits), float
            Activations.

        class_codes : Tensor of shape (n_classes, n_bits), float
            Codes of -1 and +1.

        memberships : Tensor of shape (n, n_classes), float
            1 where a sample belongs to a class, 0 elsewhere.

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

    def _bind(self, training, classes):
        codes = training.tensor(classes.codes)

        def step(batch):
            memberships = classes.memberships[batch.samples].toarray()
            return self(batch.bits, batch.keep(codes), training.tensor(memberships))

        return step
