"""Progress of training, by which the learning rate and the scale of tanh are set."""

import math


class Schedule:
    """Runs from 0 to 1 in equal steps, one per epoch, and can be made to run faster.

    Parameters
    ----------
    n_epochs : int
        Number of epochs, at least 1.

    Attributes
    ----------
    n_left : int
        Number of epochs that are still to run.

    done : float
        Part of training that is done, in [0, 1].
    """

    def __init__(self, n_epochs):
        self.n_left = n_epochs
        self.done = 0.0

    def end_epoch(self):
        """An epoch has ended."""
        self.done += (1 - self.done) / self.n_left
        self.n_left -= 1

    def hasten(self, n_epochs):
        """Let the rest run in at most so many epochs."""
        self.n_left = min(self.n_left, n_epochs)

    def done_within(self, fraction):
        """Part of training that is done when this fraction of the epoch is done."""
        return self.done + fraction * (1 - self.done) / self.n_left

    def progress(self):
        """From 0 in the first epoch to 1 in the last one."""
        if self.n_left == 1:
            return 1.0 if self.done else 0.0
        return self.done / (1 - (1 - self.done) / self.n_left)

    def descent(self, fraction):
        """Factor of the learning rate: half a cosine from 1 to 0 over training."""
        return 0.5 * (1 + math.cos(math.pi * self.done_within(fraction)))
