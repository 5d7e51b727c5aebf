"""
Grid search with NDCG per query
===============================

In learning to rank, items belong to queries, and only the order of the items of one query
counts. This example selects two models by NDCG per query, and compares them on held-out
queries. Trees predict equal scores for many items, so both steps use tie-aware measures.
:doc:`/user_guide/ranking_svm` explains learning to rank, and :doc:`/user_guide/runs`
explains runs.
"""

# %%
# Queries, items and relevance grades
# -----------------------------------
# Each of 150 queries has 5 to 40 items with 20 features and a grade from 0 to 3. A third of
# the queries is held out.

import numpy as np

rng = np.random.default_rng(0)
groups = np.repeat(np.arange(150), rng.integers(5, 41, size=150))
X = rng.normal(size=(len(groups), 20))
relevance = X[:, 0] + X[:, 1] * (X[:, 2] > 0) + rng.normal(scale=0.8, size=len(groups))
y = np.digitize(relevance, [0.8, 1.6, 2.4])
is_train = groups < 100

# %%
# Grid search with metadata routing
# ---------------------------------
# With metadata routing, the grid search passes ``groups`` to the splitter and to the
# scorer. The splitter keeps all items of a query in one fold, and the scorer ranks the
# items of each query.

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
        print(f"{name}: {search.best_params_}, nDCG@10 {search.best_score_:.3f}")

# %%
# Evaluate and compare on held-out queries
# ----------------------------------------
# The predictions become runs. The bars of the figure span the worst to the best order of
# tied items. The linear model has no ties.

from sklearn_talr.metrics import TieBreakingDisplay
from sklearn_talr.runs import Run, compare_runs, evaluate_run

held_out = np.flatnonzero(~is_train)


def values_by_query(values):
    """Return a dict of queries, each a dict of the values of its items."""
    queries = {}
    for item, value in zip(held_out, values):
        queries.setdefault(f"query {groups[item]}", {})[f"item {item}"] = value
    return queries


qrels = values_by_query(y[held_out])
results = []
for name, search in searches.items():
    run = Run(values_by_query(search.predict(X[held_out])), name)
    results.append(evaluate_run(qrels, run, ["nDCG@10", "AP"]))
print(*results, compare_runs(*results), sep="\n\n")
display = TieBreakingDisplay.from_runs(results, measure="nDCG@10")
display.ax_.set_title("nDCG@10 of held-out queries, and its range over orders of ties")
display.figure_.savefig("grouped_search.png", dpi=150)
print("\nFigure saved as grouped_search.png")
