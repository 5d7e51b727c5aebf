"""Tables of judged texts: percent of the nDCG@10 of floats that codes keep.

A column is a collection, by codes alone or with the best hundred ordered by floats.
"""

from collections import defaultdict

import numpy as np
from _embedding_tables import family_of, print_csv_table, print_markdown_table

TITLES = {"scifact": "SciFact", "cran": "Cranfield", "cisi": "CISI"}
HEADER = [*TITLES.values(), *(f"{title} rescored" for title in TITLES.values())]


def print_markdown(figures):
    """For each budget every search."""
    for budget, groups in _by_budget(figures):
        rows = [
            [f"{contender}, {search}", *map("{:.1f}".format, kept)]
            for (contender, search), kept in groups.items()
        ]
        print_markdown_table([f"{budget} bytes", *HEADER], rows)


def print_rst(figures):
    """For each budget the best member and search of each family."""
    for budget, groups in _by_budget(figures):
        families = defaultdict(list)
        for (contender, _), kept in groups.items():
            families[family_of(contender)].append(kept)
        rows = {
            name: list(map(_shown, max(members, key=lambda kept: sum(kept[:3]))))
            for name, members in families.items()
        }
        print_csv_table(f"{8 * budget} bits, {budget} bytes", HEADER, rows)


def _shown(percent):
    """A cell, which is empty where nothing was measured."""
    return f"{percent:.1f}" if np.isfinite(percent) else ""


def _by_budget(figures):
    groups = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for figure in figures:
        kept = 100 * np.array([figure.ndcg, figure.ndcg_rescored]) / figure.ndcg_floats
        name = figure.contender, figure.search
        groups[figure.budget][name][figure.data].append(kept)
    for budget, by_name in sorted(groups.items()):
        yield budget, {name: _means(by_set) for name, by_set in by_name.items()}


def _means(by_set):
    """Means over seeds: of codes for each set, and then of those with a second stage."""
    nothing = [np.full(2, np.nan)]
    return np.transpose(
        [np.mean(by_set.get(data, nothing), axis=0) for data in TITLES]
    ).ravel()
