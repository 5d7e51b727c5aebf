"""Names that other rooms take from this one, beyond the public ones."""

from typing import TYPE_CHECKING

from .._lazy import lazy_names
from ._tie_aware import tie_aware_loss

if TYPE_CHECKING:
    from ._minibatch import Batch, Training, bind, to_device
    from ._two_views import ViewsTraining, bind_between

__all__ = [
    "Batch",
    "Training",
    "ViewsTraining",
    "bind",
    "bind_between",
    "tie_aware_loss",
    "to_device",
]

__getattr__, __dir__ = lazy_names(
    "sklearn_talr.losses",
    dict.fromkeys(("Batch", "Training", "bind", "to_device"), "_minibatch")
    | dict.fromkeys(("ViewsTraining", "bind_between"), "_two_views"),
    what="Training by gradients",
)
