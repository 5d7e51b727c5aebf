"""Five photographs and their labels. They share 3, 2, 1, 1 and 0 labels with the query.
These numbers are their levels.
"""

import matplotlib.pyplot as plt
from sklearn.preprocessing import MultiLabelBinarizer

from sklearn_talr.affinity import SharedLabelAffinity

photos = [
    {"beach", "dog", "sea"},
    {"beach", "dog"},
    {"dog", "sofa"},
    {"sea", "ship"},
    {"city"},
]
query = {"beach", "dog", "sea"}
binarizer = MultiLabelBinarizer().fit([*photos, query])
affinity = SharedLabelAffinity()(binarizer.transform([query]), binarizer.transform(photos))

figure, ax = plt.subplots(figsize=(6, 3.2))
ax.imshow(affinity.T, cmap="Blues", vmin=0, vmax=4, aspect="auto")
for row, value in enumerate(affinity[0]):
    shade = "white" if value > 2 else "black"
    word = "not similar" if value == 0 else "similar"
    ax.text(0, row, f"level {value}, {word}", ha="center", va="center", color=shade)
ax.set_yticks(range(5), [", ".join(sorted(photo)) for photo in photos])
ax.set_xticks([])
ax.set_title("affinity to a query with beach, dog, sea")
ax.grid(False)
plt.show()
