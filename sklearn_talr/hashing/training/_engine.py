"""The interface of engines of training by gradients; `_host` and `_torch` implement it."""

from contextlib import AbstractContextManager
from typing import ClassVar, Protocol

from ..._core.types import Any, Array, Callable


class Engine(Protocol):
    """Has hash functions in training, and moves them down the loss of minibatches.

    Engines are made from functions, one or two; the features of each; a loss; its
    `LossContext`; a `TrainingPlan`; and, for two views, a callable that returns the places
    of the affinities between queries and items among the levels.
    """

    layers: ClassVar[Callable[..., Any]]
    """Makes a hash function of layers from coefs, intercepts, features, plan and rng."""

    fitted_by_loss: dict[str, Any]
    """Attributes that the fitted hasher keeps of the loss."""

    @staticmethod
    def context() -> AbstractContextManager[Any]:
        """Context in which engines are made and train."""

    @staticmethod
    def features(X: Any, scaling: Any, plan: Any) -> Any:
        """Rows of features as training takes them."""

    def generators(self) -> AbstractContextManager[Any]:
        """Context of training, which leaves global generators alone."""

    def step(self, rows: Any, kept: Array | None, scale: float | None, rate: float) -> Any:
        """Take a step down the gradient of a minibatch; return its loss."""

    def codes(self, features: Any, rows: Array) -> Array:
        """Codes of rows of features by the first function, (n_rows, n_bits), uint8."""

    def weights(self) -> Any:
        """Copies of all parameters, to be restored."""

    def restore(self, weights: Any) -> None:
        """Give the functions weights that were kept."""

    def is_finite(self) -> bool:
        """Whether no parameter is NaN or infinite."""

    def moments(self) -> dict[int, dict[str, Array]]:
        """Moments of gradients, as NumPy arrays by the place of the parameter."""

    def load_moments(self, moments: dict[int, dict[str, Array]]) -> None:
        """Go on from moments that either engine has returned."""
