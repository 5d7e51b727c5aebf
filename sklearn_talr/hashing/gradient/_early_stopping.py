"""Which weights training keeps, and when it stops."""

import math

import numpy as np

from ...affinity._contrast import check_contrast
from ...affinity._resolve import len_targets
from ...metrics import make_retrieval_scorer
from ._functions import encode


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
        """Look at the weights and the loss of an epoch; return whether to stop."""
        self._note(losses=[*self.losses, loss], _weights=_weights_of(module))
        return False

    def restore(self, module):
        """Give the module the weights that were kept."""
        module.load_state_dict(self._weights)

    def describe(self):
        """What to print about the last epoch."""
        return ""

    def _note(self, **facts):
        """Set attributes in one step: an interrupt finds all of an epoch or nothing."""
        vars(self).update(facts)


class EarlyStopping(LastEpoch):
    """Keeps the weights of the best held-out score; stops when that no longer improves.

    The rule is that of scikit-learn's multi-layer perceptrons: an epoch counts as no
    improvement unless it beats the best score by `tol`.

    Parameters
    ----------
    score : callable
        ``score(module) -> float``, higher is better.

    n_iter_no_change : int
        Stop after more than so many epochs in a row without improvement.

    tol : float
        The least improvement that counts.
    """

    kept = "the weights of the best validation score"

    def __init__(self, score, n_iter_no_change, tol):
        super().__init__()
        self.score = score
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.scores = []
        self.best_score = -math.inf
        self._n_without = 0

    def end_epoch(self, module, loss):
        score = self.score(module)
        improved = score >= self.best_score + self.tol
        facts = {"losses": [*self.losses, loss], "scores": [*self.scores, score]}
        if score > self.best_score:
            facts |= {"best_score": score, "_weights": _weights_of(module)}
        self._note(_n_without=0 if improved else self._n_without + 1, **facts)
        return self._n_without > self.n_iter_no_change

    def describe(self):
        return f", validation score = {self.scores[-1]:.6f}"


def _weights_of(module):
    return {name: value.clone() for name, value in module.state_dict().items()}


class HeldOutScore:
    """Tie-aware score of held-out samples, each of which ranks the others.

    Neither queries nor database items were trained on. Against the training rows scores
    would be higher: codes of those are fitted, and a database grows beyond them.

    Parameters
    ----------
    data : TrainingData
        Targets and affinity of all samples.

    features : Features
        Features of all samples.

    samples : ndarray of int
        Rows held out.

    metric : str
        Name of the metric.
    """

    def __init__(self, data, features, samples, metric):
        self.affinity_ = data.affinity
        self._scorer = make_retrieval_scorer(metric)
        self._features = features
        self._targets = data.targets[samples]
        self._samples = samples

    def __call__(self, module):
        self._module = module
        return self._scorer(self, self._samples, self._targets)

    def transform(self, samples):
        """Codes of some samples: to the scorer this object is a fitted hasher."""
        return encode(self._module, self._features, samples)


def split_samples(data, n_held_out, rng):
    """Row indices for training and for validation, both ascending.

    Raises
    ------
    ValueError
        If either part is too small to rank anything.
    """
    n_samples = len_targets(data.targets)
    if n_held_out < 2 or n_samples - n_held_out < 2:
        raise ValueError(
            "early_stopping=True with this validation_fraction would split "
            f"{n_samples} samples into {n_samples - n_held_out} for training and "
            f"{n_held_out} for validation; both need at least 2. Change "
            "validation_fraction, or set early_stopping=False."
        )
    order = rng.permutation(n_samples)
    parts = np.sort(order[n_held_out:]), np.sort(order[:n_held_out])
    for part, name in zip(parts, ("training", "validation")):
        try:
            check_contrast(data.affinity, data.levels, data.targets[part])
        except ValueError as error:
            raise ValueError(
                "early_stopping=True with this validation_fraction leaves "
                f"{len(part)} samples for {name}, which cannot be ranked: {error} "
                "More samples, another validation_fraction or early_stopping=False may "
                "help."
            ) from error
    return parts
