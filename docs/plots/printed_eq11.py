"""On the left eq. 11 rises without limit as the number of items before a distance falls to
0, and the exact form tends to 0.25. On the right eq. 11 has a pole at one item, and the
exact form is 0.15 there.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

from sklearn_talr.losses import soft_average_precision


def printed(c, c_pos, before, before_pos, n_pos):
    r = (c_pos - 1) / (c - 1)
    log = np.log((before + c) / before)
    return c_pos / n_pos * (r + (before_pos + 1 - r * (before + 1)) * log / c)


def exact(c, c_pos, before, before_pos, n_pos):
    """The library's AP of all distances up to this one, less that of those before it."""

    def ap(cells):
        ap = soft_average_precision(torch.tensor(cells), [0, 1]).numpy()
        return ap * np.sum(cells, axis=2)[:, 1]

    c, before = np.broadcast_arrays(c, before)
    first = np.array([before - before_pos, np.full(before.shape, before_pos)])
    second = np.array([c - c_pos, np.full(c.shape, c_pos)])
    tables = np.stack([first, second]).transpose(2, 1, 0).astype(float)
    return (ap(tables) - ap(tables[..., :1])) / n_pos


figure, (left, right) = plt.subplots(1, 2, figsize=(5.2, 3.2))
before = np.geomspace(1e-6, 10, 300)
added = {"eq. 11": printed, "exact": exact}
for style, (name, form) in zip(("--", "-"), added.items()):
    color = "#D55E00" if name == "eq. 11" else "#0072B2"
    left.plot(before, form(2.0, 1.0, before, 0.0, 3), style, color=color, label=name)
    for part in (np.linspace(0.55, 0.998, 200), np.linspace(1.002, 1.45, 200)):
        right.plot(part, form(part, 0.5, 2.0, 1.0, 2), style, color=color)
left.set(
    xlabel="items before this distance",
    ylabel="added to average precision",
    title="no limit at 0 items",
    xscale="log",
    xticks=[1e-6, 1e-4, 1e-2, 1],
    ylim=(0, 3),
)
left.legend()
right.axvline(1, color="0.6", lw=1, ls=":")
right.set(xlabel="items at this distance", title="pole at 1", ylim=(-1.5, 1.5))
plt.show()
