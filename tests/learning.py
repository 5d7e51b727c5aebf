"""What learned tests ask for, and where their margins come from.

The last digits of what is learned depend on the processor: training amplifies the rounding
of its instructions. So no test compares a learned number with a number that was seen once.
"""

# Smallest gain, or largest error, of each learned test.
MEASURED = {}


class Learned:
    """Holds what a test has learned against what was measured.

    A gain passes if it is above half of the smallest measured, an error if it is below
    twice the largest.

    Parameters
    ----------
    test : str
        Name of the module and the function.

    seed : int
        What the test is to draw by.

    record : callable
        Takes a name and a value, for who measures again.
    """

    def __init__(self, test, seed, record):
        self.test = test
        self.seed = seed
        self._record = record

    def gain(self, value, what=""):
        """Of what was learned over what was not; `what` names it if there are several."""
        least = self._measured(value, what) / 2
        assert value > least

    def error(self, value, what=""):
        """Of what is to be alike; `what` names it if there are several."""
        most = self._measured(value, what) * 2
        assert value < most

    def _measured(self, value, what):
        name = f"{self.test}: {what}" if what else self.test
        self._record(name, float(value))
        return MEASURED[name]
