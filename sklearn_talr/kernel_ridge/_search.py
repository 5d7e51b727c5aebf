"""Walk on a grid of parameters to the most likely ones nearby."""

__all__ = ["climb"]


def climb(evaluate, start, sizes):
    """Walk on a grid to a point that has no better neighbor.

    Parameters
    ----------
    evaluate : callable
        Of a point, a tuple of int: any object whose attribute ``loss`` is to be small.

    start : tuple of int
        Where to begin.

    sizes : tuple of int
        Number of values of each coordinate.

    Returns
    -------
    point : tuple of int
        Where the walk ended.

    best : object
        What `evaluate` returned there.
    """
    point, best, seen = start, evaluate(start), {start}
    while True:
        before = point
        for other in _neighbors(before, sizes):
            if other not in seen:
                seen.add(other)
                found = evaluate(other)
                if found.loss < best.loss:
                    point, best = other, found
        if point == before:
            return point, best


def _neighbors(point, sizes):
    for axis, size in enumerate(sizes):
        for value in (point[axis] - 1, point[axis] + 1):
            if 0 <= value < size:
                yield (*point[:axis], value, *point[axis + 1 :])
