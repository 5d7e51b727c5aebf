"""The loop of `improve_words` over rows and words, compiled when this is imported."""

from numba import boolean, float32, int64, njit, types, uint8

_PRODUCTS = types.Array(float32, 2, "C", readonly=True)
_LEAST_GAIN = float32(1e-5)
_TINY, _LOWEST = float32(1e-30), float32(-3e38)


@njit(
    [int64(float32[:, ::1], _PRODUCTS, uint8[:, ::1], int64, int64, boolean)],
    fastmath=True,
    nogil=True,
)
def compiled_improve(correlations, products, words, n_values, n_sweeps, free):
    """Do what `improve_words` does, in place; return the number of changes."""
    n_rows, n_words = words.shape
    n_vectors = n_words * n_values
    of_itself = products[0].copy()
    for place in range(n_vectors):
        of_itself[place] = products[place, place]
    sums, merits = of_itself.copy(), of_itself[:n_values].copy()
    n_changes = 0
    for row in range(n_rows):
        chosen, ahead = words[row], correlations[row]
        sums[:] = products[int64(chosen[0])]
        for word in range(1, n_words):
            part = products[word * n_values + chosen[word]]
            for place in range(n_vectors):
                sums[place] += part[place]
        along = float32(0)
        squares = float32(0)
        for word in range(n_words):
            place = word * n_values + chosen[word]
            along += ahead[place]
            squares += sums[place]
        for _ in range(n_sweeps):
            n_before = n_changes
            for word in range(n_words):
                first = word * n_values
                now = first + chosen[word]
                of_others = sums[now] - of_itself[now]
                along_others = along - ahead[now]
                squares_others = squares - of_others - of_others - of_itself[now]
                highest = _LOWEST
                own = products[now]
                for value in range(n_values):
                    place = first + value
                    ahead_now = along_others + ahead[place]
                    of_others = sums[place] - own[place]
                    square = squares_others + of_others + of_others + of_itself[place]
                    if free:
                        merit = ahead_now * abs(ahead_now) / max(square, _TINY)
                    else:
                        merit = ahead_now + ahead_now - square
                    merits[value] = merit
                    highest = max(highest, merit)
                merit = merits[chosen[word]]
                if highest <= merit + _LEAST_GAIN * abs(merit):
                    continue
                best = 0
                while merits[best] != highest:
                    best += 1
                new = first + best
                of_others = sums[new] - products[now, new]
                along = along_others + ahead[new]
                squares = squares_others + of_others + of_others + of_itself[new]
                added = products[new]
                for place in range(n_vectors):
                    sums[place] += added[place] - own[place]
                chosen[word] = best
                n_changes += 1
            if n_changes == n_before:
                break
    return n_changes
