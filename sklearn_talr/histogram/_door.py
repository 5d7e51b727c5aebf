"""Names that other rooms take from this one, beyond the public ones."""

from ._kernels import numba_is_installed
from ._rankings import check_rankings, padded_rows, sort_rows
from ._tables import check_hamming
from ._weighted_rankings import weighted_histograms

__all__ = [
    "check_hamming",
    "check_rankings",
    "numba_is_installed",
    "padded_rows",
    "sort_rows",
    "weighted_histograms",
]
