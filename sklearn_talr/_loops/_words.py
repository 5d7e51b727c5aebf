"""Words of eight bits by iterated local search; bits by coordinate descent.

=========  ==================================================================
symbol     meaning
=========  ==================================================================
z          a row, a direction
k          its words; word g is the number of a codeword of codebook g
u          inner product of z with the sum of these codewords
s          squared length of that sum
=========  ==================================================================

The words of a row are to maximize ``u |u| / s``, the squared cosine with its sign. One
word at a time is set to what is best while the others stay, which is iterated conditional
modes; then some words are drawn anew and all are improved once more (Martinez et al.,
"LSQ++", ECCV 2018).
"""

from typing import NamedTuple

import numpy as np

from ._compile import compiled, copy_to
from ._lanes import best_entry

# A codebook has so many codewords.
_CODEWORDS = 256
# New words are swept at most so many times at first.
_SWEEPS_OF_NEW_WORDS = 10
# No improvement is expected after so many rounds in vain. With 3 the decoding error of 64
# bits of few dimensions is 3 % higher, and encoding takes a tenth less time.
_PATIENCE = 5
# A round turns one sign for each so many bits, and one more.
_BITS_PER_TURN = 32
_SWEEPS_AFTER_TURNS = 2


class Codewords(NamedTuple):
    """The codewords of all codebooks, codebook by codebook."""

    table: np.ndarray  # (n_codewords, n_codewords), int16, inner products in units
    units: np.ndarray  # (n_codewords,), float32, inner product that is 1 in each row
    squares: np.ndarray  # (n_codewords,), float32, squared lengths


class WordSearch(NamedTuple):
    """How long words are searched for."""

    n_rounds: int  # how often words are drawn anew
    n_sweeps: int  # greatest number of looks at every word in a round
    share: float  # share of the words that are drawn anew in a round
    is_new: bool  # whether words are chosen one after another first


class WordsOfRow(NamedTuple):
    """Words of one row, and the inner products of their sum with all codewords.

    Inner products with codewords of the same codebook are left out.
    """

    words: np.ndarray  # (n_words,), int64
    inner: np.ndarray  # (n_codewords,), float32


class SignsOfRow(NamedTuple):
    """Signs of one row, and inner products with the vectors of bits."""

    along: np.ndarray  # (n_bits,), float32, inner products of the row
    signs: np.ndarray  # (n_bits,), float32
    inner: np.ndarray  # (n_bits,), float32, inner products of the sum of signed vectors


@compiled
def _mixed(state, number):
    """The state of a generator after one more number of its seed."""
    return (state ^ np.uint64(number)) * np.uint64(0x100000001B3)


@compiled
def _next_state(state):
    """The next state of a generator, by shifts."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state


@compiled
def _add_codeword(inner, codewords, new):
    """Add the inner products with the codeword `new`."""
    products = codewords.table[new]
    unit = codewords.units[new]
    for place in range(len(inner)):
        inner[place] += unit * np.float32(products[place])


@compiled
def _exchange_codewords(inner, codewords, new, old):
    """Add the inner products with the codeword `new`, and take off those with `old`."""
    new_products = codewords.table[new]
    old_products = codewords.table[old]
    new_unit = codewords.units[new]
    old_unit = codewords.units[old]
    for place in range(len(inner)):
        inner[place] += new_unit * np.float32(new_products[place])
        inner[place] -= old_unit * np.float32(old_products[place])


@compiled
def search_words(products, codewords, words, search):
    """Choose the words of rows, in place; return how many have changed.

    Parameters
    ----------
    products : ndarray of shape (n_rows, n_codewords), dtype float32
        Inner products of rows and codewords.

    codewords : Codewords
        Their table of inner products has zeros between codewords of one codebook. Most of
        the time goes into reading it.

    words : ndarray of shape (n_rows, n_words), dtype uint8
        Words to start from.

    search : WordSearch
    """
    n_words = words.shape[1]
    n_codewords = len(codewords.squares)
    row_words = WordsOfRow(np.empty(n_words, np.int64), np.empty(n_codewords, np.float32))
    best = WordsOfRow(np.empty(n_words, np.int64), np.empty(n_codewords, np.float32))
    n_changed = 0
    for row in range(len(words)):
        along = products[row]
        u, s = _first_words(along, codewords, row_words, words[row], search.is_new)
        n_sweeps = _SWEEPS_OF_NEW_WORDS if search.is_new else search.n_sweeps
        u, s = _improve_words(along, codewords, row_words, u, s, n_sweeps)
        _search_in_rounds(along, codewords, row_words, best, u, s, search)
        for word in range(n_words):
            n_changed += words[row, word] != row_words.words[word]
            words[row, word] = row_words.words[word]
    return n_changed


@compiled
def _first_words(along, codewords, row_words, start, is_new):
    """Take words to start from, or choose one after another; return u and s."""
    squares = codewords.squares
    inner = row_words.inner
    inner[:] = 0
    u = np.float32(0)
    s = np.float32(0)
    for word in range(len(start)):
        first = _CODEWORDS * word
        value = np.int64(start[word])
        if is_new:
            value = best_entry(along, squares, inner, first, u, s)
        codeword = first + value
        u += along[codeword]
        s += squares[codeword] + np.float32(2) * inner[codeword]
        _add_codeword(inner, codewords, codeword)
        row_words.words[word] = value
    return u, s


@compiled
def _improve_words(along, codewords, row_words, u, s, n_sweeps):
    """Set each word to its best codeword in turn, until none changes; return u and s."""
    squares = codewords.squares
    words = row_words.words
    inner = row_words.inner
    n_words = len(words)
    n_unchanged = 0
    for turn in range(n_sweeps * n_words):
        word = turn % n_words
        first = _CODEWORDS * word
        old = first + words[word]
        u_without = u - along[old]
        s_without = s - squares[old] - np.float32(2) * inner[old]
        value = best_entry(along, squares, inner, first, u_without, s_without)
        new = first + value
        n_unchanged += 1
        if new != old:
            u = u_without + along[new]
            s = s_without + squares[new] + np.float32(2) * inner[new]
            _exchange_codewords(inner, codewords, new, old)
            words[word] = value
            n_unchanged = 0
        if n_unchanged == n_words:
            break
    return u, s


@compiled
def _search_in_rounds(along, codewords, row_words, best, u, s, search):
    """Draw some words anew, improve all, and go back if that has led to nothing better."""
    # A row draws by its own words: so its code does not depend on other rows.
    state = np.uint64(0x9E3779B97F4A7C15)
    for word in range(len(row_words.words)):
        state = _mixed(state, row_words.words[word])
    n_in_vain = 0
    for _ in range(search.n_rounds):
        if n_in_vain == _PATIENCE:
            break
        copy_to(best.words, row_words.words)
        copy_to(best.inner, row_words.inner)
        best_u = u
        best_s = s
        u, s, state = _draw_words(along, codewords, row_words, u, s, search.share, state)
        u, s = _improve_words(along, codewords, row_words, u, s, search.n_sweeps)
        n_in_vain += 1
        if u * abs(u) / s > best_u * abs(best_u) / best_s:
            n_in_vain = 0
        else:
            copy_to(row_words.words, best.words)
            copy_to(row_words.inner, best.inner)
            u = best_u
            s = best_s


@compiled
def _draw_words(along, codewords, row_words, u, s, share, state):
    """Draw some words anew; return u, s and the state of the generator."""
    squares = codewords.squares
    words = row_words.words
    inner = row_words.inner
    for word in range(len(words)):
        state = _next_state(state)
        if (state >> np.uint64(40)) & np.uint64(0xFFFF) < share * 65536:
            value = np.int64((state >> np.uint64(20)) & np.uint64(_CODEWORDS - 1))
            old = _CODEWORDS * word + words[word]
            new = _CODEWORDS * word + value
            u += along[new] - along[old]
            s += squares[new] - squares[old]
            s += np.float32(2) * (inner[new] - inner[old])
            _exchange_codewords(inner, codewords, new, old)
            words[word] = value
    return u, s, state


@compiled
def search_bits(products, gram, inner, signs, n_rounds, n_sweeps):
    """Choose the signs of rows, in place; return how many have changed.

    Parameters
    ----------
    products : ndarray of shape (n_rows, n_bits), dtype float32
        Inner products of rows and the vectors of bits.

    gram : ndarray of shape (n_bits, n_bits), dtype float32
        Inner products of these vectors.

    inner : ndarray of shape (n_rows, n_bits), dtype float32
        Inner products of the vectors and their sums with the signs; overwritten.

    signs : ndarray of shape (n_rows, n_bits), dtype float32
        Signs to start from, -1 or 1.

    n_rounds : int
        How often some signs are turned, and all improved once more.

    n_sweeps : int
        At most so often every sign is looked at before that.
    """
    n_bits = len(gram)
    # A constant would have a type of its own, and the function be compiled once more.
    n_sweeps_after_turns = min(n_sweeps, _SWEEPS_AFTER_TURNS)
    first_signs = np.empty(n_bits, dtype=np.float32)
    best_signs = np.empty(n_bits, dtype=np.float32)
    best_inner = np.empty(n_bits, dtype=np.float32)
    n_changed = 0
    for number in range(len(signs)):
        row = SignsOfRow(products[number], signs[number], inner[number])
        copy_to(first_signs, row.signs)
        u = np.float32(0)
        s = np.float32(0)
        for bit in range(n_bits):
            u += row.signs[bit] * row.along[bit]
            s += row.signs[bit] * row.inner[bit]
        u, s = _improve_signs(row, gram, u, s, n_sweeps)
        # A row turns signs by its own ones: so its code does not depend on other rows.
        state = np.uint64(0x9E3779B97F4A7C15)
        for bit in range(n_bits):
            state = _mixed(state, row.signs[bit] > 0)
        for _ in range(n_rounds):
            copy_to(best_signs, row.signs)
            copy_to(best_inner, row.inner)
            best_u = u
            best_s = s
            for _ in range(1 + n_bits // _BITS_PER_TURN):
                state = _next_state(state)
                bit = np.int64((state >> np.uint64(20)) % np.uint64(n_bits))
                u, s = _turn(row, gram, u, s, bit)
            u, s = _improve_signs(row, gram, u, s, n_sweeps_after_turns)
            if not u * abs(u) * best_s > best_u * abs(best_u) * s:
                copy_to(row.signs, best_signs)
                copy_to(row.inner, best_inner)
                u = best_u
                s = best_s
        for bit in range(n_bits):
            n_changed += first_signs[bit] != row.signs[bit]
    return n_changed


@compiled
def _improve_signs(row, gram, u, s, n_sweeps):
    """Turn each sign that turns the sum nearer to the row; return u and s."""
    for _ in range(n_sweeps):
        n_turned = 0
        for bit in range(len(gram)):
            twice = np.float32(2) * row.signs[bit]
            product = u - twice * row.along[bit]
            square = s + np.float32(4) * gram[bit, bit]
            square -= np.float32(2) * twice * row.inner[bit]
            if product * abs(product) * s > u * abs(u) * square:
                u, s = _turn(row, gram, u, s, bit)
                n_turned += 1
        if n_turned == 0:
            break
    return u, s


@compiled
def _turn(row, gram, u, s, bit):
    """Turn a sign; return u and s."""
    inner = row.inner
    twice = np.float32(2) * row.signs[bit]
    u -= twice * row.along[bit]
    s += np.float32(4) * gram[bit, bit] - np.float32(2) * twice * inner[bit]
    for place in range(len(inner)):
        inner[place] -= twice * gram[bit, place]
    row.signs[bit] = -row.signs[bit]
    return u, s


@compiled
def count_pairs(words, counts):
    """Add how many rows have each pair of codewords, for the pairs of words in order."""
    n_rows, n_words = words.shape
    for first in range(n_words):
        for row in range(n_rows):
            codeword_counts = counts[_CODEWORDS * first + words[row, first]]
            for second in range(first, n_words):
                codeword_counts[_CODEWORDS * second + words[row, second]] += 1


@compiled
def round_axes(products, steps, widths, bits):
    """Write the bits of the intervals along axes, of equal width, in which rows lie.

    Parameters
    ----------
    products : ndarray of shape (n_rows, n_axes), dtype float32
        Place of each row along each axis.

    steps : ndarray of shape (n_axes,), dtype float32
        Width of an interval.

    widths : ndarray of shape (n_axes,), dtype int64
        Number of bits of each axis, which has ``2**width`` intervals about 0.

    bits : ndarray of shape (n_rows, n_bits), dtype uint8
        Receives the bits, the lowest of each axis first.
    """
    for row in range(len(products)):
        bit = 0
        for axis in range(len(widths)):
            half = 1 << (widths[axis] - 1)
            interval = np.floor(products[row, axis] / steps[axis]) + half
            level = int(min(max(interval, 0), 2 * half - 1))
            for place in range(widths[axis]):
                bits[row, bit + place] = level >> place & 1
            bit += widths[axis]


@compiled
def measure_axes(data, lengths, along, is_last, squares, products):
    """Measure the vectors of codes whose bits are steps along axes.

    Parameters
    ----------
    data : ndarray of shape (n_codes, n_bytes), dtype uint8
        Packed codes in little bit order.

    lengths, along : ndarrays of shape (n_bits,), dtype float64
        Length of the vector of each bit, and its inner product with a direction.

    is_last : ndarray of shape (n_bits,) of bool
        Whether a bit is the last of its axis.

    squares, products : ndarrays of shape (n_codes,), dtype float64
        Receive the squared lengths, and the inner products with that direction.
    """
    for row in range(len(data)):
        step = 0.0
        square = 0.0
        product = 0.0
        for bit in range(len(lengths)):
            sign = 2.0 * (data[row, bit >> 3] >> (bit & 7) & 1) - 1.0
            step += sign * lengths[bit]
            product += sign * along[bit]
            if is_last[bit]:
                square += step * step
                step = 0.0
        squares[row] = square
        products[row] = product
