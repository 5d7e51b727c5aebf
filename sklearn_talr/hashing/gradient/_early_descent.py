"""Which weights training keeps, and when it stops."""

import math

import numpy as np


class LastEpoch:
    """Keeps the weights of the last completed epoch, and never stops.

    Attributes
    ----------
    losses : list of float
        Losses of the completed epochs.
    """

    kept = "the weights of the last completed epoch"

    def __init__(self):
        self.losses = []

    def begin(self, module):
        """Keep the weights that training starts from."""
        self._note(_weights=_weights_of(module))

    def end_epoch(self, module, loss):
        """Note the weights and the loss of an epoch; return whether to stop or descend."""
        self._note(losses=[*self.losses, loss], _weights=_weights_of(module))
        return False

    def restore(self, module):
        """Give the module the weights that were kept."""
        module.load_state_dict(self._weights)

    def describe(self):
        """Text to print after the loss of an epoch."""
        return ""

    def _note(self, **facts):
        """Set attributes in one step: an interrupt cannot leave half of an epoch."""
        vars(self).update(facts)


class EarlyDescent(LastEpoch):
    """Keeps the weights of the best validation score, and tells when it rises no more.

    An epoch counts as no improvement unless it beats the best score by `tol`, as in
    scikit-learn's multi-layer perceptrons. The perceptrons stop after too many such epochs,
    with the weights of the last epoch. Here training goes back to the weights of the best
    score, and the learning rate descends from there. The noise of a high rate hides the
    small differences between epochs, so that the last epoch of the descent is kept whose
    score is no worse than the best score before the descent.

    Parameters
    ----------
    score : callable
        ``score(module) -> float``, higher is better.

    n_iter_no_change : int
        The score rises no more after more than so many epochs in a row without
        improvement.

    tol : float
        The least improvement that counts.

    held_out : ndarray of int or None
        Rows that are scored, and are trained on in the descent, which is not scored then.
        None: validation samples are no training samples.
    """

    kept = "the weights of the best validation score"

    def __init__(self, score, n_iter_no_change, tol, held_out=None):
        super().__init__()
        self.score = score
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.held_out = held_out
        self.scores = []
        self.best_score = -math.inf
        self._n_without = 0
        self._descends = False

    def end_epoch(self, module, loss):
        if self._descends and self.held_out is not None:
            return super().end_epoch(module, loss)
        score = self.score(module)
        improved = score >= self.best_score + self.tol
        facts = {"losses": [*self.losses, loss], "scores": [*self.scores, score]}
        if self._descends:
            if score >= self.best_score:
                facts["_weights"] = _weights_of(module)
        elif score > self.best_score:
            facts |= {"best_score": score, "_weights": _weights_of(module)}
        self._note(_n_without=0 if improved else self._n_without + 1, **facts)
        return not self._descends and self._n_without > self.n_iter_no_change

    def begin_descent(self, module, samples):
        """Go back to the best weights; return the rows to train on from now on."""
        self.restore(module)
        self._note(_descends=True)
        if self.held_out is None:
            return samples
        return np.sort(np.concatenate([samples, self.held_out]))

    def describe(self):
        if self._descends and self.held_out is not None:
            return ", all samples"
        return f", validation score = {self.scores[-1]:.6f}"


def _weights_of(module):
    return {name: value.clone() for name, value in module.state_dict().items()}
