"""Pictures of retrieval metrics, in the manner of scikit-learn's displays.

matplotlib is imported when something is drawn, not before.
"""

from ._radius_display import RadiusDisplay
from ._retrieval_curve_display import RetrievalCurveDisplay
from ._tie_breaking_display import TieBreakingDisplay

__all__ = ["RadiusDisplay", "RetrievalCurveDisplay", "TieBreakingDisplay"]
