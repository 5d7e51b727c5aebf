"""Tables of the benchmark of embeddings, as Markdown and for the page: means over seeds.

A column is a set, with few rows to fit or with many. A *family* is a method with one, two
and four bits a dimension: of these, and of its ways of searching, the best one counts.
"""

import re
from collections import defaultdict

import numpy as np

FEW = 5_000
TITLES = {"coco17": "COCO", "scenes": "scenes", "cifar10": "CIFAR-10", "text": "text"}
_WIDTH = re.compile(r", (1 bit|2 bits|4 bits)$")


def print_markdown(figures):
    """For each budget every search, and then the families."""
    for budget, some in _by_budget(figures):
        columns = _columns(some)
        header = [f"{budget} bytes", *_names(columns), "bytes", "seeds", *_TIMES]
        for groups in (_searches(some), _families(some)):
            rows = []
            for name, group in groups.items():
                sizes = sorted({figure.n_bytes for figure in group})
                cells = _recalls(group, columns), "-".join(map(str, sizes))
                seeds = str(len({figure.seed for figure in group}))
                rows.append([name, *cells[0], cells[1], seeds, *_times(group)])
            print_markdown_table(header, rows)


def print_rst(figures):
    """For each budget a table of recall and one of seconds, as reStructuredText."""
    for budget, some in _by_budget(figures):
        columns = _columns(some)
        families = _families(some)
        recalls = {
            name: [cell.removeprefix("0") for cell in _recalls(group, columns)]
            for name, group in families.items()
        }
        print_csv_table(f"{8 * budget} bits, {budget} bytes", _names(columns), recalls)
        seconds = {name: _times(group) for name, group in families.items()}
        print_csv_table(f"Seconds, {budget} bytes", _TIMES, seconds)


def print_markdown_table(header, rows):
    print(f"\n| {' | '.join(header)} |\n{'|---' * len(header)}|")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def print_csv_table(title, header, rows):
    share = 64 // len(header)
    print(f'\n.. csv-table:: {title}\n   :header: "", {", ".join(header)}')
    print(f"   :widths: {', '.join(['36', *[str(share)] * len(header)])}\n")
    for name, cells in rows.items():
        print(f'   "{name}", {", ".join(cells)}')


def _by_budget(figures):
    for budget in sorted({figure.budget for figure in figures}):
        yield budget, [figure for figure in figures if figure.budget == budget]


def _columns(figures):
    order = [*TITLES].index
    present = {_column(figure) for figure in figures}
    return sorted(present, key=lambda column: (column[0], order(column[1])))


def _column(figure):
    return figure.n_train > FEW, figure.data


def _names(columns):
    return [TITLES[data] + "+" * many for many, data in columns]


def _searches(figures):
    groups = defaultdict(list)
    for figure in figures:
        groups[f"{figure.contender}, {figure.search}"].append(figure)
    return groups


def _families(figures):
    """The figures of the best member and search of a family, for each column."""
    members = defaultdict(lambda: defaultdict(list))
    for figure in figures:
        if figure.search.endswith("shortlist"):
            continue  # no other way of scoring: it may miss some
        family = family_of(figure.contender), _column(figure)
        members[family][figure.contender, figure.search].append(figure)
    groups = defaultdict(list)
    for (family, _), by_member in members.items():
        groups[family] += max(by_member.values(), key=_mean_recall)
    return groups


def family_of(contender):
    """Name without the number of bits a dimension."""
    return _WIDTH.sub("", contender)


def _mean_recall(figures):
    return np.mean([figure.recall for figure in figures])


def _recalls(figures, columns):
    groups = ([f for f in figures if _column(f) == column] for column in columns)
    return [f"{_mean_recall(group):.3f}" if group else "" for group in groups]


_TIMES = ["fit", "fit+", "encode"]  # the last for 20 000 rows


def _times(figures):
    few, many = (
        [f.fit_seconds for f in figures if (f.n_train > FEW) == is_many]
        for is_many in (False, True)
    )
    encode = [f.encode_seconds / f.n_database * 20_000 for f in figures]
    return [f"{np.mean(x):.1f}" if x else "" for x in (few, many, encode)]
