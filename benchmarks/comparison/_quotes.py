"""Numbers in the prose of pages, and the results that they are.

`QUOTES` names blocks of a page, which are paragraphs or items of lists, by how they begin,
and the figures in each, in order. `requote` writes the figures into a page; a test holds
that nothing is left to write, and that no block with figures is missing here.
"""

import re
from typing import NamedTuple

import numpy as np
from _methods import CLASSIFIERS, SCORES, WORDS
from _published import CIFAR10
from _tables import as_figure, tie_interval

# A measure as pages write it: no digit before its point
FIGURE = re.compile(r"(?<![\d.\w])([+±-]?)(\.\d{3})(?!\d)")

TEACHER, WORDS_OF_TEACHER = "kernel + TALR-AP", "kernel + additive words"
LINEAR, HIDDEN = "TALR-AP", "TALR-NDCG, hidden layer"
HIDDEN_OF_TEACHER = "kernel + TALR-NDCG, hidden layer"
SINGLE = "cifar10", "digits", "fashion_mnist"
SHARED = "coco17", "tmc2007"
LABELED = (*SINGLE, *SHARED)


class Blocks(NamedTuple):
    """The blocks of a page, with what is between them, and the same on one line each."""

    raw: list
    lines: list

    @classmethod
    def of(cls, text):
        raw = re.split(r"(\n[ ]*\n|\n(?=[ ]*(?:\*|#\.) ))", text)
        return cls(raw, [" ".join(part.split()) for part in raw])


class Compared:
    """Figures of the comparison's results, as pages write them."""

    def __init__(self, results):
        self.results = results

    def value(self, data, method, n_bytes=4, column="ap", setting="defaults", seed=None):
        """Mean over the splits, or the figure of one, of the longest code of that size."""
        values = self._of_splits(data, method, n_bytes, column, setting)
        if seed is not None:
            values = {seed: values.get(seed)}
        if not values or None in values.values():
            raise ValueError(f"{data}: {method} has no {column} at {n_bytes} bytes.")
        return float(np.mean([*values.values()]))

    def _of_splits(self, data, method, n_bytes=4, column="ap", setting="defaults"):
        results = self.results[f"{data}-{setting}"]
        if method in CLASSIFIERS:
            rows = results.select(method, 0)
        else:
            rows = results.of_bytes(method, n_bytes)
        return {row["seed"]: row[column] for row in rows}

    def text(self, *args, **kwargs):
        return as_figure(self.value(*args, **kwargs))

    def of_sets(self, sets, method, *args, **kwargs):
        return [self.text(data, method, *args, **kwargs) for data in sets]

    def best(self, data, methods, *args, **kwargs):
        """The best figure of some methods."""
        return as_figure(max(self.value(data, m, *args, **kwargs) for m in methods))

    def gains(self, sets, column):
        """What weighted queries add at 4 bytes, of each method that ranks by both."""
        for data in sets:
            results = self.results[f"{data}-defaults"]
            for method in results.methods():
                if method in (*CLASSIFIERS, *SCORES, *WORDS):
                    continue
                if results.of_bytes(method, 4):
                    weighted = self.value(data, method, 4, f"{column}_float")
                    yield method, weighted - self.value(data, method, 4, column)

    def span(self, values):
        """The least and the greatest."""
        values = list(values)
        return [as_figure(min(values)), as_figure(max(values))]

    def difference(self, data, first, second, *args):
        """Mean over the splits that both ran on."""
        values, others = (self._of_splits(data, m, *args) for m in (first, second))
        shared = values.keys() & others.keys()
        if not shared:
            raise ValueError(f"{data}: {first} and {second} share no split.")
        return float(np.mean([values[seed] - others[seed] for seed in shared]))


def differences(text, quotes, found):
    """Blocks of a page with other figures: (begin, figures there, figures wanted)."""
    lines = [line for line in Blocks.of(text).lines if line]
    for begin, figures in quotes.items():
        (block,) = [line for line in lines if line.startswith(begin)] or [""]
        there = ["".join(match) for match in FIGURE.findall(block)]
        wanted = figures(found)
        if [t.lstrip("+±") for t in there] != [w.lstrip("+±") for w in wanted]:
            yield begin, there, wanted


def requote(text, quotes, found):
    """The page with the figures of its quotes."""
    raw, lines = Blocks.of(text)
    for begin, figures in quotes.items():
        places = [i for i, line in enumerate(lines) if line.startswith(begin)]
        if len(places) != 1:
            raise ValueError(f"{len(places)} blocks begin with {begin!r}.")
        wanted = figures(found)
        n_there = len(FIGURE.findall(raw[places[0]]))
        if n_there != len(wanted):
            raise ValueError(
                f"{begin!r} has {n_there} figures, and {len(wanted)} are known."
            )
        rest = iter(wanted)

        def write(match, rest=rest):
            sign, figure = match[1], next(rest)
            return sign + figure.lstrip("-") if sign in ("+", "±") else figure

        raw[places[0]] = FIGURE.sub(write, raw[places[0]])
    return "".join(raw)


def unquoted(text, quotes, other=()):
    """Blocks with figures that begin as none of these do."""
    known = (*quotes, *other)
    for line in Blocks.of(text).lines:
        if FIGURE.search(line) and not line.startswith(tuple(known)):
            yield line


def _tuning_moves(found):
    moves = []
    for data in ("cifar10", "digits"):
        tuned = found.results[f"{data}-tuned"]
        for row in tuned.rows:
            if row["method"] not in CLASSIFIERS:
                plain = found.value(data, row["method"], seed=row["seed"])
                moves.append(abs(row["ap"] - plain))
    return as_figure(max(moves))


def _interval(found, data, method, n_bytes=4):
    rows = found.results[f"{data}-defaults"].of_bytes(method, n_bytes)
    return as_figure(float(np.mean([tie_interval(row) for row in rows])))


def _width_of_best(found, data, n):
    """How far the best linear methods lie apart."""
    best = sorted(found.value(data, method) for method in LINEAR_METHODS)[-n:]
    return as_figure(best[-1] - best[0])


OF_FEATURES = (LINEAR, "TALR-NDCG", "TALR-AP, hidden layer", HIDDEN)
LINEAR_METHODS = (
    *("LSH", "ITQ", "DSH", "DPSH", "HashNet", "DTSH", "MIHash", "OrthoHash", "CSQ"),
    *(LINEAR, "TALR-NDCG", "BRE", "MACHash", "StructHash"),
)
_OF_DISTANCES = "scenes"


def _beyond_labels(found):
    """What weighted queries change, of measures that suit the sets."""
    by_labels = found.span(gain for _, gain in found.gains(LABELED, "ap"))
    by_distance = found.span(gain for _, gain in found.gains((_OF_DISTANCES,), "ndcg"))
    return [*by_labels, *by_distance]


def _loss_for_linear(found):
    """The greatest gap of AP between the two losses, and NDCG gained by its own loss."""
    gaps = [abs(found.difference(d, "TALR-NDCG", LINEAR)) for d in LABELED]
    gains = [found.difference(d, "TALR-NDCG", LINEAR, 4, "ndcg") for d in SHARED]
    return [as_figure(max(gaps)), *found.span(gains)]


def _teacher_first(found):
    first = {"seed": 0}
    names = TEACHER, "kernel + TALR-NDCG"
    best = [found.best(d, names, **first) for d in ("cifar10", *SHARED)]
    gaps = [abs(found.difference(d, *names)) for d in ("cifar10", *SHARED)]
    return [*best, as_figure(max(gaps[:2])), as_figure(gaps[2])]


def _additive_first(found):
    def of(data, method):
        return found.text(data, method, 4, "ap_float", seed=0)

    shown = [of(data, "kernel + additive") for data in ("cifar10", "coco17")]
    return [*shown, of("tmc2007", TEACHER), of("tmc2007", "kernel + additive")]


def _margins(found):
    """AP, RAMAP and empty lookups within radius 2 of each margin."""
    results = found.results["cifar10-lookup-defaults"]
    rows = [results.select(method, 32)[0] for method in results.methods()]
    read = lambda row: (row["ap"], row["ramap"][2], row["empty"][2])  # noqa: E731
    return [[as_figure(value) for value in values] for values in zip(*map(read, rows))]


_OF_PAIRS = "DSH", "DPSH", "HashNet", "DTSH"
_LIKE_PAIRS = "cifar10", "fashion_mnist", "coco17"  # where MACHash ranks as these do
_OLDER = "MACHash", "FastHash", "StructHash"
_SIZES = 2, 4, 8


def _gains_of(found, method, sets, column="ap", sizes=_SIZES):
    """What a method has over the default, of each set and size."""
    return [found.difference(d, method, LINEAR, n, column) for d in sets for n in sizes]


def _hidden_layer(found):
    spans = [found.span(_gains_of(found, HIDDEN, LABELED, sizes=(n,))) for n in _SIZES]
    return [end for span in spans for end in span]


def _hidden_layer_of_distances(found):
    return [
        found.text(_OF_DISTANCES, method, n, "ndcg")
        for n in (4, 8)
        for method in (HIDDEN, LINEAR)
    ]


def _teacher_over_functions(found):
    return found.span(
        found.value(d, TEACHER) - max(found.value(d, m) for m in OF_FEATURES)
        for d in LABELED
    )


def _ndcg_loss(found):
    by_ap = _gains_of(found, "TALR-NDCG", LABELED)
    return [*found.span(by_ap), *found.span(_gains_of(found, "TALR-NDCG", SHARED, "ndcg"))]


def _hidden_behind_teacher(found):
    methods = HIDDEN_OF_TEACHER, TEACHER
    return [
        found.text(d, m, 4, "ap", seed=0) for m in methods for d in ("cifar10", *SHARED)
    ]


def ratios_of_hidden_layer(found, column):
    """Least and greatest cost of a hidden layer, a linear function being 1."""
    sets = (*LABELED, _OF_DISTANCES)
    costs = [[found.value(d, m, 4, column) for m in (HIDDEN, LINEAR)] for d in sets]
    return [min(a / b for a, b in costs), max(a / b for a, b in costs)]


_RIVALS = ("DSH", "DPSH", "HashNet", "DTSH", "MIHash", "OrthoHash", "CSQ", "MACHash")
_HIDDEN_LAYERS = HIDDEN, "TALR-AP, hidden layer"
_COMPARISON = {
    "* **With labels take two stages.**": lambda c: [
        *c.of_sets(LABELED, TEACHER),
        *(c.best(data, OF_FEATURES) for data in LABELED),
    ],
    "* **Two bytes of two stages": lambda c: c.of_sets(("cifar10", *SHARED), TEACHER, 2),
    "* **If queries may be weighted": lambda c: [
        *c.of_sets(LABELED, WORDS_OF_TEACHER, 4, "ap_float"),
        *c.of_sets(LABELED, "kernel scores", 4, "ap_float"),
    ],
    "* **Where a teacher is too slow": lambda c: [
        *c.of_sets(LABELED, HIDDEN),
        *c.of_sets(LABELED, LINEAR),
    ],
    "* **Without labels take": lambda c: [
        *(c.text("scenes", "additive words", n, "ndcg_float") for n in (4, 8)),
        *(c.text("scenes", "TALR-NDCG", n, "ndcg_float") for n in (4, 8)),
        *(c.text("scenes", "ITQ", n, "ndcg_float") for n in (4, 8)),
        *(c.text("scenes", m, 4, "ndcg") for m in ("TALR-NDCG", "MIHash", "ITQ")),
    ],
    "* **Of linear functions TALR-AP leads": lambda c: [
        c.text(data, method)
        for data in (*SHARED, "cifar10", "digits")
        for method in (LINEAR, "MIHash")
    ],
    "* **Predicted classes are codes too**": lambda c: [
        c.text(data, "kernel one-hot") for data in ("digits", "cifar10", "coco17")
    ],
    "* **The order of ties can": lambda c: [
        _interval(c, "cifar10", LINEAR),
        _width_of_best(c, "cifar10", 5),
    ],
    "* **Tuning changes little.**": lambda c: [_tuning_moves(c)],
}
_DETAILS = {
    "* **What a weighted query is worth.**": lambda c: [*_beyond_labels(c), ".010"],
    "* **An addend costs more": lambda c: [
        c.text("scenes", "additive bits, addend", 8, "ndcg_float"),
        *(c.text("scenes", m, 8, "ndcg_float") for m in ("TALR-NDCG", "ITQ")),
        *(c.text("scenes", "additive words", n, "ndcg_float") for n in (4, 8)),
    ],
    "* **Additive codes want": lambda c: [
        *(c.text("cifar10", "logistic + additive", 4, k) for k in ("ap", "ap_float")),
        c.text("cifar10", "logistic scores", 0, "ap_float"),
    ],
    "* **Of linear functions TALR-AP is first": lambda c: [
        *(
            as_figure(c.value(d, LINEAR) - max(c.value(d, m) for m in _RIVALS))
            for d in SHARED
        ),
        *(c.text("cifar10", method) for method in (LINEAR, "MIHash")),
        as_figure(c.difference("digits", LINEAR, "MIHash")),
    ],
    "* **At 2 and 3 bytes": lambda c: [
        *(c.text("cifar10", m, n) for n in (2, 3) for m in ("MIHash", LINEAR)),
        *(".002", ".002", ".000", ".002"),  # of a run that is not kept
    ],
    "* **Which loss for a hidden layer?**": lambda c: [
        *(c.text(d, m) for d in ("cifar10", *SHARED) for m in _HIDDEN_LAYERS),
        *(c.text(d, m) for d in SINGLE[1:] for m in _HIDDEN_LAYERS[::-1]),
    ],
    "* **Which loss for a linear function?**": _loss_for_linear,
    "* **MACHash ranks as": lambda c: [
        *c.of_sets(_LIKE_PAIRS, "MACHash"),
        *(
            figure
            for data in _LIKE_PAIRS
            for figure in c.span(c.value(data, method) for method in _OF_PAIRS)
        ),
    ],
    "* **FastHash has boosted trees": lambda c: [
        c.text("digits", "FastHash"),
        c.best("digits", LINEAR_METHODS),
        c.text("digits", "TALR-AP, hidden layer"),
        *(
            c.text("fashion_mnist", m, seed=0)
            for m in ("FastHash", "TALR-AP, hidden layer", TEACHER)
        ),
    ],
    "* **TALR is first by binary": _teacher_first,
    "* **Additive codes are first": _additive_first,
    "* **Predicted classes alone**": lambda c: c.of_sets(
        ("cifar10", *SHARED), "kernel one-hot", seed=0
    ),
}
_DETAILS |= {
    "* **With labels a hidden layer": _hidden_layer,
    "* **Where similarity goes by distance it loses**": _hidden_layer_of_distances,
    "* **The teacher is worth more**": _teacher_over_functions,
    "* **The NDCG loss for a linear function**": _ndcg_loss,
    "* **A hidden layer behind the teacher**": _hidden_behind_teacher,
}
_TABLES = {
    "* **Ranking and lookup": lambda c: [
        *_margins(c)[0][:3],
        *_margins(c)[1][:3],
        *_margins(c)[2][:3],
    ],
    "* **A margin of 12": lambda c: [_margins(c)[0][3], _margins(c)[1][3]],
}
_DATA = {
    "* *The features.*": lambda c: c.span(
        CIFAR10[m][2] - c.value("cifar10", m) for m in ("BRE", *_OLDER)
    ),
    "* *The order.*": lambda c: [as_figure(CIFAR10["TALR-AP"][2] - CIFAR10["MIHash"][2])],
}
QUOTES = {
    "comparison.rst": _COMPARISON,
    "comparison_details.rst": _DETAILS,
    "comparison_tables.rst": _TABLES,
    "data.rst": _DATA,
}
# Blocks whose figures are of other runs or of papers
OTHER = {
    "comparison.rst": ("Numbers are AP, and NDCG on the scenes. As in",),  # new_rows.csv
    "comparison_details.rst": (
        "===",  # tables typed in
        "* Among new rows the teacher",
        "* *Not left out*",
        "Tuning changes little.",  # weight decays
    ),
    "data.rst": (
        "* - 0-1 loss (hinge)",  # the paper on ranking SVMs, and our page on them
        "* - AP loss: mean AP",
        "* - NDCG loss: mean NDCG",
        "As in the paper, training on AP",
    ),
}
