"""Words for readers who do not see a picture, from the run that draws it.

A script of ``plots/`` calls :func:`describe` with what it has drawn, numbers included. The
build makes that the alternative text of the picture wherever a page shows it, so that no
page names what another run had found. :func:`read_figure` does the same for a figure that
nobody has described.
"""

import re

# Least share of what is right, and how a sentence says it
_SHARES = {1.0: "all", 0.85: "nearly all", 0.65: "most", 0.35: "about half", 0.1: "few"}
_COUNTS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_said = []


def describe(*sentences):
    """Say what the picture shows that is drawn now; replaces what was said before."""
    _said[:] = [re.sub(r"\s+", " ", " ".join(sentences)).strip()]


def take_words():
    """What was said last, or None; forgets it."""
    return _said.pop() if _said else None


def share(part, whole):
    """A share of a whole in words that do not change with the last digits of training."""
    if not part:
        return "none"
    return next((word for least, word in _SHARES.items() if part >= least * whole), "one")


def count(number):
    """A number below ten as a word."""
    return _COUNTS[number] if number < len(_COUNTS) else str(number)


def measure(value, digits=1):
    """A measure as pages write it, with a point first: .6 for 0.64."""
    return f"{value:.{digits}f}".replace("0.", ".", 1)


def read_figure(figure):
    """What a figure shows, read off what is drawn: titles, axes, lines and bars."""
    said = [_plain(figure.get_suptitle())]
    for child in figure.subfigs:
        said.append(_plain(child.get_suptitle()))
    n_images, names = 0, []
    for axes in figure.axes:
        if axes.images:
            n_images += 1
            names.append(_plain(axes.get_ylabel()))
        elif axes.axison:
            said.append(_read_axes(axes))
    if n_images:
        rows = dict.fromkeys(filter(None, names))
        of = f" in rows for {', '.join(rows)}" if rows else ""
        said.append(f"{n_images} images{of}")
    words = "; ".join(filter(None, said)).rstrip(".") + "."
    return words[0].upper() + words[1:]


def _read_axes(axes):
    """One panel: its title, what it plots against what, and where each line leads."""
    title, x, y = map(_plain, (axes.get_title(), axes.get_xlabel(), axes.get_ylabel()))
    head = f"{y} against {x}" if x and y else x or y
    series = [*_read_lines(axes), *_read_bars(axes)]
    return ": ".join(filter(None, [title, head, ", ".join(series)]))


def _read_lines(axes):
    for line in axes.lines:
        upright = axes.get_ylabel() or not axes.get_xlabel()  # else values lie along x
        data = line.get_ydata() if upright else line.get_xdata()
        name, values = str(line.get_label()), [each for each in data if each == each]
        if len(values) > 1 and not name.startswith("_"):
            yield f"{_plain(name)} from {_number(values[0])} to {_number(values[-1])}"


def _read_bars(axes):
    for container in axes.containers:
        name, bars = str(container.get_label()), getattr(container, "patches", [])
        heights = [bar.get_height() for bar in bars if hasattr(bar, "get_height")]
        if heights and not name.startswith("_"):
            tallest = bars[heights.index(max(heights))]
            place = _number(tallest.get_x() + tallest.get_width() / 2)
            yield f"{_plain(name)} is highest, {_number(max(heights))}, at {place}"


def _number(value):
    """Two digits, which is what a picture shows, with a point first."""
    text = f"{float(value):.2g}" if abs(float(value)) < 100 else f"{float(value):.0f}"
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def _plain(text):
    """Text without line breaks and marks of mathematics."""
    return re.sub(r"\s+", " ", re.sub(r"\\times|[$\\{}]", "", text or "")).strip()
