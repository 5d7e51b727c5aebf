"""Checks of the two numbers that a question may bring along."""

from numbers import Integral, Real


def check_n_neighbors(n_neighbors, most):
    """A number of neighbors from 1 to `most`, as an int."""
    if not _is_integer(n_neighbors) or n_neighbors < 1:
        raise ValueError(f"n_neighbors must be a positive integer, got {n_neighbors!r}.")
    if n_neighbors > most:
        raise ValueError(
            f"n_neighbors={n_neighbors} is more than the {most} items to be found."
        )
    return int(n_neighbors)


def check_radius(radius, n_bits):
    """A radius from 0, as an int; beyond `n_bits` there is nothing more to find."""
    if not _is_integer(radius) or radius < 0:
        raise ValueError(f"radius must be an integer of at least 0, got {radius!r}.")
    return min(int(radius), n_bits)


def check_weighted_radius(radius):
    """A weighted distance from 0, as a float."""
    is_number = isinstance(radius, Real) and not isinstance(radius, bool)
    if not is_number or not radius >= 0:
        raise ValueError(f"radius must be a number of at least 0, got {radius!r}.")
    return float(radius)


def _is_integer(value):
    return isinstance(value, Integral) and not isinstance(value, bool)
