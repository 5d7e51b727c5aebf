"""Figures of the comparison. A method has the same color and marker in all of them."""

import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from _methods import SCORES
from _standings import FLOATS, NAMED, score
from _tables import as_figure
from matplotlib.lines import Line2D

sys.path.append(str(Path(__file__).parents[2] / "docs"))

from method_styles import color_of, style_of

# Text as text, and the same bytes at every run.
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "sklearn-talr",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_GRAY, _DARK = "0.72", "0.35"
_OVER_RADII = {
    "ramap": "RAMAP",
    "empty": "fraction of empty lookups",
    "radius_precision": "precision",
    "lookup_ms": "ms per query",
}
_MARGINS = {"DSH": "-", "4-DSH": "--", "8-DSH": "-.", "12-DSH": ":"}
_KINDS = {"binary queries": "", "weighted queries": "_float"}


def draw_by_bytes(results, metric, path, title):
    """A metric against all stored bytes of an item, of binary and of weighted queries."""
    with mpl.rc_context(_STYLE):
        figure, axes = plt.subplots(1, 2, figsize=(4.4, 3.1), sharey=True)
        methods = sorted(results.methods(), key=NAMED.__contains__)
        for axis, (kind, end) in zip(axes, _KINDS.items()):
            for method in methods:
                _draw_method(results, method, metric + end, axis)
            axis.set(title=kind, xlabel="bytes per item", xscale="log")
            axis.title.set_size(10)
            axis.yaxis.set_major_formatter(lambda value, _: as_figure(value, 2))
            axis.set_xticks([2, 4, 8], ["2", "4", "8"])
            axis.minorticks_off()
            axis.grid(axis="y", color="0.9", lw=0.6)
            _draw_floats(results, metric, axis)
        axes[0].set_ylim(bottom=_bottom(results, metric))
        axes[0].set_ylabel(f"mean {metric.upper()}")
        figure.suptitle(title, fontsize=12, weight="bold", y=0.98)
        figure.tight_layout(pad=0.6, w_pad=0.4)
        _save(figure, path)


def _bottom(results, metric):
    """A little below the lowest of the named methods, if there is one."""
    lowest = min(
        (
            row[metric]
            for row in results.rows
            if row["method"] in NAMED and row[metric] is not None
        ),
        default=None,
    )
    return None if lowest is None else lowest - 0.04


def _draw_method(results, method, column, axis):
    if method in SCORES:
        return
    sizes = results.sizes([method])
    scores = [score(method, results.of_bytes(method, n), column) for n in sizes]
    points = [(n, each.mean) for n, each in zip(sizes, scores) if each is not None]
    if not points:
        return
    style = {"color": _GRAY, "marker": ".", "ms": 3, "lw": 0.8, "zorder": 1}
    if method in NAMED:
        style = style_of(method) | {"ms": 6, "lw": 2, "zorder": 3}
    axis.plot(*zip(*points), label=method, **style)


def _draw_floats(results, metric, axis):
    floats = score(FLOATS, results.select(FLOATS, 0), f"{metric}_float")
    if floats:
        axis.axhline(floats.mean, color="black", ls=(0, (4, 2)), lw=1.2, zorder=2)


def draw_legend(path):
    """Colors and markers of the named methods, for all charts."""
    handles = [Line2D([], [], ms=6, lw=2, label=name, **style_of(name)) for name in NAMED]
    dashed = {"color": "black", "ls": (0, (4, 2)), "lw": 1.2}
    handles.insert(0, Line2D([], [], label="floats of the kernel teacher", **dashed))
    handles.append(
        Line2D([], [], color=_GRAY, marker=".", ms=3, lw=0.8, label="all other methods")
    )
    with mpl.rc_context(_STYLE):
        figure = plt.figure(figsize=(4.4, 2.0))
        figure.legend(handles=handles, loc="center left", frameon=False, fontsize=11)
        _save(figure, path)


def draw_tie_intervals(results, path):
    """Figure 3 of He et al.: mean AP over all orders of ties, for up to three lengths."""
    lengths = results.lengths()
    lengths = lengths[:: max(1, len(lengths) // 2)]  # more panels are too small to read
    methods = [m for m in results.methods() if _has(results, m, "ap_worst")]
    with mpl.rc_context(_STYLE):
        size = 2.0 + 0.95 * len(lengths), 0.21 * len(methods) + 0.9  # read on a phone
        figure, axes = plt.subplots(1, len(lengths), figsize=size, sharey=True)
        for axis, n_bits in zip(np.atleast_1d(axes), lengths):
            for y, method in enumerate(methods):
                ends = [
                    _mean(results, method, n_bits, f"ap_{k}") for k in ("worst", "best")
                ]
                if None not in ends:
                    color = color_of(method) if method in NAMED else _GRAY
                    axis.plot(ends, [y, y], lw=5, solid_capstyle="butt", color=color)
                    axis.plot(_mean(results, method, n_bits, "ap"), y, "ko", ms=4)
            axis.set(title=f"{n_bits} bits", xlabel="mean AP", yticks=range(len(methods)))
            axis.set_yticklabels(methods)
            axis.locator_params(axis="x", nbins=2)
            axis.xaxis.set_major_formatter(lambda value, _: as_figure(value, 2))
        np.atleast_1d(axes)[0].invert_yaxis()
        figure.tight_layout()
        _save(figure, path)


def draw_lookup(results, path):
    """Figures 4 to 7 of Jiang, Li and Li, three rows of panels for each length."""
    lengths = results.lengths()
    with mpl.rc_context(_STYLE):
        size = 6.4, 7.2 * len(lengths)
        figure, axes = plt.subplots(3 * len(lengths), 2, figsize=size, squeeze=False)
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
            style = {"ls": _MARGINS.get(method, "-"), "color": _DARK, "marker": "."}
            axis.plot(np.mean(curves, axis=0), label=method, **style)


def _draw_ap(results, n_bits, axis):
    methods = results.methods()
    heights = [_mean(results, m, n_bits, "ap") for m in methods]
    axis.bar(methods, heights, color=_GRAY)
    axis.set(ylabel="mean AP", title=f"{n_bits} bits")


def _has(results, method, name):
    return any(r[name] is not None for r in results.rows if r["method"] == method)


def _mean(results, method, n_bits, name):
    """Mean over splits, None where nothing was measured."""
    found = score(method, results.select(method, n_bits), name)
    return None if found is None else found.mean


def _save(figure, path):
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
