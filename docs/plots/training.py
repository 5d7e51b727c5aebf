"""On the left the loss of minibatches falls from 0.4 to 0.06. On the right the average
precision of validation samples rises from 0.7 to 0.9.
"""

import digits
import matplotlib.pyplot as plt
import numpy as np

from sklearn_talr import TALRHasher

rows = digits.split()
hasher = TALRHasher(16, max_iter=40, early_stopping=True, random_state=0)
hasher.fit(rows.X_train, rows.y_train, X_val=rows.X_database, y_val=rows.y_database)
epochs = 1 + np.arange(hasher.n_iter_)

figure, (left, right) = plt.subplots(1, 2, figsize=(5.2, 3))
left.plot(epochs, hasher.loss_curve_)
left.set(xlabel="epoch", ylabel="loss of minibatches", title="loss_curve_")
right.plot(epochs, hasher.validation_scores_, color="#009E73")
right.set(xlabel="epoch", ylabel="average precision", title="validation_scores_")
plt.show()
