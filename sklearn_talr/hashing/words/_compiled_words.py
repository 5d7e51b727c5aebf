"""The loop of `improve_words` over rows and words, compiled when this is imported."""

from numba import boolean, float32, int64, njit, types, uint8

_PRODUCTS = types.Array(float32, 2, "C", readonly=True)
_LEAST_GAIN = float32(1e-5)
_TINY, _LOWEST = float32(1e-30), float32(-3e38)


@njit(fastmath=True, inline="always")  # a call would hide which arrays overlap
def _add_up(chosen, products, n_values, sums):
    """Fill in the inner products of a decoding and every vector."""
    sums[:] = products[int64(chosen[0])]
    for word in range(1, len(chosen)):
        part = products[word * n_values + chosen[word]]
        for place in range(len(sums)):
            sums[place] += part[place]


@njit(fastmath=True, inline="always")
def _fill_merits(merits, along, squares, first, own, ahead, sums, alone, free):
    """Fill in the merits of the values of a word; return the highest."""
    highest = _LOWEST
    for value in range(len(merits)):
        place = first + value
        ahead_now = along + ahead[place]
        of_others = sums[place] - own[place]
        square = squares + of_others + of_others + alone[place]
        if free:
            merit = ahead_now * abs(ahead_now) / max(square, _TINY)
        else:
            merit = ahead_now + ahead_now - square
        merits[value] = merit
        highest = max(highest, merit)
    return highest


@njit(
    [int64(float32[:, ::1], _PRODUCTS, uint8[:, ::1], int64, int64, boolean)],
    fastmath=True,
    nogil=True,
)
def compiled_improve(correlations, products, words, n_values, n_sweeps, free):
    """Do what `improve_words` does, in place; return the number of changes."""
    alone = products[0].copy()
    for place in range(len(alone)):
        alone[place] = products[place, place]
    sums, merits = alone.copy(), alone[:n_values].copy()
    n_changes = 0
    for row in range(len(words)):
        chosen, ahead = words[row], correlations[row]
        _add_up(chosen, products, n_values, sums)
        along = squares = float32(0)
        for word in range(len(chosen)):
            along += ahead[word * n_values + chosen[word]]
            squares += sums[word * n_values + chosen[word]]
        for _ in range(n_sweeps):
            n_before = n_changes
            for word in range(len(chosen)):
                first = word * n_values
                now = first + chosen[word]
                own, of_others = products[now], sums[now] - alone[now]
                along_left = along - ahead[now]
                squares_left = squares - of_others - of_others - alone[now]
                highest = _fill_merits(
                    merits, along_left, squares_left, first, own, ahead, sums, alone, free
                )
                merit = merits[chosen[word]]
                if highest <= merit + _LEAST_GAIN * abs(merit):
                    continue
                best = 0
                while merits[best] != highest:
                    best += 1
                new = first + best
                of_others = sums[new] - own[new]
                along = along_left + ahead[new]
                squares = squares_left + of_others + of_others + alone[new]
                for place in range(len(sums)):
                    sums[place] += products[new, place] - own[place]
                chosen[word] = best
                n_changes += 1
            if n_changes == n_before:
                break
    return n_changes
