"""Figures of the comparison, in the form of those of the papers."""

import matplotlib.pyplot as plt
import numpy as np


def draw_tie_intervals(results, path):
    """Figure 3 of He et al.: mean AP over all orders of ties, one panel per length."""
    lengths = results.lengths()
    methods = [m for m in results.methods() if _has(results, m, "ap_worst")]
    figure, axes = plt.subplots(
        1, len(lengths), figsize=(3.2 * len(lengths), 0.35 * len(methods) + 1), sharey=True
    )
    for axis, n_bits in zip(np.atleast_1d(axes), lengths):
        for y, method in enumerate(methods):
            rows = results.select(method, n_bits)
            if rows:
                worst, expected, best = (
                    np.mean([r[k] for r in rows]) for k in ("ap_worst", "ap", "ap_best")
                )
                axis.plot([worst, best], [y, y], lw=5, solid_capstyle="butt")
                axis.plot(expected, y, "ko", ms=4)
        axis.set(title=f"{n_bits} bits", xlabel="mean AP", yticks=range(len(methods)))
        axis.set_yticklabels(methods)
    np.atleast_1d(axes)[0].invert_yaxis()
    _save(figure, path)


def draw_lookup(results, path):
    """Figures 4 to 7 of Jiang, Li and Li, a row of panels for each length."""
    lengths = results.lengths()
    figure, axes = plt.subplots(
        len(lengths), 5, figsize=(17, 3.2 * len(lengths)), squeeze=False
    )
    for row, n_bits in zip(axes, lengths):
        _draw_ap(results, n_bits, row[0])
        panels = (
            ("ramap", "RAMAP"),
            ("empty", "fraction of empty lookups"),
            ("radius_precision", "precision"),
            ("lookup_ms", "lookup time, ms per query"),
        )
        for axis, (name, label) in zip(row[1:], panels):
            for method in results.methods():
                curves = [r[name] for r in results.select(method, n_bits) if r[name]]
                if curves:
                    axis.plot(np.mean(curves, axis=0), "o-", label=method)
            axis.set(xlabel="Hamming radius", ylabel=label, title=f"{n_bits} bits")
        row[4].set_yscale("log")
        row[1].legend()
    _save(figure, path)


def _draw_ap(results, n_bits, axis):
    methods = results.methods()
    means = [np.mean([r["ap"] for r in results.select(m, n_bits)]) for m in methods]
    axis.bar(methods, means)
    axis.set(ylabel="mean AP", title=f"{n_bits} bits")


def _has(results, method, name):
    return any(r[name] is not None for r in results.rows if r["method"] == method)


def _save(figure, path):
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
