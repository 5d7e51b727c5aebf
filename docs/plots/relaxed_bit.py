"""The sign of an activation is the bit; tanh makes it smooth."""

import matplotlib.pyplot as plt
import numpy as np
from picture_words import describe

activation = np.linspace(-3, 3, 600)
figure, ax = plt.subplots(figsize=(6, 3.4))
for scale, style in ((1, ":"), (3, "--")):
    ax.plot(activation, np.tanh(scale * activation), style, label=f"tanh, scale {scale}")
ax.plot(activation, np.where(activation > 0, 1, -1), "-", color="black", label="bit")
ax.set(xlabel="activation", ylabel="relaxed bit", yticks=[-1, 0, 1])
ax.legend()
describe(
    "A step from -1 to 1 at activation 0, and two smooth curves that follow it, the one of",
    "scale 3 more closely than the one of scale 1.",
)
plt.show()
