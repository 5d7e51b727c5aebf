"""Numbers that papers published, beside those of the comparison."""

from _tables import as_figure

LENGTHS = 12, 24, 32, 48
LABELME_LENGTHS = 16, 32, 48, 64
CIFAR10 = {  # He et al., table 1: AP of the first setting
    "BRE": (0.361, 0.448, 0.502, 0.533),
    "MACHash": (0.628, 0.707, 0.726, 0.734),
    "FastHash": (0.678, 0.729, 0.742, 0.757),
    "StructHash": (0.664, 0.693, 0.691, 0.700),
    "DPSH": (0.720, 0.757, 0.757, 0.767),
    "DTSH": (0.725, 0.773, 0.781, 0.810),
    "MIHash": (0.687, 0.775, 0.786, 0.822),
    "TALR-AP": (0.732, 0.789, 0.800, 0.826),
}
LABELME = {  # table 3: NDCG by distance
    "DPSH": (0.844, 0.856, 0.871, 0.874),
    "DTSH": (0.838, 0.852, 0.859, 0.862),
    "StructHash": (0.857, 0.888, 0.904, 0.915),
    "MIHash": (0.860, 0.889, 0.907, 0.914),
    "TALR-NDCG": (0.866, 0.895, 0.908, 0.917),
}


def beside_ours(published, lengths, results, metric):
    """Rows of a table: methods, published figures, ours at the same lengths."""
    ours = [n for n in lengths if any(_mean(results, m, n, metric) for m in published)]
    heads = [f"paper, {n} bits" for n in lengths] + [f"ours, {n} bits" for n in ours]
    rows = [["method", *heads]]
    best = [max(column) for column in zip(*published.values())]
    for method, figures in published.items():
        texts = map(as_figure, figures)
        shown = [f"**{t}**" if f == b else t for t, f, b in zip(texts, figures, best)]
        own = [_mean(results, method, n, metric) for n in ours]
        rows.append([method, *shown, *("" if v is None else as_figure(v) for v in own)])
    return rows


def _mean(results, method, n_bits, metric):
    values = [row[metric] for row in results.select(method, n_bits)]
    return sum(values) / len(values) if values else None
