"""Figures of the comparison, in the form of those of the papers."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from _methods import METHODS, is_taught

# Text as text, and the same bytes at every run.
_STYLE = {"svg.fonttype": "none", "svg.hashsalt": "sklearn-talr", "font.size": 9}
_OVER_RADII = {
    "ramap": "RAMAP",
    "empty": "fraction of empty lookups",
    "radius_precision": "precision",
    "lookup_ms": "ms per query",
}
_OWN = ("TALR", "additive")  # what this library brings; the others are drawn thinner


def draw_by_length(results, metric, path):
    """A metric against bits, of binary and of weighted queries."""
    kinds = (("binary queries", metric), ("weighted queries", f"{metric}_float"))
    size = 8.6, max(4.2, 0.175 * len(results.methods()) + 0.2)  # the legend has them all
    with mpl.rc_context(_STYLE):
        figure, axes = plt.subplots(1, 2, figsize=size, sharey=True)
        for axis, (title, name) in zip(axes, kinds):
            for method in results.methods():
                _draw_method(results, method, name, axis)
            axis.set(title=title, xlabel="bits", xscale="log")
            axis.set_xticks(results.lengths(), results.lengths())
            axis.minorticks_off()
        axes[0].set_ylabel(f"mean {metric.upper()}")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.tight_layout(rect=(0, 0, 0.74, 1))
        figure.legend(handles, labels, loc="center right", fontsize=8, frameon=False)
        _save(figure, path)


def _draw_method(results, method, name, axis):
    i = list(METHODS).index(method) if method in METHODS else 0  # the same in all figures
    lengths = [n for n in results.lengths() if _mean(results, method, n, name) is not None]
    means = [_mean(results, method, n, name) for n in lengths]
    own = any(name in method for name in _OWN)
    style = {"lw": 2.0 if own else 0.8, "ms": 5 if own else 3, "color": f"C{i % 10}"}
    if 0 in {row["n_bits"] for row in results.rows if row["method"] == method}:
        style["color"] = "black" if "scores" in method else "gray"
        style["ls"] = "--" if is_taught(method) else ":"
    marker = "o" if own else "sv^Dx"[i // 4 % 5]
    if is_taught(method):
        marker = "*"
    axis.plot(lengths, means, marker=marker, label=method, **style)


def draw_tie_intervals(results, path):
    """Figure 3 of He et al.: mean AP over all orders of ties, for up to three lengths."""
    lengths = results.lengths()
    lengths = lengths[:: max(1, len(lengths) // 2)]  # more panels are too small to read
    methods = [m for m in results.methods() if _has(results, m, "ap_worst")]
    with mpl.rc_context(_STYLE):
        size = 1.2 + 2.4 * len(lengths), 0.21 * len(methods) + 0.9
        figure, axes = plt.subplots(1, len(lengths), figsize=size, sharey=True)
        for axis, n_bits in zip(np.atleast_1d(axes), lengths):
            for y, method in enumerate(methods):
                ends = [
                    _mean(results, method, n_bits, f"ap_{k}") for k in ("worst", "best")
                ]
                if None not in ends:
                    axis.plot(ends, [y, y], lw=5, solid_capstyle="butt")
                    axis.plot(_mean(results, method, n_bits, "ap"), y, "ko", ms=4)
            axis.set(title=f"{n_bits} bits", xlabel="mean AP", yticks=range(len(methods)))
            axis.set_yticklabels(methods)
        np.atleast_1d(axes)[0].invert_yaxis()
        figure.tight_layout()
        _save(figure, path)


def draw_lookup(results, path):
    """Figures 4 to 7 of Jiang, Li and Li, two rows of panels for each length."""
    lengths = results.lengths()
    with mpl.rc_context(_STYLE):
        size = 8.6, 5.2 * len(lengths)
        figure, axes = plt.subplots(2 * len(lengths), 3, figsize=size, squeeze=False)
        for n_bits, panels in zip(lengths, axes.reshape(-1, 6)):
            _draw_ap(results, n_bits, panels[0])
            for axis, (name, label) in zip(panels[1:5], _OVER_RADII.items()):
                _draw_over_radii(results, n_bits, name, axis)
                axis.set(xlabel="Hamming radius", ylabel=label)
            panels[4].set_yscale("log")
            panels[5].set_axis_off()
            panels[5].legend(*panels[1].get_legend_handles_labels(), loc="center")
        figure.tight_layout()
        _save(figure, path)


def _draw_over_radii(results, n_bits, name, axis):
    for method in results.methods():
        curves = [row[name] for row in results.select(method, n_bits) if row[name]]
        if curves:
            axis.plot(np.mean(curves, axis=0), "o-", label=method)


def _draw_ap(results, n_bits, axis):
    methods = results.methods()
    axis.bar(methods, [_mean(results, m, n_bits, "ap") for m in methods])
    axis.set(ylabel="mean AP", title=f"{n_bits} bits")


def _has(results, method, name):
    return any(r[name] is not None for r in results.rows if r["method"] == method)


def _mean(results, method, n_bits, name):
    """Mean over splits, None where nothing was measured."""
    values = [r[name] for r in results.select(method, n_bits) if r[name] is not None]
    return float(np.mean(values)) if values else None


def _save(figure, path):
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
