"""Training by gradients on the host: layers that maximize ranking measures, in NumPy.

`_torch` has the same names, and trains on CUDA, modules, and with all other losses.
"""

from contextlib import nullcontext
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...features._scaling import row_blocks
from ...losses._base import levels_of_pairs
from ...losses._rankings import MeasureTables, keep_freed_memory, measure_rankings
from .._function import feed_forward
from .._linear import steps_of_layers

# Sparse batches are not made dense if they have this many times as many cells as entries.
_MIN_CELLS_PER_ENTRY = 20
# Dense features of at most this many numbers, 64 MiB in float32, are copied.
MOST_COPIED = 2**24
# Rows are encoded in blocks of this many numbers.
_CELLS_PER_BLOCK = 2**20
# Settings of Adam: decay of the mean gradient and of the mean square, and the number that
# is added to a divisor.
_DECAY = 0.9
_SQUARE_DECAY = 0.999
_EPS = 1e-8


class Features:
    """The rows ``X - mean`` in units, in float32.

    Parameters
    ----------
    X : {ndarray (also memory-mapped), CSR} of shape (n_samples, n_features)
        Checked features. A centered float32 copy of dense features is kept if it is small.
        Other features are neither copied nor made dense as a whole.

    scaling : Scaling
        Mean and unit.

    may_be_sparse : bool, default=True
        Whether batches of sparse rows may be :class:`CenteredRows`.
    """

    def __init__(self, X, scaling, may_be_sparse=True):
        self.X = X
        self.scaling = scaling
        # Rows of few entries are multiplied as they are, and are never made dense.
        self.is_wide = False
        if may_be_sparse and sp.issparse(X) and np.ndim(scaling.unit) < 2:
            n_cells = X.shape[0] * X.shape[1]
            self.is_wide = _MIN_CELLS_PER_ENTRY * X.nnz < n_cells
        if self.is_wide:
            self._center = np.float32(np.ravel(scaling.mean) / scaling.unit)
        self._resident = None
        if isinstance(X, np.ndarray) and X.size <= MOST_COPIED:
            copy = np.empty(X.shape, dtype=np.float32)
            for rows in row_blocks(X):
                copy[rows] = self.block(rows)
            self._resident = copy

    def block(self, rows):
        """Rows, by slice or index array, as a dense float64 array of their own."""
        return self.scaling.apply(self._rows(rows))

    def batch(self, rows):
        """Rows, by index array, as a float32 array of their own."""
        if self._resident is not None:
            return self._resident.take(rows, axis=0)
        if self.is_wide:
            X = self.X[rows].astype(np.float32)
            unit = self.scaling.unit
            X.data /= unit if np.ndim(unit) == 0 else unit[X.indices]
            return CenteredRows(X, self._center)
        return self.block(rows).astype(np.float32)

    def _rows(self, rows):
        block = self.X[rows]
        block = block.toarray() if sp.issparse(block) else block
        return np.asarray(block, dtype=np.float64)


class CenteredRows:
    """CSR rows minus a mean, to be multiplied by weights and by gradients."""

    # NumPy's arrays leave products to this class.
    __array_ufunc__ = None

    def __init__(self, X, mean):
        self._X = X
        self._mean = mean

    def __matmul__(self, weights):
        return self._X @ weights - self._mean @ weights

    def __rmatmul__(self, gradient):
        by_entries = self._X.T @ np.ascontiguousarray(gradient.T)
        return CenteredGradient(by_entries, self._mean, gradient.sum(axis=1))


class CenteredGradient:
    """The gradient by the weights of a layer whose inputs are centered sparse rows.

    It is the gradient by the entries, minus the mean of the rows times the sums of the
    gradients by the units.

    Attributes
    ----------
    by_entries : ndarray of shape (n_inputs, n_kept)
        Products of the gradients with the entries.

    mean, sums : ndarrays of shapes (n_inputs,) and (n_kept,)
        Mean of the rows, and sums of the gradients by the units that are kept.

    kept : ndarray of int
        The units that are kept; all, unless it is set.
    """

    # NumPy's arrays leave sums to this class.
    __array_ufunc__ = None

    def __init__(self, by_entries, mean, sums):
        self.by_entries = by_entries
        self.mean = mean
        self.sums = sums
        self.kept = np.arange(len(sums))

    def __add__(self, other):
        if isinstance(other, np.ndarray):
            # The other view has dense rows, and the dense gradient of these.
            return np.ascontiguousarray(self.of_units(len(other)) + other)
        total = CenteredGradient(
            self.by_entries + other.by_entries, self.mean, self.sums + other.sums
        )
        total.kept = self.kept
        return total

    __radd__ = __add__

    def parts(self):
        """The gradient in the form that `descend_by_inputs` takes."""
        from ..._loops._soft import EntryGradient

        return EntryGradient(self.by_entries, self.mean, self.sums, self.kept)

    def of_units(self, n_units):
        """The dense gradient, of shape (n_units, n_inputs)."""
        dense = np.zeros((n_units, len(self.mean)), self.by_entries.dtype, order="F")
        dense[self.kept] = self.by_entries.T - np.outer(self.sums, self.mean)
        return dense

    def squares(self, n_units):
        """Sums of the squares of all units, shape (n_units,)."""
        squares = np.zeros(n_units, self.by_entries.dtype)
        squares_of_kept = np.einsum("ij,ij->j", self.by_entries, self.by_entries)
        products_with_mean = self.mean @ self.by_entries
        squares_of_kept += self.sums * (
            self.sums * (self.mean @ self.mean) - 2 * products_with_mean
        )
        squares[self.kept] = np.maximum(squares_of_kept, 0)
        return squares


class LayersInTraining:
    """Linear layers with rectifiers between them, on centered and scaled features.

    Parameters
    ----------
    coefs, intercepts : lists of ndarray
        Weights of each layer, shapes (n_inputs, n_units) and (n_units,).

    features : Features
        Rows of features, with their mean and unit. The unit is folded into the fitted first
        layer.

    plan : TrainingPlan
        Weight decay, and dropout: fractions of the features and of the hidden units that
        are left out in training.

    rng : RandomState
        Seeds dropout.

    dtype : dtype, default=float32
        Type of the weights in training.

    Attributes
    ----------
    parameters : list of ndarray
        Weights, with a row for each unit, and offsets, of each layer in turn.
    """

    def __init__(self, coefs, intercepts, features, plan, rng, dtype=np.float32):
        self._scaling = features.scaling
        self._dropout = plan.dropout
        self._weight_decay = plan.weight_decay
        self.parameters = [
            np.array(values.T, dtype, order="C")
            for layer in zip(coefs, intercepts)
            for values in layer
        ]
        if features.is_wide:
            # The weights of an input lie side by side, as products with sparse rows want.
            self.parameters[0] = np.asfortranarray(self.parameters[0])
        if self._dropout.features or (self._dropout.hidden_units and len(coefs) > 1):
            self._generator = np.random.SFC64(int(rng.randint(2**31 - 1)))

    @property
    def _layers(self):
        return list(zip(self.parameters[::2], self.parameters[1::2]))

    def forward(self, X, kept):
        """Activations of rows, and the inputs of each layer.

        Parameters
        ----------
        X : ndarray or CenteredRows
            Rows; an array is written to.

        kept : ndarray of int or None
            Bits that are kept; None means all.

        Returns
        -------
        activations : ndarray of shape (n_rows, n_kept)
            Activations of the bits that are kept.

        inputs : list of ndarray or CenteredRows
            Inputs of each layer, after dropout.
        """
        inputs = []
        layers = self._layers
        for depth, (weights, offsets) in enumerate(layers):
            if depth:
                np.maximum(X, 0, out=X)
                self._drop_out(X, self._dropout.hidden_units)
            else:
                self._drop_out(X, self._dropout.features)
            inputs.append(X)
            is_kept = depth == len(layers) - 1 and kept is not None
            is_wide = isinstance(X, CenteredRows)
            if is_kept and not is_wide:
                weights = weights[kept]
                offsets = offsets[kept]
            X = X @ weights.T
            X += offsets
            if is_kept and is_wide:
                # The weights of a unit do not lie side by side, so all units are computed.
                X = X[:, kept]
        return X, inputs

    def _drop_out(self, X, rate):
        """Set a fraction of the numbers of an array to 0, and scale the others up."""
        from ..._loops._soft import drop_out

        if rate:
            words = self._generator.random_raw(-(-X.size // 4)).view(np.uint16)
            threshold = np.uint16(rate * 2**16)
            scale = X.dtype.type(1 / (1 - rate))
            drop_out(X.reshape(-1), words, threshold, scale)

    def backward(self, gradient, inputs, kept):
        """Gradients by all parameters.

        Parameters
        ----------
        gradient : ndarray of shape (n_rows, n_kept)
            Gradient by the activations of the bits that are kept.

        inputs : list of ndarray or CenteredRows
            Inputs of each layer, as :meth:`forward` returns them.

        kept : ndarray of int or None
            Bits that are kept; None means all.

        Returns
        -------
        gradients : list of ndarray or CenteredGradient
            In the order of the parameters.
        """
        gradients = []
        layers = self._layers
        for depth in reversed(range(len(layers))):
            weights, offsets = layers[depth]
            X = inputs[depth]
            grad_weights = gradient.T @ X
            grad_offsets = gradient.sum(axis=0)
            if depth == len(layers) - 1 and kept is not None:
                grad_offsets = _at_kept(grad_offsets, kept, offsets)
                if isinstance(grad_weights, CenteredGradient):
                    grad_weights.kept = kept
                else:
                    grad_weights = _at_kept(grad_weights, kept, weights)
                    weights = weights[kept]
            gradients[:0] = [grad_weights, grad_offsets]
            if depth:
                # Units that are 0, because of the rectifier or of dropout, pass nothing on.
                gradient = gradient @ weights
                gradient *= X > 0
                if self._dropout.hidden_units:
                    gradient *= 1 / (1 - self._dropout.hidden_units)
        return gradients

    def activations(self, X):
        """Activations of rows without dropout."""
        coefs = [weights.T for weights in self.parameters[::2]]
        return feed_forward(X, coefs, self.parameters[1::2])

    def steps(self):
        """Factors of the learning rate, and weight decay, for each parameter."""
        n_inputs = [weights.shape[1] for weights, _ in self._layers]
        return steps_of_layers(n_inputs, self._weight_decay)

    def fitted(self):
        """Attributes of a fitted hasher: float64, in units of the features."""
        arrays = [np.array(values.T, np.float64, order="C") for values in self.parameters]
        coefs = arrays[::2]
        intercepts = arrays[1::2]
        coefs[0] = self._scaling.fold(coefs[0])
        return {"coefs_": coefs, "intercepts_": intercepts, "means_": [self._scaling.mean]}


def _at_kept(values, kept, parameter):
    """An array of the shape of a parameter: values at the units kept, 0 at all others."""
    spread = np.zeros_like(parameter)
    spread[kept] = values
    return spread


class HostEngine:
    """Hash functions in training, of one view or two, that maximize AP or NDCG.

    Parameters
    ----------
    functions : list of LayersInTraining
        The function of samples that rank each other; or the functions of queries and of
        items, which may be one and the same.

    features : list of Features
        Rows that each function takes.

    loss : AveragePrecisionLoss or NDCGLoss
        The loss to be minimized.

    context : LossContext
        Affinity, targets and levels.

    plan : TrainingPlan
        Has the name of the solver.

    level_index : callable, default=None
        ``level_index(queries, items)`` returns the places of the affinities of all pairs of
        two views among the levels, -1 for unknown affinities. None: there is one view.

    Attributes
    ----------
    fitted_by_loss : dict
        Attributes that the fitted hasher keeps of the loss: none.
    """

    layers = LayersInTraining
    generators = nullcontext
    fitted_by_loss = {}
    # Infinite and NaN numbers are looked for at the end of each epoch.
    context = staticmethod(partial(np.errstate, all="ignore"))

    def __init__(self, functions, features, loss, context, plan, level_index=None):
        loss.check_context(context)
        keep_freed_memory()
        self._functions = functions
        self._features = features
        self._is_binary = loss.measure == "AP"
        levels = np.arange(2) if self._is_binary else context.gain_levels
        # The places of all levels fit into this type.
        self._place_type = np.min_scalar_type(-max(len(context.levels), 2**15))
        self._loss = loss
        self._levels = np.float64(levels)
        if level_index is None:
            level_index = levels_of_pairs(
                context.affinity, context.levels, context.targets, np.asarray
            )
        self._level_index = level_index
        self._is_shared = functions[0] is functions[-1]
        if self._is_shared and not all(rows.is_wide for rows in features):
            # Sums of gradients are then arrays with a row for each unit.
            parameters = functions[0].parameters
            parameters[0] = np.ascontiguousarray(parameters[0])
        self._parameters = []
        steps = []
        for function in functions[:1] if self._is_shared else functions:
            self._parameters += function.parameters
            steps += function.steps()
        self._solver = Solver(plan.solver, self._parameters, steps)

    @staticmethod
    def features(X, scaling, plan):
        """Rows of features as training takes them."""
        return Features(X, scaling, may_be_sparse=not plan.dropout.features)

    def gradients(self, rows, kept, scale):
        """The loss of a minibatch, and its gradients by all parameters.

        Parameters
        ----------
        rows : ndarray of int, or tuple of two
            Samples, or queries and items.

        kept : ndarray of int or None
            Bits that take part; None means all.

        scale : float
            Scale of tanh.

        Returns
        -------
        loss : float
            One minus the mean of the measure.

        gradients : list of ndarray
            By the parameters of each function.
        """
        has_two_views = isinstance(rows, tuple)
        passes = []
        for function, features, samples in zip(
            self._functions, self._features, rows if has_two_views else (rows,)
        ):
            passes.append(_Pass.forward(function, features.batch(samples), kept, scale))
        query_bits = passes[0].bits
        item_bits = passes[-1].bits
        rankings = measure_rankings(
            query_bits,
            item_bits,
            self._index_of_pairs(rows),
            tables=self.measure_tables(len(item_bits)),
            n_bins=query_bits.shape[1],
        )
        weight = -scale / max(rankings.n_queries, 1)
        if has_two_views:
            by_query = passes[0].backward(rankings.grad_query, weight, kept)
            by_items = passes[1].backward(rankings.grad_items, weight, kept)
            if self._is_shared:
                gradients = [first + second for first, second in zip(by_query, by_items)]
            else:
                gradients = by_query + by_items
        else:
            by_bits = rankings.grad_query + rankings.grad_items
            gradients = passes[0].backward(by_bits, weight, kept)
        return 1 - rankings.total / max(rankings.n_queries, 1), gradients

    def _index_of_pairs(self, rows):
        """Places of the affinities of all pairs of a minibatch among the levels."""
        has_two_views = isinstance(rows, tuple)
        samples = rows if has_two_views else (rows,)
        index = self._level_index(*samples).astype(self._place_type)
        if self._is_binary:
            np.minimum(index, 1, out=index)
        if not has_two_views:
            # No sample ranks itself.
            np.fill_diagonal(index, -1)
        return index

    def measure_tables(self, n_items):
        """The measure that training maximizes, for queries that rank `n_items`."""
        return MeasureTables.from_levels(
            self._levels,
            measure=self._loss.measure,
            is_simplified=self._loss.simplified,
            n_items=n_items,
        )

    def step(self, rows, kept, scale, rate):
        """Take a step down the gradient of a minibatch; return its loss."""
        loss, gradients = self.gradients(rows, kept, scale)
        self._solver.step(gradients, rate)
        return loss

    def codes(self, features, rows):
        """Codes of rows of features by the first function, uint8."""
        width = 1 if features.is_wide else features.X.shape[1]
        size = max(1, _CELLS_PER_BLOCK // width)
        blocks = np.array_split(rows, -(-len(rows) // size))
        function = self._functions[0]
        codes = [function.activations(features.batch(block)) > 0 for block in blocks]
        return np.concatenate(codes).astype(np.uint8)

    def weights(self):
        """Copies of all parameters, to be restored."""
        return [parameter.copy() for parameter in self._parameters]

    def restore(self, weights):
        """Give the functions weights that were kept."""
        for parameter, values in zip(self._parameters, weights):
            parameter[...] = values

    def is_finite(self):
        """Whether no parameter is NaN or infinite."""
        return all(np.isfinite(parameter).all() for parameter in self._parameters)

    def moments(self):
        """Moments of gradients, as NumPy arrays by the place of the parameter."""
        return self._solver.moments

    def load_moments(self, moments):
        """Go on from moments that either engine has returned."""
        for place, values in moments.items():
            for name, value in values.items():
                self._solver.moments[place][name][...] = value


class _Pass(NamedTuple):
    """One function's pass over the rows of a minibatch."""

    function: LayersInTraining
    inputs: list  # inputs of each layer
    bits: np.ndarray  # (n_rows, n_kept), relaxed

    @classmethod
    def forward(cls, function, X, kept, scale):
        """Pass rows through a function, to the relaxed bits that are kept."""
        activations, inputs = function.forward(X, kept)
        return cls(function, inputs, np.tanh(scale * activations))

    def backward(self, by_bits, weight, kept):
        """Gradients by the function's parameters from the one by its bits, weighted."""
        by_activations = weight * by_bits * (1 - self.bits * self.bits)
        return self.function.backward(by_activations, self.inputs, kept)


class Solver:
    """Adam, or Adam with one second moment per unit of a layer, and one per offset vector.

    Adam divides the step of each weight by the size of that weight's own gradients. So
    directions in which the features hardly vary weigh as much as directions in which they
    vary much: Adam whitens, and learns noise. With one divisor for all weights of a unit,
    steps turn with the features if these are rotated. Adam-mini (Zhang et al., ICLR 2025)
    has the same blocks of weights.

    Parameters
    ----------
    name : {"adam_mini", "adam"}
        Name of the solver.

    parameters : list of ndarray
        Weights, with a row for each unit, and offsets; changed in place.

    steps : list of (float, float)
        Factors of the learning rate, and weight decay, for each parameter.

    Attributes
    ----------
    moments : dict of dict
        For each place of a parameter: ``"step"``, the number of steps; ``"exp_avg"``, the
        mean gradient; and ``"exp_avg_sq"``, the mean square.
    """

    def __init__(self, name, parameters, steps):
        self._by_unit = name == "adam_mini"
        self._parameters = parameters
        self._steps = steps
        self.moments = {}
        for place, parameter in enumerate(parameters):
            divisors = parameter[..., :1] if self._by_unit else parameter
            self.moments[place] = {
                "step": np.zeros(()),
                "exp_avg": np.zeros_like(parameter),
                "exp_avg_sq": np.zeros_like(divisors),
            }

    def step(self, gradients, rate):
        """Move all parameters; weights shrink apart from the gradient, as in AdamW."""
        for parameter, gradient, (factor, decay), moments in zip(
            self._parameters, gradients, self._steps, self.moments.values(), strict=True
        ):
            moments["step"] += 1
            if isinstance(gradient, CenteredGradient) and not self._by_unit:
                gradient = gradient.of_units(len(parameter))
            descent = self._descent(
                parameter, gradient, moments, rate=factor * rate, shrinkage=decay * rate
            )
            self._descend(parameter, gradient, moments["exp_avg"], descent)

    def _descent(self, parameter, gradient, moments, *, rate, shrinkage):
        """Rates of the weights of a parameter, from its mean squares, which are updated."""
        from ..._loops._soft import Descent

        n_steps = float(moments["step"])
        square = moments["exp_avg_sq"]
        squares = self._squares(parameter, gradient)
        square += (1 - _SQUARE_DECAY) * (np.reshape(squares, square.shape) - square)
        size = np.sqrt(square / (1 - _SQUARE_DECAY**n_steps)) + _EPS
        rates = (rate / (1 - _DECAY**n_steps) / size).ravel(order="K")
        number = parameter.dtype.type
        return Descent(rates, number(1 - _DECAY), number(max(0.0, 1 - shrinkage)))

    def _squares(self, parameter, gradient):
        """Squares of a gradient: their means over a unit or an offset vector, or all."""
        if not self._by_unit:
            return gradient * gradient
        width = parameter.shape[-1]
        if isinstance(gradient, CenteredGradient):
            return gradient.squares(len(parameter)) / width
        return np.einsum("...i,...i->...", gradient, gradient) / width

    def _descend(self, parameter, gradient, mean, descent):
        """Update a parameter, and the mean of its gradients, in place."""
        from ..._loops._soft import descend, descend_by_inputs

        if isinstance(gradient, CenteredGradient):
            descend_by_inputs(parameter.T, mean.T, gradient.parts(), descent)
            return
        # One rate holds for `width` weights that follow each other. They are taken in the
        # order of memory, in which the weights of wide features are by input.
        width = parameter.shape[-1] if self._by_unit else 1
        descend(
            parameter.ravel(order="K").reshape(-1, width),
            gradient.ravel(order="K").reshape(-1, width),
            mean.ravel(order="K").reshape(-1, width),
            descent,
        )
