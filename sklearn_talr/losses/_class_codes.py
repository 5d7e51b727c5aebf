"""Codes that classes are given before training, as far apart as can be."""

import numpy as np
from scipy.linalg import hadamard

# The best of this many sets of random codes is taken. If there are many classes, fewer sets
# are drawn and only the first classes are compared: time is linear in their number.
_N_DRAWS = 100
_MOST_COMPARED = 1000


class ClassCodes:
    """Classes of training samples, and a code for each class.

    Parameters
    ----------
    training : Training
        Targets, which are labels or label indicators, and the generator that draws codes.
        A warm start keeps the codes of its earlier fit, which must have known the same
        classes.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Labels of the classes, or the columns of label indicators.

    memberships : CSR of shape (n_samples, n_classes), dtype float32
        1 where a sample belongs to a class.

    codes : ndarray of shape (n_classes, n_bits)
        Codes of -1 and +1.
    """

    def __init__(self, training):
        self.classes, self.memberships = class_memberships(
            training.affinity, training.targets
        )
        self.codes = training.earlier.get("class_codes_")
        if self.codes is None:
            self.codes = draw_class_codes(len(self.classes), training.n_bits, training.rng)
        elif not np.array_equal(training.earlier["classes_"], self.classes):
            raise ValueError(
                "warm_start=True cannot change the classes. Call fit with "
                "warm_start=False to start anew."
            )

    def draw_majority(self, rng):
        """Draw the center of each sample, see :func:`majority_codes`."""
        return majority_codes(self.memberships, self.codes, rng)


def draw_class_codes(n_classes, n_bits, rng):
    """Draw a code for each class, of -1 and +1, shape (n_classes, n_bits).

    Rows of a Hadamard matrix and their negatives, which differ in half of the bits or in
    all, if `n_bits` is a power of two and there are enough rows. Otherwise random codes of
    as many -1 as +1: the set, of some, whose nearest two codes are farthest apart.
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
    """Find the classes, and to which classes each sample belongs.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        Labels of the classes, or the columns of label indicators.

    memberships : CSR of shape (n_samples, n_classes), dtype float32
        Ones. A dense array would be quadratic where classes grow with the samples.
    """
    found = affinity.memberships(targets)
    if found is None:
        raise ValueError(
            f"The loss needs classes, which affinity={affinity!r} does not name. "
            "Pass class labels or label indicators as y, and leave affinity='auto'."
        )
    classes, memberships = found
    if classes is None:
        classes = np.arange(memberships.shape[1])
    return classes, memberships.astype(np.float32)


def majority_codes(memberships, class_codes, rng):
    """Return a center for each sample: each bit is that of most of its classes.

    Ties are drawn. The center of a sample of no class is 0 everywhere.
    """
    votes = memberships @ class_codes
    drawn = rng.choice([-1.0, 1.0], size=votes.shape)
    codes = np.where(votes == 0, drawn, np.sign(votes))
    return codes * (memberships.sum(axis=1) > 0)[:, None]
