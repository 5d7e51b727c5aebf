"""A row for each model of a leaderboard. Its bar spans the ranks that the model may have.
Bars of neighboring models overlap, so that several models may be the best one.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd

from sklearn_talr.metrics import RanksDisplay
from sklearn_talr.runs import compare_scores, read_mteb_results

folder = Path(os.environ.get("SKLEARN_TALR_DATA", ""), "mteb_results")
if folder.is_dir():
    source = "MTEB(eng, v2)"
    scores = read_mteb_results(folder, subsets=["default", "en", "en-en"])
else:
    source = "made-up scores"
    rng = np.random.default_rng(0)
    tasks, quality = rng.uniform(0.3, 0.9, (41, 1)), np.linspace(0.02, -0.13, 20)
    scores = tasks + quality + rng.normal(0, 0.03, (41, 20))
    scores = pd.DataFrame(scores, columns=[f"model {number}" for number in range(20)])
comparison = compare_scores(scores)
display = RanksDisplay.from_comparison(comparison)
display.ax_.set_title(f"{len(scores)} tasks, {source}", loc="left", fontsize="medium")
