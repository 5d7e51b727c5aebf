"""Real scores, which are no part of the project."""

import os
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def trec_8():
    """Average precision of 129 systems at TREC-8, a row for each of 50 topics."""
    folder = os.environ.get("SKLEARN_TALR_DATA")
    if not folder:
        pytest.skip("SKLEARN_TALR_DATA names no folder of data")
    path = Path(folder, "trec_scores", "adhoc8_ap.csv")
    return np.loadtxt(path, delimiter=",", skiprows=1)
