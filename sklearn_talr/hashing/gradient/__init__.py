"""The fit of a hash function by gradients of a loss of minibatches.

Fitted hashers need no torch. The modules that need it are loaded when a fit asks for
them.
"""

from typing import TYPE_CHECKING

from ..._lazy import lazy_names

if TYPE_CHECKING:
    from ._data import check_chunk, check_data
    from ._fit import fit_by_gradient, fit_chunk_by_gradient
    from ._settings import Settings

__all__ = [
    "Settings",
    "check_chunk",
    "check_data",
    "fit_by_gradient",
    "fit_chunk_by_gradient",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Settings": "_settings",
        "check_chunk": "_data",
        "check_data": "_data",
        "fit_by_gradient": "_fit",
        "fit_chunk_by_gradient": "_fit",
    },
    what="Training by gradients",
)
