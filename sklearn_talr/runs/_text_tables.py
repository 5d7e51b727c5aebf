"""Tables as text, and the numbers in them."""

_LEAST_P_VALUE = 1e-4  # four decimals show no smaller one


def aligned(rows, n_left=1):
    """Lines of a table: the first columns to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place < n_left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths))
        )
        for row in rows
    )


def p_value_text(p_value):
    """Write a p-value with four decimals, but none as 0, which no test can find."""
    if p_value < _LEAST_P_VALUE:
        return f"<{_LEAST_P_VALUE:.4f}"
    return f"{p_value:.4f}"


def neutral(cell):
    """A cell of CSV that no spreadsheet takes for a formula: names may begin anyhow."""
    if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{cell}"
    return cell


def printable(name):
    """What a terminal or a page shows and does not obey: files may name things anyhow."""
    return name if name.isprintable() else ascii(name)[1:-1]
