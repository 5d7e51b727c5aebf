"""Pictures of the report as SVG, drawn for a width of 360, which a phone has."""

from html import escape
from math import ceil, floor, isfinite, log10

from ._text_tables import printable

_WIDTH, _MARGIN = 360, 10
_ROW, _AXIS = 36, 26  # heights
_GUTTER = 14  # width of a tier's bar, if there are few
_MOST_GUTTERS = 180  # width of all
_DIGIT = 7.2  # its width
_LONGEST_NAME = 46  # that fits above its row
_MOST_TICKS = 6


def draw_means(names, means, intervals, ties):
    """Draw the mean of each run, its confidence interval, and what ties can do.

    Parameters
    ----------
    names : list of str
        Names of the runs, best first.

    means : list of float

    intervals, ties : list of (float, float)

    Returns
    -------
    svg : str
    """
    ends = [end for interval in (*intervals, *ties) for end in interval]
    scale = _Scale([*means, *ends], _WIDTH - _MARGIN)
    marks = []
    for place, (mean, (low, high), (worst, best)) in enumerate(zip(means, intervals, ties)):
        y = _height(place) - 8
        x = [scale(value) for value in (low, high, worst, best, mean)]
        if isfinite(best - worst):
            width = max(x[3] - x[2], 1)
            marks.append(
                f'<rect class="ties" x="{x[2]:.1f}" y="{y - 6}" width="{width:.1f}" '
                'height="12"/>'
            )
        if isfinite(high - low):
            marks.append(
                f'<path class="line" d="M{x[0]:.1f} {y - 4}v8m0-4H{x[1]:.1f}m0-4v8"/>'
            )
        marks.append(_dot(x[4], y))
    title = "Means of the runs, their confidence intervals, and what ties can do"
    return _svg(title, names, [*_axis(scale, len(names)), *marks])


def draw_tiers(names, means, intervals, tiers):
    """Draw a critical-difference diagram: a bracket joins runs that were not separated.

    The axis holds the intervals, so that small differences do not look large.

    Parameters
    ----------
    names : list of str
        Names of the runs, best first.

    means : list of float

    intervals : list of (float, float)

    tiers : list of list of int
        Places of the runs of each tier in `names`.

    Returns
    -------
    svg : str
    """
    gutter = min(_GUTTER, _MOST_GUTTERS / (len(tiers) + 1))
    right = _WIDTH - _MARGIN - gutter * (len(tiers) + 1)
    ends = [end for interval in intervals for end in interval]
    scale = _Scale([*means, *ends], right)
    marks = []
    for place, mean in enumerate(means):
        y = _height(place) - 8
        marks.append(f'<path class="guide" d="M{scale(mean):.1f} {y}H{_WIDTH - _MARGIN}"/>')
        marks.append(_dot(scale(mean), y))
    for number, tier in enumerate(tiers):
        x = _WIDTH - _MARGIN - gutter * (len(tiers) - number - 0.5)
        heights = [_height(place) - 8 for place in tier]
        marks.append(f'<path class="tier" d="M{x:.1f} {min(heights)}V{max(heights)}"/>')
        marks += [f'<path class="tier member" d="M{x + 1:.1f} {y}h-7"/>' for y in heights]
    title = "Tiers: a bracket joins runs that the data do not separate"
    return _svg(title, names, [*_axis(scale, len(names)), *marks])


class _Scale:
    """Places of values from the left margin to `right`."""

    def __init__(self, values, right):
        finite = [value for value in values if isfinite(value)] or [0.0]
        least, greatest = min(finite), max(finite)
        room = (greatest - least) * 0.04 or 0.01
        self.least, self.greatest = least - room, greatest + room
        self.right = right

    def __call__(self, value):
        share = (value - self.least) / (self.greatest - self.least)
        return _MARGIN + share * (self.right - _MARGIN) if isfinite(value) else _MARGIN

    def ticks(self):
        """Round numbers within the range, and how many decimals they need."""
        step = 10.0 ** floor(log10(self.greatest - self.least))
        step = next(
            step / part
            for part in (5, 2, 1, 0.5)
            if (self.greatest - self.least) / (step / part) <= _MOST_TICKS or part == 0.5
        )
        first, last = ceil(self.least / step), floor(self.greatest / step)
        decimals = max(0, ceil(-log10(step) - 1e-9))
        return [f"{number * step:.{decimals}f}" for number in range(first, last + 1)]


def _height(place):
    """Lower edge of the row of a run."""
    return (place + 1) * _ROW


def _dot(x, y):
    return f'<circle class="dot" cx="{x:.1f}" cy="{y}" r="4"/>'


def _axis(scale, n_rows):
    """Lines of the picture that stand for round numbers, and these numbers."""
    bottom = _height(n_rows - 1) + 4
    for text in scale.ticks():
        x = scale(float(text))
        yield f'<path class="grid" d="M{x:.1f} 4V{bottom}"/>'
        half = len(text) * _DIGIT / 2
        x = min(max(x, half), _WIDTH - half)
        yield f'<text class="tick" x="{x:.1f}" y="{bottom + 16}">{text}</text>'


def _svg(title, names, marks):
    labels = []
    for place, name in enumerate(map(printable, names)):
        cut = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
        y = _height(place) - 20
        labels.append(f'<text class="name" x="{_MARGIN}" y="{y}">{escape(cut)}</text>')
    height = _height(len(names) - 1) + _AXIS
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{title}">'
        f"{''.join([*marks, *labels])}</svg>"
    )
