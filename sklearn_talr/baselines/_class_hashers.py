"""Hashers that draw samples to codes of their classes, given before training."""

from numbers import Real

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval

from ..affinity import LabelAffinity, SharedLabelAffinity
from ..hashing._inherited_params import inherits_parameters
from ..hashing._talr import TALRHasher
from ..hashing.gradient._trained import TrainedHasher
from ..hashing.losses._classes import CentralLoss, OrthogonalLoss
from ._class_codes import class_memberships, draw_class_codes, majority_codes
from ._pairwise import FUNCTION_PARAMS, TRAINING_PARAMS

__all__ = ["CSQHasher", "OrthoHasher"]

_FUNCTION = tuple(name for name in FUNCTION_PARAMS if name != "affinity")


class _ClassHasher(TrainedHasher):
    """Needs labels or label indicators, and knows no other affinity."""

    _trains_on_chunks = False
    _parameter_constraints: dict = {"n_bits": TALRHasher._parameter_constraints["n_bits"]}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _asked_affinity(self, y):
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. "
                "Pass class labels or label indicators."
            )
        y = y if sp.issparse(y) else np.asarray(y)
        one_label = y.ndim == 1 or y.shape[1:] == (1,)
        return LabelAffinity() if one_label else SharedLabelAffinity()

    def _settle_class_codes(self, targets, rng):
        """Codes of the classes, those of the last fit if it goes on; and memberships."""
        classes, memberships = class_memberships(self.affinity_, targets)
        if not (self.warm_start and hasattr(self, "class_codes_")):
            self.classes_ = classes
            self.class_codes_ = draw_class_codes(len(classes), self.n_bits, rng)
        elif not np.array_equal(classes, self.classes_):
            raise ValueError(
                "warm_start=True cannot change the classes. Call fit with "
                "warm_start=False to start anew."
            )
        return self.class_codes_, memberships


@inherits_parameters(TALRHasher, (*_FUNCTION, *TRAINING_PARAMS), weight_decay=2.0)
class OrthoHasher(_ClassHasher):
    r"""OrthoHash: one cosine loss to codes of the classes that are nearly orthogonal.

    Hoe et al., "One Loss for All: Deep Hashing with a Single Cosine Similarity based
    Learning Objective", NeurIPS 2021, eq. 6. Each class has a code c of -1 and +1, and
    the cosines of activations u with these codes are the logits of classes:

    .. math::

        -\ln \frac{e^{s (\cos(u, c_y) - m)}}
        {e^{s (\cos(u, c_y) - m)} + \sum_{k \ne y} e^{s \cos(u, c_k)}}.

    A sample of several classes has its probability shared among them equally.

    What differs from the original: no batch normalisation of the activations; codes are
    rows of a Hadamard matrix where they can be, or balanced and random ones; a linear or
    shallow function of given features, and the defaults of training. Samples of classes
    that were not trained on have no code of their own.

    Parameters
    ----------
    n_bits : int, default=32
        Number of bits of a code, at least 1.

    margin : float, default=0.4
        Margin m of the cosine, at least 0.

    cosine_scale : float, default=4.0
        Scale s of the cosine, above 0.

    {inherited parameters}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes, or the columns of label indicators.

    class_codes_ : ndarray of shape (n_classes, n_bits)
        Their codes, -1 and 1.

    {inherited attributes}

    See Also
    --------
    CSQHasher : Aims each bit at that of the class by itself.

    Examples
    --------
    {example}
    """

    _parameter_constraints: dict = {
        **_ClassHasher._parameter_constraints,
        "margin": [Interval(Real, 0, None, closed="left")],
        "cosine_scale": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, n_bits=32, *, margin=0.4, cosine_scale=4.0):
        self.n_bits = n_bits
        self.margin = margin
        self.cosine_scale = cosine_scale

    def _scales(self, continues):
        return None

    def _make_loss(self, levels, targets, scales, rng):
        class_codes, memberships = self._settle_class_codes(targets, rng)
        return OrthogonalLoss(
            class_codes, memberships, self.margin, self.cosine_scale, self, rng
        )


@inherits_parameters(TALRHasher, (*_FUNCTION, "tanh_scale", *TRAINING_PARAMS))
class CSQHasher(_ClassHasher):
    r"""CSQ: central similarity, each bit aims at that of a hash centre.

    Yuan et al., "Central Similarity Quantization for Efficient Image and Video Retrieval",
    CVPR 2020, eq. 4 to 8. Each class has a centre, a code far from those of other classes.
    The centre c of a sample of several classes has in each bit what most of theirs have;
    ties are drawn. With relaxed bits h = tanh(scale u) and centres of 0 and 1,

    .. math::

        -\sum_{ik} \left[ c_{ik} \ln \frac{1 + h_{ik}}{2} + (1 - c_{ik}) \ln \frac{1 -
        h_{ik}}{2} \right] + \lambda \sum_{ik} \ln \cosh(|h_{ik}| - 1).

    What differs from the original: a random set of balanced centres is the best of a
    hundred; both terms are means; a linear or shallow function of given features, and the
    defaults of training.

    Parameters
    ----------
    n_bits : int, default=32
        Number of bits of a code, at least 1.

    quantization_weight : float, default=0.0001
        Weight of the second term, at least 0.

    {inherited parameters}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes, or the columns of label indicators.

    class_codes_ : ndarray of shape (n_classes, n_bits)
        Their centres, -1 and 1.

    {inherited attributes}

    See Also
    --------
    OrthoHasher : Compares the code as a whole with those of all classes.

    Examples
    --------
    {example}
    """

    _parameter_constraints: dict = {
        **_ClassHasher._parameter_constraints,
        "quantization_weight": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, n_bits=32, *, quantization_weight=1e-4):
        self.n_bits = n_bits
        self.quantization_weight = quantization_weight

    def _make_loss(self, levels, targets, scales, rng):
        class_codes, memberships = self._settle_class_codes(targets, rng)
        codes = majority_codes(memberships, class_codes, rng)
        return CentralLoss(codes, self.quantization_weight, self, scales, rng)
