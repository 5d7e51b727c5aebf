"""Comparisons of runs: differences, tests, tiers, and what ties do to them."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
import run_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import false_discovery_control, ttest_rel

from sklearn_talr import __version__
from sklearn_talr.inference import mean_interval, n_queries_needed, paired_test
from sklearn_talr.runs import Run, RunEvaluation, compare_runs, evaluate_run

MEASURES = ["AP", "nDCG@10", "RR"]
PAIRS = [(0, 1), (0, 2), (1, 2)]


@pytest.fixture(scope="module")
def evaluated():
    """Three systems: two that tie much, and one that does not tie and is better."""
    qrels, run = run_cases.random_run(0, n_queries=30, n_scores=60)
    _, other = run_cases.random_run(1, n_queries=30, n_scores=60)
    good = {
        query: {
            document: score + 100 * max(qrels[query].get(document, 0), 0)
            for document, score in scores.items()
        }
        for query, scores in run_cases.random_run(0, n_queries=30)[1].items()
    }
    runs = {"first": run, "second": other, "good": good}
    return [evaluate_run(qrels, Run(r, name), MEASURES) for name, r in runs.items()]


@pytest.fixture(scope="module")
def compared(evaluated):
    return compare_runs(*evaluated)


def holm(p_values):
    """Holm's adjustment of the p-values of one measure, from its definition."""
    adjusted = np.empty(len(p_values))
    largest = 0.0
    for rank, pair in enumerate(np.argsort(p_values)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[pair]))
        adjusted[pair] = largest
    return adjusted


def of_values(*columns, width=0.0, names=None):
    """Evaluations of one measure whose values ties move by a width, either way."""
    queries = [f"q{number}" for number in range(len(columns[0]))]
    names = names or [f"run {number}" for number in range(len(columns))]
    for name, column in zip(names, columns):
        values = np.array(column, dtype=float)[:, None]
        columns = values, values - width, values + width, values
        yield RunEvaluation(name, ["AP"], queries, *columns)


def test_pairs_are_compared_by_expected_values_and_by_their_ranges(evaluated, compared):
    assert compared.pairs == PAIRS
    assert compared.names == ["first", "second", "good"]
    for place, (i, j) in enumerate(PAIRS):
        first, second = evaluated[i], evaluated[j]
        difference = first.expected - second.expected
        assert_allclose(compared.difference[place], difference.mean(axis=0))
        effect = difference.mean(axis=0) / difference.std(axis=0, ddof=1)
        assert_allclose(compared.effect_size[place], effect)
        lowest, highest = first.worst - second.best, first.best - second.worst
        assert_allclose(compared.lowest[place], lowest.mean(axis=0))
        assert_allclose(compared.highest[place], highest.mean(axis=0))
        crosses = ((lowest < -1e-9) & (highest > 1e-9)).mean(axis=0)
        assert_array_equal(compared.undecided[place], crosses)
    decided = (compared.lowest > 0) | (compared.highest < 0)
    assert_array_equal(compared.ties_decide, ~decided)


@pytest.mark.parametrize("test", ["randomization", "bootstrap", "t", "wilcoxon"])
def test_p_values_are_those_of_the_paired_test(evaluated, test):
    comparison = compare_runs(*evaluated, test=test, adjust="holm", n_resamples=2000)
    for place, (i, j) in enumerate(PAIRS):
        sides = evaluated[i].expected, evaluated[j].expected
        result = paired_test(*sides, test=test, n_resamples=2000)
        tolerance = 0.03 if test in ("randomization", "bootstrap") else 1e-9
        assert_allclose(comparison.p_value[place], result.p_value, atol=tolerance)
    for adjusted, p_values in zip(comparison.adjusted_p_value.T, comparison.p_value.T):
        assert_allclose(adjusted, holm(p_values))
    assert_array_equal(comparison.significant, comparison.adjusted_p_value <= 0.05)


def test_intervals_are_those_of_means_and_of_differences(evaluated, compared):
    for run, evaluation in enumerate(evaluated):
        assert_allclose(compared.means[run], evaluation.expected.mean(axis=0))
        ends = mean_interval(evaluation.expected, n_resamples=40_000)
        found = compared.means_low[run], compared.means_high[run]
        assert_allclose(np.array(found)[:, :2], np.array(ends)[:, :2], atol=0.01)
    differences = evaluated[0].expected - evaluated[2].expected
    ends = mean_interval(differences, symmetric=True, n_resamples=40_000)
    alone = compare_runs(*evaluated, adjust="holm")
    assert_allclose((alone.low[1], alone.high[1]), ends, atol=0.03)  # RR moves in steps
    assert (compared.low < alone.low).all()  # of all pairs at once
    leaves_out_0 = (compared.low > 0) | (compared.high < 0)
    assert 0 < leaves_out_0.sum() == (leaves_out_0 & compared.significant).sum()
    at_99 = compare_runs(*evaluated, alpha=0.01)
    assert (at_99.low < compared.low).all()
    assert (at_99.means_high > compared.means_high).all()


def test_two_runs_and_the_other_way_round(evaluated):
    comparison = compare_runs(*evaluated[:2], test="t")
    expected = ttest_rel(evaluated[0].expected, evaluated[1].expected).pvalue
    assert_allclose(comparison.p_value[0], expected, rtol=1e-12)
    assert_array_equal(comparison.adjusted_p_value, comparison.p_value)
    of_one = compare_runs(*evaluated[:2], adjust="max-t")
    assert_array_equal(of_one.adjusted_p_value, of_one.p_value)
    backwards = compare_runs(evaluated[1], evaluated[0], test="t")
    assert_allclose(backwards.difference, -comparison.difference)
    assert_array_equal(backwards.undecided, comparison.undecided)


def test_max_t_is_that_of_all_pairs(evaluated):
    comparison = compare_runs(*evaluated, n_resamples=2000)
    by_holm = compare_runs(*evaluated, adjust="holm", n_resamples=2000)
    assert comparison.adjust == "max-t"
    assert compare_runs(*evaluated, test="t").adjust == "holm"  # the test asked for decides
    assert_array_equal(comparison.p_value, by_holm.p_value)
    assert (comparison.adjusted_p_value >= 1 / 2001).all()
    assert (comparison.worst_case_p_value >= 1 / 2001).all()
    assert_allclose(comparison.adjusted_p_value, by_holm.adjusted_p_value, atol=0.1)


def test_benjamini_and_hochberg_finds_no_fewer(evaluated):
    comparison, by_holm = (compare_runs(*evaluated, adjust=name) for name in ("bh", "holm"))
    for measure in range(3):
        wanted = false_discovery_control(comparison.p_value[:, measure])
        assert_allclose(comparison.adjusted_p_value[:, measure], wanted)
    assert (comparison.adjusted_p_value <= by_holm.adjusted_p_value).all()


@pytest.mark.parametrize(
    ("n_runs", "n_queries", "options", "advice"),
    [
        (2, 5, {}, "test='t'"),
        (3, 5, {}, "Take more queries"),
        (4, 7, {"test": "wilcoxon"}, "by 6 pairs.*test='t'"),
        (16, 30, {"test": "bootstrap", "n_resamples": 1000}, "n_resamples=2400"),
        (3, 30, {"adjust": "max-t", "n_resamples": 100, "alpha": 0.001}, "=1000"),
    ],
)
def test_if_no_pair_can_be_significant_a_warning_says_what_to_change(
    n_runs, n_queries, options, advice
):
    values = np.random.default_rng(0).uniform(size=(n_queries, 1)) + np.arange(n_runs)
    values += np.random.default_rng(1).uniform(size=values.shape)
    with pytest.warns(UserWarning, match=f"no pair can be significant.*{advice}") as caught:
        assert not compare_runs(*of_values(*values.T), **options).significant.any()
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare_runs(*of_values(*values.T), test="t")
        if n_queries == 7:
            assert compare_runs(*of_values(*values.T), adjust="bh").significant.any()


def test_runs_that_share_a_tier_do_not_differ_significantly(compared):
    for number, measure in enumerate(MEASURES):
        significant = compared.significant[:, number]
        for place, (i, j) in enumerate(PAIRS):
            pair = {compared.names[i], compared.names[j]}
            assert (
                any(pair <= set(t) for t in compared.tiers[measure]) != significant[place]
            )
    assert compared.tiers["AP"][0] == ["good"]


def test_how_often_ties_decide():
    """AP of the tie is between 1/3 and 1, that of the others 1/2, 1/3 and 1."""
    qrels = {query: {"d": 1} for query in "abc"}
    tied = {query: {"d": 1.0, "e": 1.0, "f": 1.0} for query in "abc"}
    other = {"a": {"e": 2.0, "d": 1.0}, "b": {"e": 3.0, "f": 2.0, "d": 1.0}}
    other["c"] = {"d": 2.0}
    evaluations = (evaluate_run(qrels, run, "AP") for run in (tied, other))
    comparison = compare_runs(*evaluations, test="t")
    assert comparison.undecided == 1 / 3
    assert comparison.ties_decide
    same = compare_runs(*(evaluate_run(qrels, other, "AP") for _ in range(2)))
    assert (same.difference, same.undecided, same.ties_decide) == (0, 0, False)
    assert same.p_value == same.adjusted_p_value == 1
    assert same.tiers == {"AP": [["1: run", "2: run"]]}


def test_a_significant_pair_that_an_order_of_ties_would_undo_is_warned_of():
    rng = np.random.default_rng(0)
    better, worse = rng.uniform(0.4, 0.6, 30), rng.uniform(0.36, 0.56, 30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        firm = compare_runs(*of_values(better, worse, width=0.005))
    assert firm.significant
    assert not firm.depends_on_ties
    assert firm.p_value <= firm.worst_case_p_value < 0.05
    better_on_average = "by AP 'run 0' is significantly better than 'run 1'"
    with pytest.warns(UserWarning, match=better_on_average) as caught:
        loose = compare_runs(*of_values(better, worse, width=0.05))
    assert caught[0].filename == __file__
    assert loose.depends_on_ties
    assert loose.p_value == firm.p_value
    head, pair = str(loose).split("\n")[-2:]
    assert head == "Significantly better, but not in every order of tied documents:"
    assert pair == "* run 0 over run 1 by AP"
    with pytest.warns(UserWarning, match="'run 1' is significantly better.*: 2"):
        undone = compare_runs(*of_values(worse, better, worse, width=0.2))
    # Another run leads.
    assert undone.worst_case_p_value[0] == undone.worst_case_p_value[2] == 1
    assert undone.worst_case_p_value[1] == 1  # equal in all queries
    with pytest.warns(UserWarning, match="'run 1' is significantly better than 'run 0'"):
        compare_runs(*of_values(worse, better, worse, width=0.2), adjust="max-t")


@pytest.mark.filterwarnings("ignore:by AP")
def test_equal_runs_that_an_order_of_ties_tells_apart_count_in_the_worst_case():
    """Two runs are equal in the mean over orders; in some orders there is a third test."""
    expected = np.array([[0.125] * 3, [0.0] * 3, [0.0] * 3])
    width = np.zeros((3, 3))
    width[1, 0] = 0.25

    def compare(values, width):
        runs = [
            RunEvaluation(f"r{i}", ["AP"], ["a", "b", "c"], v, v - w, v + w, v)
            for i, (v, w) in enumerate(zip(values[..., None], width[..., None]))
        ]
        return compare_runs(*runs, adjust="holm", n_resamples=300)

    comparison = compare(expected, width)
    in_order = compare(expected - width, 0 * width)
    # Of the first and the third run no order changes the difference.
    assert comparison.adjusted_p_value[1] == pytest.approx(0.5)
    assert in_order.adjusted_p_value[1] == pytest.approx(0.75)
    assert comparison.worst_case_p_value[1] == pytest.approx(0.75)


@pytest.mark.filterwarnings("ignore:by AP")
@pytest.mark.parametrize("adjust", ["holm", "bh"])
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_no_order_of_ties_has_a_larger_p_value_than_the_worst_case(adjust, data):
    """A p-value of randomization falls as any difference in favor of the better grows."""
    n_runs, n_queries = 3, data.draw(st.integers(2, 8))
    shape = n_runs, n_queries
    steps = [0.0, 0.125, 0.25, 0.375, 0.5, 0.75, 1.0]
    expected = data.draw(arrays(float, shape, elements=st.sampled_from(steps)))
    width = data.draw(arrays(float, shape, elements=st.sampled_from([0.0, 0.0, 0.25, 2.0])))
    place = data.draw(arrays(float, shape, elements=st.sampled_from([-1.0, 0.0, 1.0])))

    def compared(values, width):
        queries = [f"q{number}" for number in range(n_queries)]
        runs = [
            RunEvaluation(f"r{i}", ["AP"], queries, v, v - w, v + w, v)
            for i, (v, w) in enumerate(zip(values[..., None], width[..., None]))
        ]
        return compare_runs(*runs, adjust=adjust, n_resamples=300)

    comparison = compared(expected, width)
    tested = ~np.isnan(comparison.p_value)
    worst_case = comparison.worst_case_p_value
    assert (worst_case[tested] >= comparison.adjusted_p_value[tested]).all()
    assert_array_equal(np.isnan(worst_case), ~tested)
    if adjust == "holm" and tested.all():
        in_order = compared(expected + place * width, 0 * width)
        same_side = in_order.difference * comparison.difference > 1e-9
        assert (worst_case >= in_order.adjusted_p_value)[same_side].all()


@pytest.mark.parametrize(
    ("difference", "p_value"),
    [
        ([0.25], np.nan),
        ([0.0], 1.0),
        ([0.0, 0.0, 0.0], 1.0),
        ([1e-16, 0.0, -1e-16], 1.0),
        ([0.25, 0.25, 0.25], 0.0),
        ([-0.3, -0.3], 0.0),
        ([0.1, 0.1 + 1e-16, 0.1 - 1e-16], 0.0),
        ([0.5, -0.5], 1.0),
        ([0.0, 0.0, 0.5], ...),
    ],
)
def test_the_t_test_is_that_of_scipy_or_of_an_exact_mean(difference, p_value):
    """Constant differences have no variance. Rounding is no difference."""
    difference = np.array(difference)
    first, second = of_values(0.5 + difference, np.full(len(difference), 0.5))
    if p_value is ...:
        p_value = ttest_rel(first.expected, second.expected).pvalue[0]
        assert 0 < p_value < 1
    comparison = compare_runs(first, second, test="t")
    assert_allclose(comparison.p_value, [[p_value]], rtol=1e-12)
    if len(difference) > 1 and np.ptp(difference) < 1e-12:
        effect = np.inf * np.sign(difference[0]) if abs(difference[0]) > 1e-12 else 0
        assert_allclose(comparison.effect_size, [[effect]], atol=1e-12)


def test_strata(evaluated):
    strata = np.arange(30) % 2
    comparison = compare_runs(*evaluated, test="t", stratify=strata)
    first, second = evaluated[0].expected, evaluated[1].expected
    expected = paired_test(first, second, test="t", stratify=strata).p_value
    assert_allclose(comparison.p_value[0], expected)
    with pytest.raises(ValueError, match="one label for each of the 30 queries"):
        compare_runs(*evaluated, stratify=[0, 1])


@pytest.mark.filterwarnings("ignore:by ")
def test_groups_are_averaged_in_all_their_columns(evaluated):
    """As if each group were one query, whose ties are those of all its queries."""
    labels = np.repeat(list("cab"), 10)[np.random.default_rng(0).permutation(30)]
    labels[:4] = list("xyzx")
    names = list(dict.fromkeys(labels.tolist()))
    averaged = []
    for evaluation in evaluated:
        columns = {
            name: np.stack(
                [getattr(evaluation, name)[labels == label].mean(axis=0) for label in names]
            )
            for name in ("expected", "worst", "best", "trec_eval")
        }
        measures = evaluation.measures
        averaged.append(RunEvaluation(evaluation.name, measures, names, **columns))
    strata = dict(zip("xyzcab", [0, 0, 1, 1, 1, 0]))
    for options in ({"test": "t"}, {"adjust": "max-t", "n_resamples": 200}):
        wanted = compare_runs(*averaged, stratify=[strata[n] for n in names], **options)
        of_queries = [strata[label] for label in labels]
        found = compare_runs(*evaluated, groups=labels, stratify=of_queries, **options)
        assert found.queries == names
        for name in ("difference", "lowest", "highest", "p_value", "adjusted_p_value"):
            assert_allclose(getattr(found, name), getattr(wanted, name), atol=1e-12)
    assert "6 groups" in found.method_sentence()
    each = compare_runs(*evaluated, groups=range(30), test="t")
    assert_allclose(each.p_value, compare_runs(*evaluated, test="t").p_value)
    with_ties = RunEvaluation(
        "a", ["AP"], ["q", "r"], *[np.eye(2)[:, :1]] * 4, np.ones((2, 1))
    )
    pair = compare_runs(with_ties, with_ties, groups=[1, 1], test="t")
    assert pair.evaluations[0].tie_variance == 0.5
    for groups, message in [
        (labels[:3], "groups must have one label per query, 30 in all"),
        ([*labels[:-1], None], "groups has missing values"),
        (np.ma.array(labels, mask=labels == "a"), "groups has masked entries"),
        (labels[:, None].repeat(2, axis=1), "1d array"),
    ]:
        with pytest.raises(ValueError, match=message):
            compare_runs(*evaluated, groups=groups)
    with pytest.raises(ValueError, match="several labels in one group"):
        compare_runs(*evaluated, groups=labels, stratify=np.arange(30) % 2)


def test_series_of_labels_are_those_of_the_queries_in_their_order(evaluated):
    pd = pytest.importorskip("pandas")
    queries = evaluated[0].queries
    labels = pd.Series(np.repeat([0, 1, 2], 10), queries)
    moved = labels.sample(frac=1, random_state=0)
    for name in ("groups", "stratify"):
        found = compare_runs(*evaluated, test="t", **{name: labels})
        wanted = compare_runs(*evaluated, test="t", **{name: labels.to_numpy()})
        assert_array_equal(found.p_value, wanted.p_value)
        with pytest.raises(ValueError, match=f"{name} has the same labels in an") as caught:
            compare_runs(*evaluated, test="t", **{name: moved})
        line = str(caught.value).split("Pass ")[1].split(", or ")[0]
        ordered = eval(line, {"evaluations": evaluated, name: moved})
        assert ordered.equals(labels)
        compare_runs(*evaluated, test="t", **{name: labels.reset_index(drop=True)})
    with pytest.raises(ValueError, match="stratify has other labels than the rows"):
        compare_runs(*evaluated, stratify=labels.rename({"q3": "q99"}))
    with pytest.raises(
        ValueError, match=r"pass stratify.reindex\(evaluation.queries\)|Pass str"
    ):
        evaluated[0].confidence_interval(stratify=moved)
    assert evaluated[0].confidence_interval(stratify=labels)
    # Queries that are numbers are text in an evaluation
    numbers = [f"{number}" for number in range(30)]
    renamed = [replace(evaluation, queries=numbers) for evaluation in evaluated]
    by_number = labels.set_axis(range(30))
    compare_runs(*renamed, test="t", stratify=by_number)
    with pytest.raises(ValueError, match="the same labels in another order") as caught:
        compare_runs(*renamed, test="t", stratify=by_number[::-1])
    line = str(caught.value).split("Pass ")[1].split(", or ")[0]
    ordered = eval(line, {"evaluations": renamed, "stratify": by_number[::-1]})
    assert ordered.tolist() == labels.tolist()


def test_how_many_queries(evaluated, compared):
    found = compared.n_queries_needed(0.02, power=0.9)
    assert found.shape == (3, 3)
    difference = evaluated[1].expected[:, 1] - evaluated[2].expected[:, 1]
    assert found[2, 1] == n_queries_needed(difference, 0.02, power=0.9)


def test_tables_tell_the_same(compared):
    values = compared.to_dict()
    assert json.loads(json.dumps(values)) == values
    assert values["n_queries"] == 30
    settings = values["test"], values["adjust"], values["alpha"]
    assert settings == ("randomization", "max-t", 0.05)
    frame = compared.to_frame()
    assert frame.index.names == ["measure", "first", "second"]
    for place, (i, j) in enumerate(PAIRS):
        row = frame.loc["RR", compared.names[i], compared.names[j]]
        for column in ("difference", "low", "undecided", "adjusted_p_value", "significant"):
            assert row[column] == getattr(compared, column)[place, 2]
    per_run = compared.to_frame(per_run=True)
    assert per_run.loc[("AP", "good"), "mean"] == compared.means[2, 0]
    assert per_run.loc[("AP", "good"), "tiers"] == "A"
    assert len(per_run) == 9
    behind = per_run.loc[("AP", "first")]
    assert behind["behind"] == pytest.approx(-compared.difference[1, 0])
    assert behind["behind_low"] == pytest.approx(-compared.high[1, 0])
    assert behind["behind_p_value"] == compared.adjusted_p_value[1, 0]
    assert (per_run.loc[("AP", "good"), ["behind", "behind_high"]] == 0).all()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({}, ["moderated t", "all 3 pairs", "0.05"]),
        ({"test": "t", "alpha": 0.1}, ["t-tests with Holm", "level 0.1,"]),
        ({"adjust": "bh"}, ["randomization", "saddlepoint", "Benjamini-Hochberg"]),
        ({"test": "bootstrap", "n_resamples": 300}, ["bootstrap tests (300 samples)"]),
    ],
)
def test_a_sentence_for_the_report(evaluated, options, named):
    sentence = compare_runs(*evaluated, **options).method_sentence()
    for each in [*named, "3 systems over 30 queries", "tied documents", __version__]:
        assert each in sentence
    clear = compare_runs(*of_values([0.1, 0.4], [0.2, 0.5]), test="t").method_sentence()
    assert "tied" not in clear
    assert "pairs" not in clear


def test_it_prints_tiers_of_several_and_differences_of_two(evaluated, compared):
    tables = str(compared).split("\n\n")
    assert [table.splitlines()[0] for table in tables[:6:2]] == [
        f"{measure}, 30 queries" for measure in MEASURES
    ]
    for place, table in enumerate(tables[1:6:2]):
        _, *pairs = map(str.split, table.splitlines())
        p_values = sorted(compared.adjusted_p_value[:, place])
        shown = [float(row[-1].removeprefix("<")) for row in pairs]
        assert_allclose(shown, p_values, atol=1e-4)
    rows = [line.split() for line in tables[0].splitlines()[2:]]
    means = [float(row[1]) for row in rows]
    assert means == sorted(means, reverse=True)
    assert rows[0][0] == "good"
    assert rows[0][-1] == "A"
    assert compared.method_sentence() in tables[-1].replace("\n", " ")
    pair = compare_runs(*evaluated[:2], test="wilcoxon", alpha=0.1)
    title, head, *rows = str(pair).splitlines()
    assert title == "first minus second, 30 queries"
    assert "90% interval" in head
    assert "Wilcoxon" in str(pair)
    assert repr(pair) == str(pair)


def test_only_what_has_the_same_queries_and_measures_is_compared(evaluated):
    qrels, run = run_cases.random_run(0, n_queries=30, n_scores=60)
    few = {"q0": qrels["q0"]}
    for other in (evaluate_run(qrels, run, "AP"), evaluate_run(few, run, MEASURES)):
        with pytest.raises(ValueError, match="same queries and measures"):
            compare_runs(evaluated[0], other)
    with pytest.raises(TypeError, match=r"takes evaluations, .* got dict"):
        compare_runs(evaluated[0], run)
    with pytest.raises(TypeError, match=r"got list. Write compare_runs\(\*evaluations\)"):
        compare_runs(evaluated)
    with pytest.raises(TypeError, match=r"Write compare_runs\(\*evaluations.values\(\)\)"):
        compare_runs(dict(enumerate(evaluated)))
    with pytest.raises(TypeError, match="evaluations have their measures already"):
        compare_runs(*evaluated, measures="AP")
    with pytest.raises(ValueError, match="two systems or more are needed, got 1"):
        compare_runs(evaluated[0])
    with pytest.raises(ValueError, match="'alpha' parameter of compare_runs"):
        compare_runs(*evaluated, alpha=95)
