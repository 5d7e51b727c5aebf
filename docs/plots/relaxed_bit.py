"""A step from -1 to 1 at activation 0, and two smooth curves that follow it. The curve of
scale 3 follows it more closely than the curve of scale 1.
"""

import matplotlib.pyplot as plt
import numpy as np

activation = np.linspace(-3, 3, 600)
figure, ax = plt.subplots(figsize=(6, 3.4))
for scale, style in ((1, ":"), (3, "--")):
    ax.plot(activation, np.tanh(scale * activation), style, label=f"tanh, scale {scale}")
ax.plot(activation, np.where(activation > 0, 1, -1), "-", color="black", label="bit")
ax.set(xlabel="activation", ylabel="relaxed bit", yticks=[-1, 0, 1])
ax.legend()
plt.show()
