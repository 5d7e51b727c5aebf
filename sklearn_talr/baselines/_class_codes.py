"""Codes that classes are given before training, as far apart as can be."""

import numpy as np
import scipy.sparse as sp
from scipy.linalg import hadamard

from .._arrays import as_numpy
from ..affinity import LabelAffinity, SharedLabelAffinity
from ..affinity._forms import lists_as_array

# Of so many sets of random codes the best is taken; of many classes, fewer sets are drawn
# and the first classes decide, so that time is linear in the number of classes.
_N_DRAWS = 100
_MOST_COMPARED = 1000


def class_affinity(hasher, y):
    """Choose the oracle of labels or label indicators: nothing else names classes."""
    if y is None:
        raise ValueError(
            f"{type(hasher).__name__} requires y to be passed, but the target y is None. "
            "Pass class labels or label indicators."
        )
    y = y if sp.issparse(y) else np.asarray(lists_as_array(as_numpy(y)))
    one_label = y.ndim == 1 or y.shape[1:] == (1,)
    return LabelAffinity() if one_label else SharedLabelAffinity()


class ClassCodes:
    """Classes of training samples, and a code for each class.

    Parameters
    ----------
    data : TrainingData
        Targets, labels or label indicators.

    n_bits : int
        Length of a code.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Labels of the classes, or the columns of label indicators.

    memberships : CSR of shape (n_samples, n_classes), dtype float32
        1 where a sample belongs to a class.

    codes : ndarray of shape (n_classes, n_bits) or None
        Codes of -1 and +1, None until they are drawn.
    """

    def __init__(self, data, n_bits):
        self.classes, self.memberships = class_memberships(data.affinity, data.targets)
        self.n_bits = n_bits
        self.codes = None

    def go_on_from(self, classes, codes):
        """Keep the codes of an earlier fit, which must have known the same classes."""
        if not np.array_equal(classes, self.classes):
            raise ValueError(
                "warm_start=True cannot change the classes. Call fit with "
                "warm_start=False to start anew."
            )
        self.codes = codes

    def draw(self, rng):
        """Draw the codes, unless they are there already, and return them."""
        if self.codes is None:
            self.codes = draw_class_codes(len(self.classes), self.n_bits, rng)
        return self.codes

    def draw_majority(self, rng):
        """Draw what each sample aims at, see :func:`majority_codes`."""
        return majority_codes(self.memberships, self.codes, rng)


def draw_class_codes(n_classes, n_bits, rng):
    """Draw a code for each class, of -1 and +1, shape (n_classes, n_bits).

    Rows of a Hadamard matrix and their negatives, which differ in half of the bits or in
    all, if `n_bits` is a power of two and they suffice. Otherwise random codes of as many
    -1 as +1: of some sets the one whose nearest two codes are farthest apart.
    """
    if n_bits & (n_bits - 1) == 0 and n_classes <= 2 * n_bits:
        rows = hadamard(n_bits)[rng.permutation(n_bits)]
        return np.vstack([rows, -rows])[:n_classes].astype(np.float64)
    half = np.resize([1.0, -1.0], n_bits)
    n_draws = max(1, min(_N_DRAWS, _N_DRAWS * _MOST_COMPARED // n_classes))
    draws = (
        np.array([rng.permutation(half) for _ in range(n_classes)]) for _ in range(n_draws)
    )
    return min(draws, key=_largest_inner_product)


def _largest_inner_product(codes):
    codes = codes[:_MOST_COMPARED]
    products = codes @ codes.T
    np.fill_diagonal(products, -np.inf)
    return products.max()


def class_memberships(affinity, targets):
    """Classes, and which of them each sample belongs to.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        Labels of the classes, or the columns of label indicators.

    memberships : CSR of shape (n_samples, n_classes), dtype float32
        Ones. A dense array would be quadratic where classes grow with the samples.
    """
    classes, memberships = affinity.memberships(targets)
    if classes is None:
        classes = np.arange(memberships.shape[1])
    return classes, memberships.astype(np.float32)


def majority_codes(memberships, class_codes, rng):
    """For each sample, of each bit what most of its classes have; ties are drawn.

    A sample of no class has 0 everywhere.
    """
    votes = memberships @ class_codes
    drawn = rng.choice([-1.0, 1.0], size=votes.shape)
    codes = np.where(votes == 0, drawn, np.sign(votes))
    return codes * (memberships.sum(axis=1) > 0)[:, None]
