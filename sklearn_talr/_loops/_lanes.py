"""Instructions that compare a code with many queries, or a query with many codes, at once.

Why they are written out
------------------------
A processor adds 32 numbers of 16 bits in one instruction. Compilers find such instructions
in simple loops. In the loops here they do not: the row of a table that is added depends on
a byte of a code, and the result is a mask of bits, not an array. So each function below
writes its instructions in the language of LLVM, by vectors of a fixed length, and LLVM
translates them for whatever processor there is: one instruction on a wide one, several on
an old one. All give the same answers.

A function of numba that is made so is an *intrinsic*: it gets the types of its arguments,
and returns the type of its result and a function that writes instructions with a
*builder*, one call an instruction. Nothing is computed when that function runs; it runs
once, when a loop that calls the intrinsic is compiled.

A *lane* is a place in a vector. In `queries_near` each lane is a query, in `codes_near`
each lane is a code, and `query_near` has one lane.

What they compute
-----------------
Each lane has a *cost*, a whole number: in how many steps a score falls short of the highest
score of the query. A lane is near if its cost is at most the line of its query, taken at
the terms of its code,

    line[0] + line[1] * term[0] + line[2] * term[1],

and also if that sum is NaN. The result is a mask of 32 bits with a one for each lane that
is near. In NumPy, for codes whose words are in ``columns[:, code]``:

>>> import numpy as np
>>> def costs_by_tables(tables, columns, code):
...     '''Sum one row of a table of shape (n_bytes, 256, n_lanes) for each byte.'''
...     octets = np.ascontiguousarray(columns[:, code]).view(np.uint8)
...     return sum(tables[byte, value] for byte, value in enumerate(octets))
>>> def cost_by_planes(planes, columns, code):
...     '''Weigh the bits that differ from the signs by four bits of magnitudes.'''
...     differing = columns[:, code] ^ planes[:, 0]
...     ones = [np.bitwise_count(differing & planes[:, 1 + i]).sum() for i in range(4)]
...     return sum(int(count) << i for i, count in enumerate(ones))
>>> def mask_of(costs, lines, terms):
...     '''A bit for each lane whose cost is at most the line, in float32.'''
...     limits = lines[0] + lines[1] * terms[0] + lines[2] * terms[1]
...     is_far = np.float32(costs) > limits
...     return sum(1 << lane for lane in range(len(is_far)) if not is_far[lane])

`queries_near` and `query_near` are ``mask_of(costs_by_tables(...), lines, terms)`` for the
lines of 32 queries or of one, and the terms of one code. `codes_near` is ``mask_of`` of the
costs by planes of eight codes in a row, for the line of one query and the terms of each.
`best_entry` chooses one of the 256 codewords of a codebook, see there.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

QUERIES = 32  # lanes of `queries_near`, numbers of 16 bits: 64 bytes, the widest vectors
CODES = 8  # lanes of `codes_near`, words of 64 bits
_ENTRIES = 32  # lanes of `best_entry`, float32
_INT64 = ir.IntType(64)
_INT32 = ir.IntType(32)
_FLOAT32 = ir.FloatType()
_BYTES_OF_FLOAT32 = _INT64(4)
# Below this squared length a sum of codewords has no direction, and is not divided by.
_MIN_SQUARED_LENGTH = 1e-20


def _load(builder, start, offset, value_type):
    """Load a value that lies so many bytes behind a start, aligned or not."""
    address = builder.inttoptr(builder.add(start, offset), value_type.as_pointer())
    return builder.load(address, align=1)


def _count_up(first, n_lanes):
    """The vector first, first + 1, ..."""
    numbers = [*range(first, first + n_lanes)]
    return ir.VectorType(_INT32, n_lanes)(numbers)


def _repeat(builder, value, n_lanes):
    """A vector with one value in all lanes."""
    vector = ir.VectorType(value.type, n_lanes)(ir.Undefined)
    vector = builder.insert_element(vector, value, _INT32(0))
    zeros = ir.VectorType(_INT32, n_lanes)(None)
    return builder.shuffle_vector(vector, vector, zeros)


def _call(builder, name, vector):
    """Call a function of LLVM that makes a vector from one of the same type."""
    function_type = ir.FunctionType(vector.type, [vector.type])
    function = cgutils.get_or_insert_function(builder.module, function_type, name)
    return builder.call(function, [vector])


def _open_arrays(context, builder, array_types, values):
    """Arrays with their shapes and strides, from the first of the arguments."""
    return [
        context.make_array(array_type)(context, builder, value)
        for array_type, value in zip(array_types, values)
    ]


def _start_of(builder, array):
    return builder.ptrtoint(array.data, _INT64)


def _add_table_costs(builder, costs, tables, column, word, n_bytes_of_word):
    """Add the costs of the bytes of a word by a table (n_bytes, 256, n_lanes), uint16."""
    n_bytes_of_row = 2 * costs.type.count
    n_bytes_of_table = 256 * n_bytes_of_row
    tables_of_word = builder.mul(word, _INT64(n_bytes_of_word * n_bytes_of_table))
    tables = builder.add(tables, tables_of_word)
    for byte in range(n_bytes_of_word):
        value = builder.zext(_load(builder, column, _INT64(byte), ir.IntType(8)), _INT64)
        row = builder.mul(value, _INT64(n_bytes_of_row))
        table = builder.add(tables, _INT64(byte * n_bytes_of_table))
        costs = builder.add(costs, _load(builder, table, row, costs.type))
    return costs


def _add_plane_costs(builder, costs, planes, column, word, n_bytes_of_word):
    """Add the costs of a word of codes by planes (n_words, 5): signs, and four bits."""

    def load_plane(place):
        start = builder.add(builder.mul(word, _INT64(5 * 8)), _INT64(8 * place))
        return _repeat(builder, _load(builder, planes, start, _INT64), CODES)

    words = _load(builder, column, _INT64(0), costs.type)
    differing = builder.xor(words, load_plane(0))
    for place in range(4):
        ones = builder.and_(differing, load_plane(1 + place))
        counts = _call(builder, f"llvm.ctpop.v{CODES}i64", ones)
        shift = _repeat(builder, _INT64(place), CODES)
        costs = builder.add(costs, builder.shl(counts, shift))
    return costs


def _write_limits(builder, lines, terms, place, n_lanes, *, lanes_are_codes):
    """Write the sum that costs are compared with: lines times terms, a lane each.

    Lines have a row of `QUERIES` numbers each, of which a single query has the first.
    """

    def load_number(start, offset, is_vector):
        if is_vector:
            return _load(builder, start, offset, ir.VectorType(_FLOAT32, n_lanes))
        return _repeat(builder, _load(builder, start, offset, _FLOAT32), n_lanes)

    line = [
        load_number(_start_of(builder, lines), _INT64(4 * QUERIES * i), not lanes_are_codes)
        for i in range(3)
    ]
    place_of_code = builder.mul(place, _BYTES_OF_FLOAT32)
    n_bytes_of_row = builder.mul(builder.extract_value(terms.shape, 1), _BYTES_OF_FLOAT32)
    limits = line[0]
    for i in range(2):
        offset = builder.add(place_of_code, builder.mul(n_bytes_of_row, _INT64(i)))
        term = load_number(_start_of(builder, terms), offset, lanes_are_codes)
        limits = builder.fadd(limits, builder.fmul(line[1 + i], term))
    return limits


def _comparing_instruction(n_lanes, bits_of_costs, add_costs, *, lanes_are_codes):
    """Make one of the three instructions that return a mask of what is near.

    Parameters
    ----------
    n_lanes : int
        Queries or codes side by side.

    bits_of_costs : int
        Bits of the whole numbers that costs are summed in.

    add_costs : callable
        Writes the instructions that add the costs of one word of the codes.

    lanes_are_codes : bool
        Whether a lane is a code, and not a query.
    """
    cost_vector = ir.VectorType(ir.IntType(bits_of_costs), n_lanes)

    @intrinsic
    def near(typing_context, tables, columns, terms, lines, code, place):
        array_types = tables, columns, terms, lines

        def generate(context, builder, signature, values):
            arrays = _open_arrays(context, builder, array_types, values)
            tables_start = _start_of(builder, arrays[0])
            words_of_codes = arrays[1]
            n_bytes_of_word = columns.dtype.bitwidth // 8
            offset = builder.mul(values[4], _INT64(n_bytes_of_word))
            first_word = builder.add(_start_of(builder, words_of_codes), offset)
            n_words = builder.extract_value(words_of_codes.shape, 0)
            stride = builder.extract_value(words_of_codes.strides, 0)
            sums = cgutils.alloca_once_value(builder, cost_vector(None))
            with cgutils.for_range(builder, n_words, intp=_INT64) as loop:
                column = builder.add(first_word, builder.mul(loop.index, stride))
                costs = add_costs(
                    builder,
                    builder.load(sums),
                    tables_start,
                    column,
                    loop.index,
                    n_bytes_of_word,
                )
                builder.store(costs, sums)
            limits = _write_limits(
                builder,
                arrays[3],
                arrays[2],
                values[5],
                n_lanes,
                lanes_are_codes=lanes_are_codes,
            )
            numbers = builder.uitofp(builder.load(sums), ir.VectorType(_FLOAT32, n_lanes))
            is_near = builder.fcmp_unordered("<=", numbers, limits)
            mask = builder.bitcast(is_near, ir.IntType(n_lanes))
            return mask if n_lanes == 32 else builder.zext(mask, _INT32)

        return types.uint32(tables, columns, terms, lines, code, place), generate

    return near


queries_near = _comparing_instruction(QUERIES, 16, _add_table_costs, lanes_are_codes=False)
query_near = _comparing_instruction(1, 16, _add_table_costs, lanes_are_codes=False)
codes_near = _comparing_instruction(CODES, 64, _add_plane_costs, lanes_are_codes=True)


@intrinsic
def best_entry(typing_context, along, squares, inner, first, u, s):
    """The best of 256 codewords, when the other words of a row have sums u and s.

    Entries `first` to ``first + 255`` of the arrays are those of the codebook: `along` has
    inner products with the row, `squares` squared lengths, and `inner` inner products with
    the other words. In NumPy, in float32::

        product = u + along[first : first + 256]
        square = s + squares[first : first + 256] + 2 * inner[first : first + 256]
        return np.argmax(product * abs(product) / np.maximum(square, 1e-20))

    Of two entries that one is better whose numerator times the other denominator is larger;
    nothing is divided. Of entries that are equally good any one may be returned.
    """

    def generate(context, builder, signature, values):
        arrays = _open_arrays(context, builder, (along, squares, inner), values)
        first_byte = builder.mul(values[3], _BYTES_OF_FLOAT32)
        starts = [builder.add(_start_of(builder, array), first_byte) for array in arrays]
        u_vector = _repeat(builder, values[4], _ENTRIES)
        s_vector = _repeat(builder, values[5], _ENTRIES)
        best = None
        for entry in range(0, 256, _ENTRIES):
            block = _merits(builder, starts, entry, u_vector, s_vector)
            best = _better(builder, best, block) if best else block
        # Halves of the vector are compared until one lane is left.
        for n_lanes in (16, 8, 4, 2, 1):
            low = _count_up(0, n_lanes)
            high = _count_up(n_lanes, n_lanes)
            best = _better(
                builder,
                [builder.shuffle_vector(vector, vector, low) for vector in best],
                [builder.shuffle_vector(vector, vector, high) for vector in best],
            )
        place = builder.extract_element(best[2], _INT32(0))
        return builder.zext(place, _INT64)

    return types.int64(along, squares, inner, first, u, s), generate


def _merits(builder, starts, entry, u, s):
    """Numerators, denominators and numbers of the entries from one on, a lane each."""
    offset = _INT64(4 * entry)
    vector_type = ir.VectorType(_FLOAT32, _ENTRIES)
    along, square, inner = (_load(builder, start, offset, vector_type) for start in starts)
    two = _repeat(builder, _FLOAT32(2.0), _ENTRIES)
    least = _repeat(builder, _FLOAT32(_MIN_SQUARED_LENGTH), _ENTRIES)
    product = builder.fadd(u, along)
    numerator = builder.fmul(product, _call(builder, "llvm.fabs.v32f32", product))
    square = builder.fadd(builder.fadd(s, square), builder.fmul(two, inner))
    is_large = builder.fcmp_ordered(">", square, least)
    denominator = builder.select(is_large, square, least)
    return [numerator, denominator, _count_up(entry, _ENTRIES)]


def _better(builder, one, other):
    """Of two entries in each lane, the one of the larger quotient; `one` if they tie."""
    quotient_of_other = builder.fmul(other[0], one[1])
    quotient_of_one = builder.fmul(one[0], other[1])
    is_better = builder.fcmp_ordered(">", quotient_of_other, quotient_of_one)
    return [builder.select(is_better, theirs, ours) for ours, theirs in zip(one, other)]
