"""Bars from worst to best with dots between, by method and code length."""

import numpy as np

from ._axes import add_legend, finish, line_style, single_axes


def draw_groups(display, ax, name, kwargs):
    """Draw the intervals of a TieBreakingDisplay, and set what it keeps of the picture."""
    methods, method = _methods(display)
    labels = _labels(methods, name)
    n_bits = np.zeros(len(method)) if display.n_bits is None else display.n_bits
    lengths, length = np.unique(n_bits, return_inverse=True)
    height = len(methods) + 0.7  # of a group, with the gap after it
    places = length * height + method
    ax = single_axes(display, ax, figsize=(6.4, 1.1 + 0.23 * height * len(lengths)))
    display.intervals_, display.dots_ = [], []
    for m, label in enumerate(labels):
        rows = method == m
        ranges = display.worst, display.expected, display.best
        values = [np.asarray(each)[rows] for each in ranges]
        bars, dots = _draw_method(ax, places[rows], *values, m, label, kwargs)
        display.intervals_.append(bars)
        display.dots_.append(dots)
    _label(display, ax, lengths, height, labels)
    display.ax_, display.figure_ = ax, ax.figure


def _methods(display):
    """Names in order of appearance, and the index of each interval's method."""
    names = display.names
    names = [None] * len(display.worst) if names is None else list(names)
    methods = list(dict.fromkeys(names))
    return methods, np.array([methods.index(name) for name in names])


def _labels(methods, name):
    if name is None:
        return methods
    labels = [name] if isinstance(name, str) else list(name)
    if len(labels) != len(methods):
        raise ValueError(
            f"name must name each of the {len(methods)} methods, got {name!r}."
        )
    return labels


def _draw_method(ax, places, worst, expected, best, m, label, kwargs):
    marker = {"markersize": 7, "markeredgecolor": "white", "markeredgewidth": 0.8}
    style = line_style(m, kwargs, linestyle="none", **marker, label=label)
    dots = ax.plot(expected, places, **style)[0]
    bars = ax.barh(
        places,
        best - worst,
        left=worst,
        height=0.5,
        color=dots.get_color(),
        alpha=0.35,
        linewidth=0,
    )
    return bars, dots


def _label(display, ax, lengths, height, labels):
    """Name the measure and the groups; intervals without a code length are one group."""
    finish(ax, f"{display.measure.label}: worst, expected, best", "")
    ax.use_sticky_edges = False  # no bar begins at the frame
    ax.grid(False, axis="y")
    ax.tick_params(axis="y", length=0)
    if display.n_bits is None:
        ax.set_yticks(range(len(labels)), labels)
    else:
        middle = (len(labels) - 1) / 2
        ticks = [f"{n} bits" for n in lengths]
        ax.set_yticks(np.arange(len(lengths)) * height + middle, ticks)
    ax.set_ylim(len(lengths) * height - 0.85, -0.85)  # shortest codes on top
    if display.n_bits is not None and labels != [None]:
        add_legend(ax)
