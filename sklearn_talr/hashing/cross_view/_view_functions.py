"""Fitted hash functions of one view: layers, also behind a teacher."""

from ...codes._door import saturate
from .._base import BaseHasher


class ViewLayers(BaseHasher):
    """The fitted hash function of one view, a hasher like any other.

    Attributes
    ----------
    coefs_, intercepts_ : list of ndarray
        Weights of each layer, as of :class:`~sklearn_talr.hashing.SupervisedHasher`.

    means_ : list of one ndarray
        Subtracted from the features first.
    """

    _follows_arrays = False

    @classmethod
    def of(cls, fitted):
        """A fitted function, of a dict of its attributes."""
        view = cls()
        vars(view).update(fitted)
        return view

    def fit(self, X, y=None):
        """Do nothing, as a frozen estimator does: `CrossViewHasher` has fitted this one.

        Parameters
        ----------
        X, y : Ignored
            Present for API consistency.

        Returns
        -------
        self : object
            The fitted hasher.
        """
        return self

    def _weigh(self):
        return saturate


class BehindTeacher(ViewLayers):
    """A hasher of what a teacher says of features.

    Attributes
    ----------
    teacher_ : object
        Its ``transform`` turns features into what `hasher_` takes.

    hasher_ : hasher
        Fitted on features that teachers of both views gave.
    """

    def _encoder(self):
        return self.hasher_._encoder()._replace(prepare=self.teacher_.transform)

    def _weigh(self):
        return self.hasher_._weigh()

    @property
    def _n_features_out(self):
        return self.hasher_._n_features_out
