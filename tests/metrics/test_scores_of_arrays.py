"""Scores of arrays of other libraries: the numbers of NumPy, where the arrays are."""

import numpy as np
import pytest
from array_cases import every_library

from sklearn_talr import metrics
from sklearn_talr.metrics import tie_aware_average_precision_score

SCORES = [name for name in metrics.__all__ if name.startswith("tie_aware_")]
SCORES = [getattr(metrics, name) for name in SCORES if name.endswith("_score")]
Y_TRUE = np.array([[1, 0, 0, 2], [0, 1, 1, 0], [0, 0, 0, 0]])
Y_SCORE = np.array([[2.0, 2.0, 1.0, 2.0], [1.0, 3.0, 3.0, 3.0], [1.0, 2.0, 3.0, 4.0]])
WEIGHTS = np.array([1.0, 2.0, 3.0])

pytestmark = pytest.mark.usefixtures("dispatching")


@every_library
@pytest.mark.parametrize("score", SCORES)
def test_scores_live_where_y_score_does(score, library):
    y_true, y_score = library.array(Y_TRUE), library.array(Y_SCORE)
    weights = library.array(WEIGHTS)
    for k in (2, [1, 3]):
        per_query = score(y_true, y_score, k=k, average=False, zero_division=0.5)
        expected = score(Y_TRUE, Y_SCORE, k=k, average=False, zero_division=0.5)
        found = library.numpy(per_query, y_score)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, expected)
    mean = score(y_true, y_score, k=2, sample_weight=weights)
    assert type(mean) is float
    assert mean == score(Y_TRUE, Y_SCORE, k=2, sample_weight=WEIGHTS)
    means = score(y_true, y_score, k=[1, 3])
    expected = score(Y_TRUE, Y_SCORE, k=[1, 3])
    np.testing.assert_array_equal(library.numpy(means, y_score), expected)


@every_library
def test_only_y_score_says_where(library):
    """What else there is may be of another library."""
    y_score = library.array(Y_SCORE)
    expected = tie_aware_average_precision_score(Y_TRUE, Y_SCORE, average=False)
    found = tie_aware_average_precision_score(Y_TRUE, y_score, average=False)
    np.testing.assert_array_equal(library.numpy(found, y_score), expected)
    found = tie_aware_average_precision_score(library.array(Y_TRUE), Y_SCORE, average=False)
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, expected)


def test_tensors_of_half_precision_and_with_gradients():
    torch = pytest.importorskip("torch")
    scores = torch.tensor(Y_SCORE, dtype=torch.bfloat16, requires_grad=True)
    found = tie_aware_average_precision_score(Y_TRUE, scores, average=False)
    assert not found.requires_grad
    expected = tie_aware_average_precision_score(Y_TRUE, Y_SCORE, average=False)
    np.testing.assert_array_equal(found.numpy(), expected)
