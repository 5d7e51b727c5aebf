"""Groups of similar rows, and units of features by which these are found best."""

import numpy as np
import pytest
import scipy.sparse as sp
from hashers import forms_of
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_talr.affinity import (
    LabelAffinity,
    PrecomputedAffinity,
    SharedLabelAffinity,
    ThresholdAffinity,
)
from sklearn_talr.features._similar_rows import (
    SimilarRows,
    _spread,
    _whitening,
    in_units,
    units_of_features,
)


def similar_by(affinity, y):
    affinity = affinity.fit_clone(affinity.check_targets(y))
    y = affinity.check_targets(y)
    return SimilarRows(affinity, y, affinity.levels_between(y, y))


def similar_by_forms(labels):
    return {form: similar_by(*how) for form, how in forms_of(labels).items()}


class TestGroups:
    @given(st.lists(st.integers(0, 6), min_size=2, max_size=40), st.integers(0, 99))
    @settings(max_examples=30)
    def test_of_classes_are_the_classes_however_they_are_told(self, labels, seed):
        labels = np.array(labels)
        _, first, index = np.unique(labels, return_index=True, return_inverse=True)
        for similar in similar_by_forms(labels).values():
            rng = np.random.RandomState(seed)
            np.testing.assert_array_equal(similar.draw(rng), first[index])
            assert similar.n_alone == np.sum(np.bincount(index) == 1)

    @given(st.integers(0, 9999))
    @settings(max_examples=30)
    def test_share_something(self, seed):
        rng = np.random.default_rng(seed)
        indicators = (rng.uniform(size=(30, 8)) < 0.15).astype(int)
        similar = similar_by(SharedLabelAffinity(), indicators)
        groups = similar.draw(np.random.RandomState(0))
        for group in np.unique(groups):
            rows = indicators[groups == group]
            assert len(rows) == 1 or rows.all(axis=0).any()  # one label of all
        matrix = rng.uniform(size=(30, 30)) < 0.06
        matrix = (matrix | matrix.T).astype(int)
        np.fill_diagonal(matrix, 0)
        beside = matrix + np.eye(30)
        for kind in (np.asarray, sp.csr_array):
            similar = similar_by(*2 * [PrecomputedAffinity(kind(matrix))])
            assert similar.n_alone == np.sum(~matrix.any(axis=1))
            groups = similar.draw(np.random.RandomState(0))
            for group in np.unique(groups):  # one sample is, or is similar to, all
                assert beside[groups == group].all(axis=0).any()

    def test_are_drawn_anew_where_samples_have_several_labels(self):
        indicators = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]] * 5)
        similar = similar_by(SharedLabelAffinity(), indicators)
        rng = np.random.RandomState(0)
        drawn = {tuple(similar.draw(rng)) for _ in range(40)}
        assert len(drawn) == 4  # two samples have two labels each

    def test_share_of_similar_samples(self):
        labels = np.random.default_rng(0).integers(0, 9, 200)
        equal = labels[:, None] == labels
        expected = (equal.sum() - 200) / (200 * 199)
        for similar in similar_by_forms(labels).values():
            assert similar.share == pytest.approx(expected)

    def test_order_is_one_of_all_samples_in_parts_of_four(self):
        labels = np.repeat(np.arange(50), 6)
        similar = similar_by(LabelAffinity(), labels)
        samples = np.setdiff1d(np.arange(300), [0, 7])  # of which two are held out
        order = similar.shuffle(samples, np.random.RandomState(0))
        np.testing.assert_array_equal(np.sort(order), samples)
        other = similar.shuffle(samples, np.random.RandomState(1))
        assert not np.array_equal(order, other)
        starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
        sizes = np.diff(np.append(starts, 298))
        assert np.isin(sizes, [1, 2, 4, 5, 6, 8]).all()  # 4 and 2 (or 1), perhaps meeting
        # In a batch nearly all samples have a similar one: at random hardly any would.
        alone = [
            np.sum(np.unique(labels[b], return_counts=True)[1] == 1)
            for b in np.array_split(order, 10)
        ]
        assert np.mean(alone) < 3

    def test_too_many_samples_to_compare_all_pairs(self, monkeypatch):
        monkeypatch.setattr("sklearn_talr.affinity._base._MOST_COMPARED", 20)
        y = np.random.default_rng(0).uniform(size=(21, 1))
        assert not similar_by(ThresholdAffinity(), y).has_groups
        assert similar_by(ThresholdAffinity(), y[:20]).has_groups
        assert similar_by(LabelAffinity(), np.arange(21) // 2).has_groups
        monkeypatch.setattr("sklearn_talr.affinity._base._MOST_STORED", 20)
        assert not similar_by(ThresholdAffinity(), y[:20]).has_groups


def spread_by_definition(X, groups):
    within = np.zeros(X.shape[1])
    for group in np.unique(groups):
        rows = X[groups == group]
        within += ((rows - rows.mean(axis=0)) ** 2).sum(axis=0)
    within /= (len(X) - len(np.unique(groups))) * X.var(axis=0)
    return np.sqrt(X.var(axis=0) * (0.9 * within + 0.1 * within.mean()))


class TestUnits:
    @pytest.fixture
    def rows(self):
        rng = np.random.default_rng(0)
        groups = rng.integers(0, 12, 400)
        X = rng.normal(size=(12, 6))[groups] + rng.normal(size=(400, 6))
        return X * [1, 1, 1, 3, 0.5, 1], groups

    def test_of_columns_by_definition(self, rows):
        X, groups = rows
        expected = spread_by_definition(X, groups)
        np.testing.assert_allclose(_spread(X, groups), expected)
        np.testing.assert_allclose(_spread(sp.csr_array(X), groups), expected)
        # A column that is constant, and one that is the class, have units, too.
        X = np.column_stack([X, np.ones(400), groups])
        assert np.all(np.isfinite(_spread(X, groups)) & (_spread(X, groups) > 0))

    def test_of_whitened_rows(self, rows):
        X, groups = rows
        turned = X @ np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))[0]
        white = turned @ _whitening(turned, groups)
        means = np.array([white[groups == g].mean(axis=0) for g in range(12)])
        within = white - means[groups]
        spreads = np.linalg.eigvalsh(within.T @ within)
        assert spreads[-1] / spreads[0] < 3  # but for what is shrunk
        within = X - np.array([X[groups == g].mean(axis=0) for g in range(12)])[groups]
        spreads = np.linalg.eigvalsh(within.T @ within)
        assert spreads[-1] / spreads[0] > 30

    @pytest.mark.parametrize("kind", ["labels", "indicators", "sparse matrix", "own"])
    def test_are_those_that_find_similar_rows(self, kind):
        rng = np.random.default_rng(0)
        labels = np.repeat(np.arange(40), 15)
        similar, samples = similar_by_forms(labels)[kind], np.arange(600)
        signal = rng.normal(size=(40, 4))[labels] + 0.2 * rng.normal(size=(600, 4))
        noise = rng.normal(size=(600, 20))
        # Columns that tell are large: they stay so.
        X = np.column_stack([10 * signal, 0.3 * noise])
        assert units_of_features(X, samples, similar) is None
        # One column of noise drowns the others.
        X = np.column_stack([signal, 1000 * noise[:, 0]])
        units = units_of_features(X, samples, similar)
        assert units.shape == (5,)
        assert units[-1] > 1000 * units[:-1].max()
        # Directions of noise drown the others.
        X = np.column_stack([signal, 5 * noise[:, :6]])
        turned = X @ np.linalg.qr(rng.normal(size=(10, 10)))[0]
        assert units_of_features(turned, samples, similar).shape == (10, 10)

    def test_do_not_depend_on_scale_or_origin(self):
        rng = np.random.default_rng(0)
        labels = np.repeat(np.arange(20), 10)
        similar, samples = similar_by(LabelAffinity(), labels), np.arange(200)
        X = np.column_stack([rng.normal(size=(20, 3))[labels], 99 * rng.normal(size=200)])
        X[:, :3] += 0.3 * rng.normal(size=(200, 3))
        units = units_of_features(X, samples, similar)
        for scale in (1e-200, 1e-30, 1e30, 1e200):
            found = units_of_features(scale * X, samples, similar)
            np.testing.assert_allclose(found / scale, units)
        found = units_of_features(X + 1e5, samples, similar)
        np.testing.assert_allclose(found, units, rtol=1e-6)
        found = units_of_features(sp.csr_array(X), samples, similar)
        np.testing.assert_allclose(found, units)
        in_them = in_units(sp.csr_array(X), units)
        assert sp.issparse(in_them)
        np.testing.assert_allclose(in_them.toarray(), X / units)

    def test_columns_of_like_scale_keep_one_unit_unless_others_are_clearly_better(self):
        rng = np.random.default_rng(0)
        labels = np.repeat(np.arange(20), 10)
        similar, samples = similar_by(LabelAffinity(), labels), np.arange(200)
        X = np.eye(20)[labels] + 0.05 * rng.uniform(size=(200, 20))  # all is found already
        assert units_of_features(X, samples, similar) is None
        empty = np.zeros((200, 40))  # columns that tell nothing make no others unlike
        assert units_of_features(np.hstack([X, empty]), samples, similar) is None
        scaled = X * np.append(1000, np.ones(19))
        assert units_of_features(scaled, samples, similar) is not None

    def test_without_a_similar_pair_to_look_at_they_stay(self):
        labels = np.arange(6) // 2
        similar = similar_by(LabelAffinity(), labels)
        X = np.random.default_rng(0).normal(size=(6, 2))
        assert units_of_features(X, np.array([0, 2, 4]), similar) is None
