"""Names that other rooms take from this one, beyond the public ones."""

from ._histograms import check_hamming
from ._rankings import check_rankings, padded_rows, sort_rows
from ._weighted_rankings import weighted_histograms

__all__ = [
    "check_hamming",
    "check_rankings",
    "padded_rows",
    "sort_rows",
    "weighted_histograms",
]
