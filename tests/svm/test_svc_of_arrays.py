"""RankingSVC and arrays of other libraries: it copies them to NumPy, and answers there."""

import numpy as np
import pytest
from array_cases import every_library
from numpy.testing import assert_array_equal

from sklearn_talr.svm import RankingSVC

pytestmark = pytest.mark.usefixtures("dispatching")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    return rng.normal(size=(60, 4)) + y[:, None], y, np.arange(60) // 12


@every_library
@pytest.mark.parametrize("loss", ["AP", "nDCG", "zero_one"])
def test_fits_and_answers_are_those_of_numpy(loss, library, data):
    X, y, groups = map(library.array, data)
    expected = RankingSVC(loss).fit(*data)
    svc = RankingSVC(loss).fit(X, y, groups=groups)
    assert_array_equal(svc.coef_, expected.coef_)
    assert_array_equal(svc.classes_, [0, 1])
    for name in ("decision_function", "predict"):
        found = getattr(svc, name)(X)
        assert isinstance(found, np.ndarray)
        assert_array_equal(found, getattr(expected, name)(data[0]))
    assert svc.score(X, y, groups=groups) == expected.score(*data[:2], groups=data[2])


@every_library
def test_grades_and_queries_are_read(library, data):
    X, y, groups = data
    grades = y + 2 * (X[:, 0] > 1)
    expected = RankingSVC("nDCG").fit(X, grades, groups)
    rest = map(library.array, (grades, groups))
    svc = RankingSVC("nDCG").fit(library.array(X), *rest)
    assert_array_equal(svc.grades_, [0, 1, 2, 3])
    assert_array_equal(svc.coef_, expected.coef_)
