"""Feature files for the benchmarks, from public data.

    python make_features.py cifar10 --out FOLDER
    python make_features.py coco17 --images FOLDER --annotations FILE.json ... --out FOLDER
    python make_features.py scenes --images FOLDER --out FOLDER
    python make_features.py clipart --images FOLDER --out FOLDER
    python make_features.py tmc2007 --arff FILE.arff --out FOLDER
    python make_features.py fashion_gist --out FOLDER  # two minutes
    python make_features.py fashion_copies --out FOLDER
    python make_features.py fashion_cnn --out FOLDER   # three minutes

``cifar10`` and ``coco17`` ask the network tf_efficientnet_lite0 of timm, whose weights timm
loads; torchvision has the images of CIFAR-10. ``scenes`` computes GIST descriptors of all
images of a folder, and ``tmc2007`` reads the file of the Mulan collection. Each writes the
file that ``load_benchmark`` reads. ``clipart`` is for ``bench_batches.py``: GIST, HOG and
colours of a folder of folders, such as /usr/share/openclipart/png of Debian's
openclipart-png, whose classes are the folders of the second level.

The last three need no download beyond Debian's package ``dataset-fashion-mnist``, whose
folder ``--images`` names if it is elsewhere. They are features as people have them: all
numbers are at least 0, and nothing is centered or scaled. ``fashion_gist`` has GIST
descriptors of the first 30 000 images, ``fashion_copies`` those of distorted copies of
the first 3 000, and ``fashion_cnn`` the rectified hidden layer of a small network. It
learns which way up an image is, from 10 000 other images and without their labels.

The files that the guide's numbers were measured on came from the same kind of data, but
their images, weights and details are not all known: numbers come close, and are not equal.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from benchmark_sets import FASHION_MNIST, read_idx
from scipy.fft import fft2, fftfreq, ifft2
from sklearn.decomposition import PCA

NETWORK = "tf_efficientnet_lite0"
N_COMPONENTS = 512
GIST_SIZE, GIST_BLOCKS, ORIENTATIONS = 64, 4, (8, 8, 8, 8)  # 32 filters in 16 blocks
CLIPS = 36, 55  # pictures of a folder, at least and at most
TMC_WORDS = 500
N_FASHION, N_FASHION_TO_LEARN = 30_000, 10_000  # images with features, and for the network
N_EPOCHS = 3  # of the network
N_COPIES, PIXEL_NOISE = 3_000, 0.15  # images copied, and noise relative to a gray value
COCO_IDS = range(2, 20)  # of categories; 1 is the person, on three quarters of the images
_IMAGE_ENDINGS = {".jpg", ".jpeg", ".png"}


def gist(images):
    """GIST descriptors of gray images (Oliva and Torralba, 2001).

    An image is whitened, filtered by Gabor filters of four scales and eight orientations,
    and the magnitude of each answer is averaged over the 16 blocks of a grid.

    Parameters
    ----------
    images : ndarray of shape (n_images, 64, 64)
        Gray values from 0 to 255.

    Returns
    -------
    descriptors : ndarray of shape (n_images, 512), dtype float32
    """
    images = np.asarray(images, dtype=float)
    if images.shape[1:] != (GIST_SIZE, GIST_SIZE):
        raise ValueError(
            f"images has shape {images.shape}; resize each to {GIST_SIZE} x {GIST_SIZE}."
        )
    spectra = fft2(_whiten(images))
    width = GIST_SIZE // GIST_BLOCKS
    blocks = (len(images), GIST_BLOCKS, width, GIST_BLOCKS, width)
    answers = [np.abs(ifft2(spectra * gabor)) for gabor in gabor_filters(GIST_SIZE)]
    means = [answer.reshape(blocks).mean(axis=(2, 4)) for answer in answers]
    return np.stack(means, axis=1).reshape(len(images), -1).astype(np.float32)


def hog(gray, n_cells=8, n_angles=9):
    """Histograms of oriented gradients of a gray image (Dalal and Triggs, 2005).

    Parameters
    ----------
    gray : ndarray of shape (size, size)
        Gray values.

    n_cells : int, default=8
        Cells along each side; blocks of two by two cells, side by side, are normalized.

    n_angles : int, default=9
        Bins of the angle of a gradient, between which a gradient is shared out.

    Returns
    -------
    descriptor : ndarray of shape (n_cells**2 * n_angles,)
    """
    down, right = np.gradient(np.asarray(gray, dtype=float))
    length = np.hypot(right, down)
    angle = np.mod(np.arctan2(down, right), np.pi) * n_angles / np.pi
    lower, part = np.floor(angle).astype(int) % n_angles, angle % 1
    upper, width = (lower + 1) % n_angles, len(gray) // n_cells
    bins = np.zeros((*gray.shape, n_angles))
    np.put_along_axis(bins, lower[..., None], ((1 - part) * length)[..., None], axis=2)
    np.put_along_axis(bins, upper[..., None], (part * length)[..., None], axis=2)
    cells = bins.reshape(n_cells, width, n_cells, width, n_angles).sum(axis=(1, 3))
    blocks = cells.reshape(n_cells // 2, 2, n_cells // 2, 2, n_angles)
    blocks = blocks.transpose(0, 2, 1, 3, 4).reshape(-1, 4 * n_angles)
    return (blocks / np.sqrt((blocks**2).sum(axis=1, keepdims=True) + 1)).ravel()


def colours(image, n_steps=4):
    """Square roots of the shares of 64 colours in an image of shape (height, width, 3)."""
    red, green, blue = np.moveaxis(np.asarray(image) // (256 // n_steps), 2, 0).astype(int)
    places = (red * n_steps + green) * n_steps + blue
    counts = np.bincount(places.ravel(), minlength=n_steps**3)
    return np.sqrt(counts / places.size)


def gabor_filters(size, orientations=ORIENTATIONS):
    """Transfer functions of Gabor filters, (n_filters, size, size), scale by scale."""
    f = fftfreq(size, 1 / size)
    radius = np.hypot(f[:, None], f)
    angle = np.arctan2(f[:, None], f)
    filters = []
    for scale, n in enumerate(orientations):
        center = 0.3 * size / 1.85**scale
        for i in range(n):
            turn = (angle + np.pi * i / n + np.pi) % (2 * np.pi) - np.pi
            along = 3.5 * (radius / center - 1) ** 2
            across = 2 * np.pi * (16 * n**2 / 32**2) * turn**2
            filters.append(np.exp(-along - across))
    return np.stack(filters)


def _whiten(images, cutoff=4):
    """Take the local mean from log intensities, and divide by the local deviation."""
    logs = np.log1p(images)
    f = fftfreq(images.shape[1], 1 / images.shape[1])
    low = np.exp(-(f[:, None] ** 2 + f**2) * np.log(2) / cutoff**2)
    details = logs - ifft2(fft2(logs) * low).real
    energy = np.abs(ifft2(fft2(details**2) * low))
    return details / (0.2 + np.sqrt(energy))


def principal_components(outputs, train, n_components=N_COMPONENTS):
    """Outputs of a network in float16, as components that the training rows have.

    Parameters
    ----------
    outputs : ndarray of shape (n_samples, n_outputs)
        Of the network.

    train : ndarray of shape (n_samples,), dtype bool
        Rows to fit the components on.

    n_components : int, default=512
        At most as many as outputs.
    """
    pca = PCA(n_components, random_state=0).fit(outputs[train])
    return pca.transform(outputs).astype(np.float16)


def label_indicators(names, labels_of, labels):
    """Indicators of labels, of the samples that have one at least.

    Parameters
    ----------
    names : list
        Samples, in order.

    labels_of : dict of set
        Labels of each sample that has some, others than these among them.

    labels : list
        Label of each column.

    Returns
    -------
    Y : ndarray of shape (n_kept, n_labels), dtype uint8
    kept : ndarray of int
        Places of the samples that have a label.
    """
    every = [labels_of.get(name, set()) for name in names]
    Y = np.array([[label in own for label in labels] for own in every], dtype=np.uint8)
    kept = np.flatnonzero(Y.any(axis=1))
    return Y[kept], kept


def coco_labels(annotations):
    """Ids of the categories on the images of COCO, by the names of their files.

    Parameters
    ----------
    annotations : dict
        The content of ``instances_*.json``.
    """
    file_of = {image["id"]: image["file_name"] for image in annotations["images"]}
    labels = {}
    for each in annotations["annotations"]:
        labels.setdefault(file_of[each["image_id"]], set()).add(each["category_id"])
    return labels


def read_arff(lines, n_features):
    """Binary features, binary labels and the labels' names of an ARFF file.

    Rows may be dense, or sparse as in ``{3 1, 7 1}``. The first attributes are features.
    """
    names, rows, in_data = [], [], False
    for line in map(str.strip, lines):
        if not line or line.startswith("%"):
            continue
        if in_data:
            rows.append(_arff_row(line, len(names)))
        elif line.lower().startswith("@attribute"):
            names.append(line.split()[1].strip("'\""))
        in_data = in_data or line.lower().startswith("@data")
    if len(names) <= n_features:
        raise ValueError(f"The file has {len(names)} attributes, so none are labels.")
    table = np.array(rows, dtype=np.uint8)
    return table[:, :n_features], table[:, n_features:], names[n_features:]


def _arff_row(line, n_attributes):
    if not line.startswith("{"):
        return [int(float(value)) for value in line.split(",")]
    row = [0] * n_attributes
    for pair in filter(None, (part.strip() for part in line.strip("{}").split(","))):
        place, value = pair.split()
        row[int(place)] = int(float(value))
    return row


def network_outputs(images, size, batch_size=64):  # pragma: no cover - downloads weights
    """Outputs of the network before its last layer, of images of PIL."""
    import timm
    import torch

    network = timm.create_model(NETWORK, pretrained=True, num_classes=0).eval()
    config = timm.data.resolve_data_config({"input_size": (3, size, size)}, model=network)
    prepare = timm.data.create_transform(**config | {"crop_pct": 1.0})
    outputs = []
    with torch.inference_mode():
        for start in range(0, len(images), batch_size):
            batch = [prepare(images[i]) for i in range(len(images))[start:][:batch_size]]
            outputs.append(network(torch.stack(batch)).numpy())
    return np.concatenate(outputs)


class ImagesOnDisk:
    """Images of files, opened when they are asked for."""

    def __init__(self, paths, mode="RGB", size=None):
        self.paths, self.mode, self.size = list(paths), mode, size

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        from PIL import Image

        with Image.open(self.paths[i]) as image:
            image = image.convert(self.mode)
            return image if self.size is None else image.resize((self.size, self.size))


def image_files(folder):
    """Paths of the images of a folder and of those in it, in order of their names."""
    return sorted(p for p in Path(folder).rglob("*") if p.suffix.lower() in _IMAGE_ENDINGS)


def make_cifar10(arguments):  # pragma: no cover - downloads images
    """All 60 000 images, the 10 000 test images first."""
    from torchvision.datasets import CIFAR10

    parts = [CIFAR10(arguments.images, train, download=True) for train in (False, True)]
    images = [image for part in parts for image, _ in part]
    y = np.concatenate([part.targets for part in parts]).astype(np.uint8)
    train = np.arange(len(y)) >= len(parts[0])
    X = principal_components(network_outputs(images, 160), train)
    return {"X": X, "y": y, "train": train, "classes": np.array(parts[0].classes)}


def make_coco17(arguments):  # pragma: no cover - needs images and weights
    """Images of a folder that show one of the categories."""
    labels = {}
    for path in arguments.annotations:
        labels |= coco_labels(json.loads(Path(path).read_text()))
    paths = [path for path in image_files(arguments.images) if path.name in labels]
    known = {each for of_image in labels.values() for each in of_image}
    ids = [each for each in COCO_IDS if each in known]  # COCO has no 12
    Y, kept = label_indicators([path.name for path in paths], labels, ids)
    outputs = network_outputs(ImagesOnDisk([paths[i] for i in kept]), 224)
    every = np.ones(len(outputs), dtype=bool)
    return {"X": principal_components(outputs, every), "Y": Y, "labels": np.array(ids)}


def make_scenes(arguments):
    """GIST descriptors of the images of a folder."""
    images = ImagesOnDisk(image_files(arguments.images), "L", GIST_SIZE)
    if not len(images):
        raise SystemExit(f"{arguments.images} has no images.")
    parts = [gist([np.asarray(images[i])]) for i in range(len(images))]
    return {"X": np.concatenate(parts).astype(np.float16)}


def make_clipart(arguments):  # pragma: no cover - needs images
    """Pictures on white of the folders of the second level with 36 or more of them.

    At most 55 of a folder are drawn. Each kind of features has unit length in each row.
    """
    from PIL import Image

    paths_of = {}
    for path in image_files(arguments.images):
        folder = path.parent.relative_to(arguments.images).parts[:2]
        paths_of.setdefault("/".join(folder), []).append(path)
    rng, rows, y = np.random.default_rng(0), [], []
    classes = sorted(name for name, paths in paths_of.items() if len(paths) >= CLIPS[0])
    for label, name in enumerate(classes):
        for place in rng.permutation(len(paths_of[name])):
            if y.count(label) == CLIPS[1]:
                break
            try:
                with Image.open(paths_of[name][place]) as image:
                    image = image.convert("RGBA")
            except Image.DecompressionBombError:
                continue
            image.thumbnail((256, 256))
            white = Image.new("RGBA", image.size, (255, 255, 255, 255))
            white.alpha_composite(image)
            image = white.convert("RGB").resize((GIST_SIZE, GIST_SIZE))
            gray = np.asarray(image.convert("L"))
            kinds = gist([gray])[0], hog(gray), colours(image)
            lengths = [np.linalg.norm(kind) or 1.0 for kind in kinds]
            rows.append(np.concatenate([k / n for k, n in zip(kinds, lengths)]))
            y.append(label)
    return {"X": np.array(rows, np.float32), "y": np.array(y), "classes": np.array(classes)}


def make_tmc2007(arguments):
    """Words and labels of the file of the Mulan collection."""
    with open(arguments.arff, encoding="utf-8") as lines:
        X, Y, labels = read_arff(lines, TMC_WORDS)
    return {"X": X, "Y": Y, "labels": np.array(labels)}


def fashion_images(folder):
    """Gray images of 28 x 28 pixels, and their labels, of Fashion-MNIST's training file."""
    pixels = read_idx(folder / "train-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28)
    return pixels, read_idx(folder / "train-labels-idx1-ubyte.gz", 8)


def gist_of_pixels(images, n_at_once=200):
    """GIST descriptors of gray images of any size, which are resized."""
    from PIL import Image

    size = (GIST_SIZE, GIST_SIZE)
    parts = []
    for start in range(0, len(images), n_at_once):
        block = images[start : start + n_at_once]
        parts.append(
            gist([np.asarray(Image.fromarray(image).resize(size)) for image in block])
        )
    return np.concatenate(parts)


def rectified_features(images, images_to_learn):  # pragma: no cover - trains for minutes
    """Rectified hidden units of a network that learned to tell which way up an image is.

    Gidaris et al., "Unsupervised Representation Learning by Predicting Image Rotations",
    ICLR 2018. No labels are used.

    Parameters
    ----------
    images : ndarray of shape (n_images, 28, 28), dtype uint8
        Images to describe.

    images_to_learn : ndarray of shape (n_others, 28, 28), dtype uint8
        Images to train the network on, each turned by 0, 90, 180 and 270 degrees.

    Returns
    -------
    features : ndarray of shape (n_images, 256), dtype float32
        At least 0.
    """
    import torch
    from torch import nn

    torch.manual_seed(0)
    features = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 7 * 7, 256),
        nn.ReLU(),
    )
    network = nn.Sequential(features, nn.Linear(256, 4))
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    pixels = _as_tensor(images_to_learn)
    for _ in range(N_EPOCHS):
        for rows in torch.randperm(len(pixels)).split(64):
            turned = [torch.rot90(pixels[rows], turn, (2, 3)) for turn in range(4)]
            turns = torch.arange(4).repeat_interleave(len(rows))
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(torch.cat(turned)), turns).backward()
            optimizer.step()
    with torch.inference_mode():
        return torch.cat(
            [features(block) for block in _as_tensor(images).split(500)]
        ).numpy()


def _as_tensor(images):
    """Images with one channel of values from 0 to 1."""
    import torch

    return torch.from_numpy(images[:, None] / np.float32(255))


def make_fashion_gist(arguments):
    """GIST descriptors of Fashion-MNIST."""
    images, y = fashion_images(arguments.images or FASHION_MNIST)
    X = gist_of_pixels(images[:N_FASHION]).astype(np.float16)
    return {"X": X, "y": y[:N_FASHION]}


def distorted(images, seed=0):
    """Copies moved by a pixel at most, made darker or lighter, and noisy where light is."""
    rng = np.random.default_rng(seed)
    moves = rng.integers(-1, 2, size=(len(images), 2))
    moved = [np.roll(image, move, (0, 1)) for image, move in zip(images, moves)]
    shades = rng.uniform(0.7, 1.1, size=(len(images), 1, 1))
    noise = 1 + PIXEL_NOISE * rng.standard_normal(images.shape)
    return np.clip(np.round(moved * shades * noise), 0, 255).astype(np.uint8)


def make_fashion_copies(arguments):
    """GIST descriptors of distorted copies."""
    images, _ = fashion_images(arguments.images or FASHION_MNIST)
    return {"X": gist_of_pixels(distorted(images[:N_COPIES])).astype(np.float16)}


def make_fashion_cnn(arguments):  # pragma: no cover - trains for minutes
    """A rectified layer of Fashion-MNIST."""
    images, y = fashion_images(arguments.images or FASHION_MNIST)
    X = rectified_features(images[:N_FASHION], images[-N_FASHION_TO_LEARN:])
    return {"X": X.astype(np.float16), "y": y[:N_FASHION]}


MAKERS = {
    "cifar10": (make_cifar10, "cifar10_cnn512.npz", ("images",)),
    "coco17": (make_coco17, "coco17_cnn512.npz", ("images", "annotations")),
    "scenes": (make_scenes, "scenes_gist512.npz", ("images",)),
    "clipart": (make_clipart, "clipart.npz", ("images",)),
    "tmc2007": (make_tmc2007, "tmc2007.npz", ("arff",)),
    "fashion_gist": (make_fashion_gist, "fashion_gist512.npz", ()),
    "fashion_copies": (make_fashion_copies, "fashion_copies_gist512.npz", ()),
    "fashion_cnn": (make_fashion_cnn, "fashion_cnn256.npz", ()),
}


def main(command=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", choices=MAKERS)
    parser.add_argument("--images", type=Path, help="folder of images")
    parser.add_argument("--annotations", nargs="+", help="instances_*.json of COCO")
    parser.add_argument("--arff", type=Path, help="tmc2007-500.arff")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args(command)
    make, name, needed = MAKERS[arguments.data]
    for option in needed:
        if getattr(arguments, option) is None:
            parser.error(f"{arguments.data} needs --{option}.")
    arrays = make(arguments)
    arguments.out.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(arguments.out / name, **arrays)
    shapes = ", ".join(f"{key} {value.shape}" for key, value in arrays.items())
    print(f"{arguments.out / name}: {shapes}")


if __name__ == "__main__":
    main()
