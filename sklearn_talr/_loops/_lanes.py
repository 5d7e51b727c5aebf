"""Instructions that compare a code with many queries, or a query with many codes, at once.

Vectors are written out here, since the compiler does not see through every loop; each
processor has instructions for them.

Costs are whole numbers, one for each *lane*. A lane is near where its cost is at most

    line[0] + line[1] * term[0] + line[2] * term[1],

where lines belong to queries and terms to codes.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_LONG, _FLOAT = ir.IntType(64), ir.FloatType()
QUERIES, CODES = 32, 8  # side by side


def _load(builder, start, offset, kind):
    place = builder.inttoptr(builder.add(start, offset), kind.as_pointer())
    return builder.load(place, align=1)


def _numbers(first, n_lanes):
    return ir.VectorType(ir.IntType(32), n_lanes)([*range(first, first + n_lanes)])


def _spread(builder, value, n_lanes):
    one = ir.VectorType(value.type, n_lanes)(ir.Undefined)
    one = builder.insert_element(one, value, ir.IntType(32)(0))
    zeros = ir.VectorType(ir.IntType(32), n_lanes)(None)
    return builder.shuffle_vector(one, one, zeros)


def _call(builder, name, value):
    """An instruction of LLVM of one vector, of which it makes another one."""
    kind = ir.FunctionType(value.type, [value.type])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [value])


def _enter(context, builder, kinds, values):
    """Arrays, which come before all other arguments, and where they start."""
    arrays = [
        context.make_array(kind)(context, builder, value)
        for kind, value in zip(kinds, values)
    ]
    return arrays, [builder.ptrtoint(array.data, _LONG) for array in arrays]


def _add_table_costs(builder, sums, tables, column, word, size):
    """Add to sums by a table of shape (n_bytes, 256, n_lanes), dtype uint16."""
    n_bytes = 2 * sums.type.count
    tables = builder.add(tables, builder.mul(word, _LONG(256 * size * n_bytes)))
    for byte in range(size):
        value = builder.zext(_load(builder, column, _LONG(byte), ir.IntType(8)), _LONG)
        row = builder.mul(value, _LONG(n_bytes))
        start = builder.add(tables, _LONG(256 * byte * n_bytes))
        sums = builder.add(sums, _load(builder, start, row, sums.type))
    return sums


def _add_plane_costs(builder, sums, planes, column, word, size):
    """Count ones by planes of shape (n_words, 5): signs, and four bits."""

    def plane(place):
        start = builder.add(builder.mul(word, _LONG(40)), _LONG(8 * place))
        return _spread(builder, _load(builder, planes, start, _LONG), CODES)

    differ = builder.xor(_load(builder, column, _LONG(0), sums.type), plane(0))
    for place in range(4):
        ones = builder.and_(differ, plane(1 + place))
        ones = _call(builder, f"llvm.ctpop.v{CODES}i64", ones)
        sums = builder.add(sums, builder.shl(ones, _spread(builder, _LONG(place), CODES)))
    return sums


def _instruction(n_lanes, bits, add, are_codes):
    kind, numbers = (ir.VectorType(each, n_lanes) for each in (ir.IntType(bits), _FLOAT))

    @intrinsic
    def reach(typing_context, tables, columns, terms, lines, code, place):
        arrays = tables, columns, terms, lines

        def generate(context, builder, signature, values):
            (_, of_codes, of_terms, _), starts = _enter(context, builder, arrays, values)
            size = columns.dtype.bitwidth // 8
            first = builder.add(starts[1], builder.mul(values[4], _LONG(size)))
            n_words = builder.extract_value(of_codes.shape, 0)
            stride = builder.extract_value(of_codes.strides, 0)
            sums = cgutils.alloca_once_value(builder, kind(None))
            with cgutils.for_range(builder, n_words, intp=_LONG) as loop:
                column = builder.add(first, builder.mul(loop.index, stride))
                how = starts[0], column, loop.index, size
                builder.store(add(builder, builder.load(sums), *how), sums)

            def number(start, offset, in_lanes):
                if in_lanes:
                    return _load(builder, start, offset, numbers)
                return _spread(builder, _load(builder, start, offset, _FLOAT), n_lanes)

            limit, *line = (
                number(starts[3], _LONG(4 * QUERIES * i), not are_codes) for i in range(3)
            )
            own = builder.mul(values[5], _LONG(4))
            width = builder.mul(builder.extract_value(of_terms.shape, 1), _LONG(4))
            for i in range(2):
                offset = builder.add(own, builder.mul(width, _LONG(i)))
                term = number(starts[2], offset, are_codes)
                limit = builder.fadd(limit, builder.fmul(line[i], term))
            costs = builder.uitofp(builder.load(sums), numbers)
            is_near = builder.fcmp_unordered("<=", costs, limit)
            mask = builder.bitcast(is_near, ir.IntType(n_lanes))
            return mask if n_lanes == 32 else builder.zext(mask, ir.IntType(32))

        return types.uint32(tables, columns, terms, lines, code, place), generate

    return reach


queries_near = _instruction(QUERIES, 16, _add_table_costs, are_codes=False)
query_near = _instruction(1, 16, _add_table_costs, are_codes=False)
codes_near = _instruction(CODES, 64, _add_plane_costs, are_codes=True)


@intrinsic
def best_entry(typing_context, along, squares, inner, first, u, s):
    """The best of 256 entries from the first on, where the other words have u and s.

    Of two entries that one is better whose numerator times the other denominator is larger.
    """

    def generate(context, builder, signature, values):
        _, starts = _enter(context, builder, (along, squares, inner), values)
        start, kind = builder.mul(values[3], _LONG(4)), ir.VectorType(_FLOAT, 32)
        u, s, least, two = (
            _spread(builder, value, 32)
            for value in (*values[4:], _FLOAT(1e-20), _FLOAT(2.0))
        )

        def better(one, other):
            product, least = builder.fmul(other[0], one[1]), builder.fmul(one[0], other[1])
            is_better = builder.fcmp_ordered(">", product, least)
            return [builder.select(is_better, *pair) for pair in zip(other, one)]

        best = None
        for block in range(0, 256, 32):
            own, square, product = (
                _load(builder, each, builder.add(start, _LONG(4 * block)), kind)
                for each in starts
            )
            own = builder.fadd(u, own)
            own = builder.fmul(own, _call(builder, "llvm.fabs.v32f32", own))
            square = builder.fadd(builder.fadd(s, square), builder.fmul(two, product))
            square = builder.select(builder.fcmp_ordered(">", square, least), square, least)
            now = [own, square, _numbers(block, 32)]
            best = better(best, now) if best else now
        for half in (16, 8, 4, 2, 1):
            halves = _numbers(0, half), _numbers(half, half)
            best = better(
                *([builder.shuffle_vector(each, each, c) for each in best] for c in halves)
            )
        place = builder.extract_element(best[2], ir.IntType(32)(0))
        return builder.zext(place, _LONG)

    return types.int64(along, squares, inner, first, u, s), generate
