"""Names that other rooms take from this one, beyond the public ones."""

from ._risks import RankingRisk

__all__ = ["RankingRisk"]
