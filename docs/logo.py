"""The logo: items stacked by their Hamming distance from a query, some of them relevant.

    python docs/logo.py FOLDER

writes ``logo-light.svg`` and ``logo-dark.svg``. ``conf.py`` draws them at each build.
"""

import sys
from pathlib import Path

RELEVANT = "#E69F00"  # of the displays' palette
OTHERS = {"light": "#0072B2", "dark": "#56B4E9"}
STACKS = ((0, 2), (1, 2), (2, 1), (1, 0))  # others, relevant ones at distances 0 to 3
SIZE, STEP, RADIUS = 64, 15, 6


def draw(theme):
    """The logo as SVG, for a light or a dark page."""
    circles = []
    for distance, (others, relevant) in enumerate(STACKS):
        for height in range(others + relevant):
            x = SIZE / 2 + STEP * (distance - (len(STACKS) - 1) / 2)
            y = SIZE - 15 - STEP * height
            color = RELEVANT if height < relevant else OTHERS[theme]
            circles.append(f'<circle cx="{x:g}" cy="{y:g}" r="{RADIUS}" fill="{color}"/>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}">'
        + "".join(circles)
        + "</svg>\n"
    )


def write_logos(folder):
    """Write the logo for light and for dark pages into a folder."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for theme in OTHERS:
        (folder / f"logo-{theme}.svg").write_text(draw(theme))


if __name__ == "__main__":
    write_logos(sys.argv[1])
