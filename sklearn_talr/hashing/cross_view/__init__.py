"""Hash functions of two views: the pairs that tie them, common spaces, starts, and the fit.

Fitted hashers need no torch. The modules that need it are loaded when a fit asks for them.
"""

from typing import TYPE_CHECKING

from ..._lazy import lazy_names
from ._checked_views import check_views, judgments_by_query
from ._common_space import beside_features, teach_classes, teach_judgments
from ._view_functions import BehindTeacher, ViewLayers

if TYPE_CHECKING:
    from ._towers_fit import fit_towers

__all__ = [
    "BehindTeacher",
    "ViewLayers",
    "beside_features",
    "check_views",
    "fit_towers",
    "judgments_by_query",
    "teach_classes",
    "teach_judgments",
]

__getattr__, __dir__ = lazy_names(
    __name__, {"fit_towers": "_towers_fit"}, what="Training by gradients"
)
