"""A small quadratic program on a simplex, which is the dual of a bundle of cuts."""

import numpy as np

_FLAT = 1e-16  # least curvature, relative to the linear terms: too small to change a digit
_RIDGE = 1e-11  # added to the unit diagonal, because cuts may be linearly dependent
_TOLERANCE = 1e-10  # relative to the objective
_ROUNDS_PER_VARIABLE = 2


def minimize_on_simplex(gram, linear, total, start):
    """Minimize 1/2 x' gram x - linear' x over x >= 0, sum(x) = total, by active sets.

    The method is that of Lawson and Hanson for non-negative least squares: variables become
    positive one by one, and those that would become negative are set to 0 on the way.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Positive semi-definite matrix.

    linear : ndarray of shape (n,)
        Coefficients of the linear term.

    total : float
        Sum of the variables, greater than 0.

    start : ndarray of shape (n,)
        A feasible point. The solution of a problem with few variables less is a good one.

    Returns
    -------
    x : ndarray of shape (n,)
        Feasible point that is optimal up to rounding.
    """
    norms = np.sqrt(np.maximum(gram.diagonal(), _FLAT * np.abs(linear).max()))
    scale = np.divide(1, norms, out=np.ones_like(norms), where=norms > 0)
    unit = gram * scale * scale[:, None]  # in z = x / scale, for accuracy
    unit[np.diag_indices_from(unit)] += _RIDGE
    z = _descend(
        unit, linear * scale, scale / scale.max(), total / scale.max(), start / scale
    )
    x = z * scale
    return x * (total / x.sum())


def _descend(gram, linear, share, total, z):
    """Minimize 1/2 z' gram z - linear' z over z >= 0, share' z = total.

    The diagonal of `gram` is at most about 1. A variable enters the support even if that
    lowers the value by no more than rounding, because later variables may need it.
    """
    support, best, lowest = np.flatnonzero(z), z, np.inf
    for _ in range(_ROUNDS_PER_VARIABLE * len(linear)):  # rounding may lead in circles
        support, solution, multiplier = _minimize_on(
            gram, linear, share, total, support, z[support]
        )
        product = gram[:, support] @ solution
        value = solution @ (product[support] / 2 - linear[support])
        if value >= lowest + np.finfo(float).eps * np.abs(solution).sum() ** 2:
            return best
        lowest, best = min(lowest, value), np.zeros_like(linear)
        best[support] = solution
        slope = (product - linear) / share - multiplier
        slope[support] = 0  # as it is but for rounding: none of these may enter again
        entering = slope.argmin()
        if slope[entering] * total >= -_TOLERANCE * abs(value):
            return best
        support, z = np.append(support, entering), best
    return best


def _minimize_on(gram, linear, share, total, support, current):
    """Minimize on the support, and remove from it what would become negative."""
    while True:
        solution, multiplier = _solve(
            gram[np.ix_(support, support)], linear[support], share[support], total
        )
        shrinking = np.flatnonzero(solution < 0)
        if not len(shrinking):
            return support, solution, multiplier
        ratio = current[shrinking] / (current[shrinking] - solution[shrinking])
        current = current + ratio.min() * (solution - current)
        current[shrinking[ratio.argmin()]] = 0
        kept = current > 0
        support, current = support[kept], current[kept]


def _solve(gram, linear, share, total):
    """Return the minimum without bounds on signs, and the multiplier of the constraint."""
    n = len(gram)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = gram
    system[:n, n] = system[n, :n] = share
    solution = np.linalg.solve(system, np.append(linear, total))
    return solution[:n], -solution[n]
