"""Colors of methods: one for each, told apart by all readers, the same in every picture."""

import itertools
import runpy
from pathlib import Path

import matplotlib.colors
import numpy as np
import pytest

from sklearn_talr.metrics._displays import _axes

STYLES = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "method_styles.py"))
# How readers without the red, green or blue receptor see linear RGB (Viénot et al. 1999 for
# the first two; Machado et al. 2009 for the third)
SEEN = {
    "all": np.eye(3),
    "no red": [[0.112, 0.888, 0], [0.112, 0.888, 0], [0.004, -0.004, 1]],
    "no green": [[0.292, 0.708, 0], [0.292, 0.708, 0], [-0.022, 0.022, 1]],
    "no blue": [
        [1.256, -0.077, -0.179],
        [-0.078, 0.931, 0.148],
        [0.005, 0.691, 0.304],
    ],
}


def to_lab(color, seen):
    """CIELAB of a color as seen by a kind of reader."""
    rgb = np.array(matplotlib.colors.to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.array(SEEN[seen]) @ linear, 0, 1)
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    xyz = to_xyz @ linear / [0.9505, 1, 1.089]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("seen", SEEN)
def test_every_reader_tells_colors_apart(seen):
    colors = {STYLES["color_of"](name) for name in STYLES["_FAMILIES"]} | {STYLES["GRAY"]}
    assert len(colors) == len(STYLES["_FAMILIES"]) + 1
    labs = [to_lab(color, seen) for color in colors]
    apart = [np.linalg.norm(a - b) for a, b in itertools.combinations(labs, 2)]
    assert min(apart) > 10
    white = to_lab("white", seen)
    assert min(np.linalg.norm(lab - white) for lab in labs) > 30


@pytest.mark.parametrize("group", ["_FAMILIES", "_QUANTIZERS", "_RIVALS"])
def test_no_two_methods_of_a_group_have_one_marker(group):
    markers = [STYLES["style_of"](name)["marker"] for name in STYLES[group]]
    assert len(set(markers)) == len(markers)


def test_the_first_three_are_those_of_the_displays():
    for place, name in enumerate(("LSH", "ITQ", "TALR")):
        assert STYLES["style_of"](name) == _axes.line_style(place, {})
    fourth = {"linestyle": "-"}
    assert STYLES["style_of"]("two stages") == _axes.line_style(3, fourth)


def test_variants_of_a_method_have_its_color_and_differ():
    plain, hollow = map(STYLES["style_of"], ("kernel + TALR-AP", "kernel + TALR-NDCG"))
    assert plain["color"] == hollow["color"]
    assert plain != hollow
    assert STYLES["is_named"]("two stages")


@pytest.mark.parametrize("name", ["DSH", "kernel + DSH", "my.py:LOSS"])
def test_methods_of_others_are_gray(name):
    assert not STYLES["is_named"](name)
