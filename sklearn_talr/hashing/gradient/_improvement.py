"""Whether training has made codes better than those that it began with."""

import math
import warnings

from sklearn.exceptions import ConvergenceWarning

from ..._threads import one_thread

# Two standard errors of the difference between two scores of one sample. The standard error
# of the mean over n samples is smaller by the square root of n.
_TWO_STANDARD_ERRORS = 0.5

_REMEDY = (
    "Try a smaller learning_rate_init, a smaller weight_decay, more epochs (max_iter), or "
    "features of about unit scale; a network of your own may need normalizing layers, "
    "torch.nn.BatchNorm1d(n_bits, affine=False) as the last, or a warm-up by cross entropy."
)


class Improvement:
    """Warns if training has made the codes of some samples worse, or most of them equal.

    Parameters
    ----------
    score : ValidationScore or None, default=None
        Score of some samples. None: nothing is compared.

    samples : str, default=""
        Kind of the samples, for the warning.
    """

    def __init__(self, score=None, samples=""):
        self._score, self._samples = score, samples

    def begin(self, module):
        """Score the weights that training starts from."""
        if self._score is not None:
            with one_thread():
                self._before = self._score(module)

    def end(self, module, stacklevel):
        """Score the weights that training has ended with, and compare."""
        if self._score is None:
            return
        with one_thread():
            after = self._score(module)
            collapsed = self._score.is_collapsed(after)
        noise = _TWO_STANDARD_ERRORS / math.sqrt(len(self._score))
        samples = f"the score of {len(self._score)} {self._samples} samples"
        if after < self._before - noise:
            found = f"lowered {samples} from {self._before:.3f}, where it started, to"
        elif collapsed:
            found = f"made most codes equal, which leaves {samples} at"
        else:
            return
        warnings.warn(
            f"Training has {found} {after:.3f}. {_REMEDY}",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )
