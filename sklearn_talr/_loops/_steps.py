"""Steps of training layers: units that are left out, and moves of the weights."""

from ._compile import compiled


@compiled
def drop_out(values, words, least, factor):
    """Multiply numbers by a factor where a random word reaches a least one, else by 0.

    Parameters
    ----------
    values : ndarray of shape (n,), float
        Changed in place.

    words : ndarray of at least n words, dtype uint16
        Random.

    least : uint16
        Words below it leave a number out.

    factor : float of the type of the values
        Of the others.
    """
    zero = factor - factor
    for i in range(len(values)):
        values[i] *= factor if words[i] >= least else zero


@compiled
def descend(weights, gradient, mean, rates, slow, kept):
    """Move weights down the mean of their gradients, unit by unit, and shrink them.

    Parameters
    ----------
    weights, gradient, mean : ndarrays of shape (n_units, n_inputs), float
        The first and the last are changed in place.

    rates : ndarray of shape (n_units,)
        Steps along the mean.

    slow : float
        Share of the gradient in the mean.

    kept : float
        What weights are multiplied by at last. All are of the type of the weights.
    """
    for unit in range(len(weights)):
        rate = rates[unit]
        for i in range(weights.shape[1]):
            mean[unit, i] += slow * (gradient[unit, i] - mean[unit, i])
            weights[unit, i] = (weights[unit, i] - rate * mean[unit, i]) * kept
