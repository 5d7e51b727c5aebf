"""Random numbers that nobody else draws from."""

import numpy as np
from sklearn.utils import check_random_state


def independent_random_state(random_state):
    """Make a generator as check_random_state does, but None leaves the global one alone."""
    return check_random_state(
        np.random.RandomState() if random_state is None else random_state
    )
