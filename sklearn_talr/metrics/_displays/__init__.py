"""Pictures of retrieval metrics, in the manner of scikit-learn's displays.

matplotlib is imported when something is drawn, not before.
"""

from ._radius_display import RadiusDisplay
from ._retrieval_curve_display import RetrievalCurveDisplay
from ._run_differences_display import RunDifferencesDisplay
from ._tie_breaking_display import TieBreakingDisplay
from ._tiers_display import TiersDisplay

__all__ = [
    "RadiusDisplay",
    "RetrievalCurveDisplay",
    "RunDifferencesDisplay",
    "TieBreakingDisplay",
    "TiersDisplay",
]
