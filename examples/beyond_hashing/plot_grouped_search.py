"""
Model selection by NDCG per query
=================================

In learning to rank items belong to queries, and only their order within a query counts. A
grid search should see that. Predictions of trees tie many items, and neither the search nor
the comparison at the end should depend on how these ties are broken.
:doc:`/user_guide/runs` is the chapter on such rankings.
"""

# %%
# Queries, items, grades
# ----------------------
# Each of 150 queries has 5 to 40 items with 20 features, and grades from 0 to 3. A third of
# the queries is held out.

import numpy as np

rng = np.random.default_rng(0)
groups = np.repeat(np.arange(150), rng.integers(5, 41, size=150))
X = rng.normal(size=(len(groups), 20))
wanted = X[:, 0] + X[:, 1] * (X[:, 2] > 0) + rng.normal(scale=0.8, size=len(groups))
y = np.digitize(wanted, [0.8, 1.6, 2.4])
is_train = groups < 100

# %%
# Two models, one scorer
# ----------------------
# With metadata routing a search hands ``groups`` to the splitter, which keeps queries
# whole, and to the scorer, which ranks within them.

import sklearn
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.tree import DecisionTreeRegressor

from sklearn_talr.metrics import make_ranking_scorer

models = {
    "linear": (Ridge(), {"alpha": [1.0, 100.0, 10_000.0]}),
    "tree": (DecisionTreeRegressor(random_state=0), {"max_depth": [1, 2, 4, 6, 8, 12]}),
}
searches = {}
with sklearn.config_context(enable_metadata_routing=True):
    for name, (model, grid) in models.items():
        search = GridSearchCV(
            model, grid, scoring=make_ranking_scorer("nDCG@10"), cv=GroupKFold(5)
        )
        searches[name] = search.fit(X[is_train], y[is_train], groups=groups[is_train])
        print(f"{name}: {search.best_params_}, NDCG@10 {search.best_score_:.3f}")

# %%
# Held-out queries as runs
# ------------------------
# Predictions become runs, which other tools could read too. The interval shows what
# breaking ties could have made of each number; the linear model ties nothing.

from sklearn_talr.metrics import TieBreakingDisplay
from sklearn_talr.runs import Run, compare_runs, evaluate_run

held_out = np.flatnonzero(~is_train)


def by_query(values):
    """A dict of dicts, item by item."""
    nested = {}
    for item, value in zip(held_out, values):
        nested.setdefault(f"query {groups[item]}", {})[f"item {item}"] = value
    return nested


qrels = by_query(y[held_out])
results = [
    evaluate_run(qrels, Run(by_query(search.predict(X[held_out])), name), ["nDCG@10", "AP"])
    for name, search in searches.items()
]
print(*results, compare_runs(*results), sep="\n\n")
display = TieBreakingDisplay.from_runs(results, measure="nDCG@10")
display.ax_.set_title("Trees tie their items, a linear model does not")
display.figure_.savefig("grouped_search.png", dpi=150)
print("\nFigure saved as grouped_search.png")
