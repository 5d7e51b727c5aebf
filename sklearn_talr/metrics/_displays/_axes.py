"""Axes of the displays, and the styles that tell methods apart."""

import numpy as np

from ..._compat import check_matplotlib_support

# Okabe and Ito's colors, safe for the color-blind, in an order in which neighbors also
# differ in lightness; dashes and markers tell them apart in any print.
_COLORS = ["#0072B2", "#E69F00", "#000000", "#CC79A7", "#009E73", "#D55E00", "#56B4E9"]
_LINES = ["-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1))]
_MARKERS = ["o", "s", "^", "D", "v", "P", "X"]


def line_style(place, kwargs, **defaults):
    """Keywords for the line of the method in this place, from 0; given keywords win."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    place %= len(_COLORS)
    style = {
        "color": _COLORS[place],
        "linestyle": _LINES[place],
        "marker": _MARKERS[place],
    }
    return style | defaults | normalize_kwargs(kwargs, Line2D)


def single_axes(display, ax, figsize):
    """Return the given Axes, or the Axes of a new figure."""
    check_matplotlib_support(f"{type(display).__name__}.plot")
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(figsize=figsize, layout="constrained")
    return ax


def panel_axes(display, ax, panels, shape, figsize):
    """Return the panels to draw and their Axes, given or of a new figure.

    `panels` is None for all of ``display.panels``, the name of one, or a list of names;
    `shape` and `figsize` are of a figure with all panels.
    """
    check_matplotlib_support(f"{type(display).__name__}.plot")
    names = display.panels if panels is None else np.atleast_1d(panels).tolist()
    unknown = [name for name in names if name not in display.panels]
    if unknown or not names:
        raise ValueError(
            f"panels must be None, one of {display.panels} or a list of them, got "
            f"{panels!r}."
        )
    if ax is None:
        return names, _new_panels(len(names), shape, figsize)
    axes = np.asarray(ax, dtype=object).ravel()
    if len(axes) != len(names):
        raise ValueError(
            f"ax must hold one Axes for each of the {len(names)} panels {tuple(names)}, "
            f"got {len(axes)}."
        )
    return names, axes


def _new_panels(n_panels, shape, figsize):
    import matplotlib.pyplot as plt

    rows, columns = shape if n_panels == np.prod(shape) else (1, n_panels)
    size = figsize[0] / shape[1] * columns, figsize[1] / shape[0] * rows
    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained")
    figure.align_ylabels()
    return np.atleast_1d(axes).ravel()


def finish(ax, xlabel, ylabel):
    """Label the axes, and lighten what is not data."""
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)


def add_legend(ax, **kwargs):
    """Draw a legend if a method has a name."""
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, **kwargs)
