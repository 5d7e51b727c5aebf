"""Ranks that the models of a leaderboard may have, on mteb's results if they are there."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
from picture_words import describe

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
first = f"1 to {display.rank_high[0]}"
describe(
    f"Rows of {len(display.names)} models, {source}. Bars are ranks that they may have;",
    f"that of the first reaches from {first}. {comparison.significant.mean():.0%} of all",
    "pairs differ significantly.",
)
