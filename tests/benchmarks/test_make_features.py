"""Parts of making feature files that need neither images nor weights of others."""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def made(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("make_features")


def waves(angle, period, shift=0.0):
    """An image of parallel waves; at angle 0 they run across, and stripes stand upright."""
    y, x = np.mgrid[:64, :64]
    phase = 2 * np.pi * (x * np.cos(angle) + y * np.sin(angle)) / period + shift
    return 127 * (1 + np.sin(phase))


def test_gist_finds_orientation_and_scale(made):
    """Of 4 scales, 8 orientations and 16 blocks, the filter of the waves answers most."""
    energy = {}
    for turn in range(8):
        for period in (3, 6, 12):
            (descriptor,) = made.gist([waves(np.pi * turn / 8, period)])
            by_filter = descriptor.reshape(4, 8, 16).mean(axis=2)
            scale, orientation = np.unravel_index(by_filter.argmax(), by_filter.shape)
            energy[turn, period] = scale
            assert orientation == -turn % 8
    assert [energy[0, period] for period in (3, 6, 12)] == [0, 1, 2]


def test_components_are_those_of_the_training_rows(made):
    rng = np.random.default_rng(0)
    outputs = rng.standard_normal((60, 5)) * [9, 5, 1, 0.5, 0.1] + 3
    train = np.arange(60) < 40
    outputs[~train] += 100  # what is held out moves nothing
    X = made.principal_components(outputs, train, 2)
    assert X.dtype == np.float16
    np.testing.assert_allclose(X[train].mean(axis=0), 0, atol=0.01)
    centered = outputs[train] - outputs[train].mean(axis=0)
    _, _, directions = np.linalg.svd(centered, full_matrices=False)
    expected = np.abs(centered @ directions[:2].T)
    np.testing.assert_allclose(np.abs(X[train]), expected, rtol=2e-3, atol=2e-3)


COCO = {
    "images": [{"id": i, "file_name": f"{i}.jpg"} for i in range(5)],
    "annotations": [
        {"image_id": i, "category_id": c}
        for i, c in [(0, 1), (0, 3), (0, 3), (1, 1), (2, 44), (2, 19), (3, 3)]
    ],
}


def test_labels_of_coco(made):
    labels = made.coco_labels(COCO)
    assert labels["0.jpg"] == {1, 3}
    assert "4.jpg" not in labels
    files = [f"{i}.jpg" for i in range(5)]
    Y, kept = made.label_indicators(files, labels, [3, 19])
    np.testing.assert_array_equal(kept, [0, 2, 3])  # the others have neither
    np.testing.assert_array_equal(Y, [[1, 0], [0, 1], [1, 0]])


@pytest.mark.parametrize(
    "rows", ["1,0,1,0\n% none\n0,1,0,1", "{0 1,2 1}\n{1 1, 3 1}"], ids=["dense", "sparse"]
)
def test_arff(made, rows):
    head = "@relation t\n@attribute a {0,1}\n@attribute 'b' {0,1}\n@ATTRIBUTE c {0,1}\n"
    text = f"{head}@attribute d {{0,1}}\n\n@data\n{rows}\n"
    X, Y, labels = made.read_arff(text.splitlines(), 2)
    np.testing.assert_array_equal(X, [[1, 0], [0, 1]])
    np.testing.assert_array_equal(Y, [[1, 0], [0, 1]])
    assert labels == ["c", "d"]
    with pytest.raises(ValueError, match="4 attributes, so none are labels"):
        made.read_arff(text.splitlines(), 4)


def test_files_are_those_that_are_read(made, monkeypatch, tmp_path, capsys):
    """The scenes from images on disk, the text from a file."""
    rng = np.random.default_rng(0)
    (tmp_path / "images" / "b").mkdir(parents=True)
    for name in ("b/1.png", "a.jpg", "c.PNG"):
        pixels = rng.integers(256, size=(48, 80, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "images" / name)
    (tmp_path / "images" / "notes.txt").write_text("no image")
    monkeypatch.setattr(sys, "argv", ["make_features.py"])
    made.main(["scenes", "--images", str(tmp_path / "images"), "--out", str(tmp_path)])
    with np.load(tmp_path / "scenes_gist512.npz") as arrays:
        assert arrays["X"].shape == (3, 512)
        assert arrays["X"].dtype == np.float16
        assert np.isfinite(arrays["X"]).all()

    attributes = "\n".join(f"@attribute w{i} {{0,1}}" for i in range(502))
    (tmp_path / "t.arff").write_text(f"{attributes}\n@data\n{{3 1, 501 1}}\n{{500 1}}\n")
    made.main(["tmc2007", "--arff", str(tmp_path / "t.arff"), "--out", str(tmp_path)])
    with np.load(tmp_path / "tmc2007.npz") as arrays:
        np.testing.assert_array_equal(arrays["Y"], [[0, 1], [1, 0]])
        assert arrays["X"].shape == (2, 500)
        assert arrays["X"].sum() == 1
    assert "X (2, 500), Y (2, 2)" in capsys.readouterr().out

    with pytest.raises(SystemExit):
        made.main(["tmc2007", "--out", str(tmp_path)])
    assert "tmc2007 needs --arff" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemExit, match="has no images"):
        made.main(["scenes", "--images", str(tmp_path / "empty"), "--out", str(tmp_path)])
