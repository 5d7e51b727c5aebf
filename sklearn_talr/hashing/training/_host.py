"""Training by gradients on the host: layers under ranking measures, in NumPy.

`_torch` has the same names, for CUDA, modules and all other losses.
"""

from contextlib import nullcontext
from functools import partial

import numpy as np
import scipy.sparse as sp

from ...features._scaling import row_blocks
from ...losses._base import levels_of_pairs
from ...losses._rankings import MeasureTables, keep_freed_memory, measure_rankings
from .._function import feed_forward
from .._linear import steps_of_layers

_WIDE = 20  # times as many cells as entries
MOST_COPIED = 2**24  # numbers: 64 MiB
_CELLS_PER_BLOCK = 2**20  # of rows that are encoded
_DECAY, _SQUARE_DECAY, _EPS = 0.9, 0.999, 1e-8  # of Adam


class Features:
    """The rows ``X - mean`` in units, in float32.

    Parameters
    ----------
    X : {ndarray (also memory-mapped), CSR} of shape (n_samples, n_features)
        Checked features. A centered float32 copy of dense ones is kept where it is small.
        Others are neither copied nor made dense as a whole.

    scaling : Scaling
        Mean and unit.

    may_be_sparse : bool, default=True
        Whether batches of sparse rows may be :class:`CenteredRows`.
    """

    def __init__(self, X, scaling, may_be_sparse=True):
        self.X = X
        self.scaling = scaling
        # Rows of few entries are multiplied as they are, and are never made dense.
        cells = X.shape[0] * X.shape[1]
        self.is_wide = may_be_sparse and sp.issparse(X) and np.ndim(scaling.unit) < 2
        self.is_wide = self.is_wide and _WIDE * X.nnz < cells
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

    __array_ufunc__ = None  # so that arrays leave products to this class

    def __init__(self, X, mean):
        self._X, self._mean = X, mean

    def __matmul__(self, weights):
        return self._X @ weights - self._mean @ weights

    def __rmatmul__(self, gradient):
        by_entries = self._X.T @ np.ascontiguousarray(gradient.T)
        return CenteredGradient(by_entries, self._mean, gradient.sum(axis=1))


class CenteredGradient:
    """A gradient by weights of centered rows: that by their entries, less mean times sum.

    Attributes
    ----------
    by_entries : ndarray of shape (n_inputs, n_kept)
        Products with the entries.

    mean, sums : ndarrays of shapes (n_inputs,) and (n_kept,)
        Mean of the rows, and sums of the gradients by the units that are kept.

    kept : ndarray of int
        These units; all, unless it is set.
    """

    def __init__(self, by_entries, mean, sums):
        self.by_entries, self.mean, self.sums = by_entries, mean, sums
        self.kept = np.arange(len(sums))

    __array_ufunc__ = None  # so that arrays leave sums to this class

    def __add__(self, other):
        if isinstance(other, np.ndarray):  # of rows that are not of few entries
            return np.ascontiguousarray(self.of_units(len(other)) + other)
        sums = self.by_entries + other.by_entries, self.mean, self.sums + other.sums
        total = CenteredGradient(*sums)
        total.kept = self.kept
        return total

    __radd__ = __add__

    def parts(self):
        """What `descend_by_inputs` takes."""
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
        own = np.einsum("ij,ij->j", self.by_entries, self.by_entries)
        own += self.sums * (
            self.sums * (self.mean @ self.mean) - 2 * (self.mean @ self.by_entries)
        )
        squares[self.kept] = np.maximum(own, 0)
        return squares


class LayersInTraining:
    """Linear layers with rectifiers between them, on centered and scaled features.

    Parameters
    ----------
    coefs, intercepts : lists of ndarray
        Weights of each layer, shapes (n_inputs, n_units) and (n_units,).

    features : Features
        Their mean and unit. The unit is folded into the fitted first layer.

    plan : TrainingPlan
        Weight decay, and dropout: fractions of the features and of the hidden units that
        are left out in training.

    rng : RandomState
        Seeds dropout.

    dtype : dtype, default=float32
        Of the weights in training.

    Attributes
    ----------
    parameters : list of ndarray
        Weights of a row a unit, and offsets, of each layer in turn.
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
        if features.is_wide:  # the weights of an input side by side
            self.parameters[0] = np.asfortranarray(self.parameters[0])
        if self._dropout[0] or (self._dropout[1] and len(coefs) > 1):
            self._drawn = np.random.SFC64(int(rng.randint(2**31 - 1)))

    @property
    def _layers(self):
        return list(zip(self.parameters[::2], self.parameters[1::2]))

    def forward(self, X, kept):
        """Activations, of the bits kept, of rows that are written to; inputs of layers."""
        from ..._loops._soft import drop_out

        inputs, layers = [], self._layers
        for depth, (weights, offsets) in enumerate(layers):
            rate = self._dropout[depth > 0]
            if depth:
                np.maximum(X, 0, out=X)
            if rate:  # 16 random bits a number
                words = self._drawn.random_raw(-(-X.size // 4)).view(np.uint16)
                how = np.uint16(rate * 2**16), X.dtype.type(1 / (1 - rate))
                drop_out(X.reshape(-1), words, *how)
            inputs.append(X)
            is_kept = depth == len(layers) - 1 and kept is not None
            is_wide = isinstance(X, CenteredRows)
            if is_kept and not is_wide:
                weights, offsets = weights[kept], offsets[kept]
            X = X @ weights.T
            X += offsets
            if is_kept and is_wide:  # whose weights of a unit do not lie side by side
                X = X[:, kept]
        return X, inputs

    def backward(self, gradient, inputs, kept):
        """Gradients by all parameters from that by the activations of the bits kept."""
        gradients, layers = [], self._layers
        for depth in reversed(range(len(layers))):
            (weights, offsets), X = layers[depth], inputs[depth]
            of_weights, of_offsets = gradient.T @ X, gradient.sum(axis=0)
            if depth == len(layers) - 1 and kept is not None:
                kept_weights, kept_offsets = of_weights, of_offsets
                of_offsets = np.zeros_like(offsets)
                of_offsets[kept] = kept_offsets
                if isinstance(of_weights, CenteredGradient):
                    of_weights.kept = kept
                else:
                    of_weights = np.zeros_like(weights)
                    of_weights[kept] = kept_weights
                    weights = weights[kept]
            gradients[:0] = [of_weights, of_offsets]
            if depth:  # units that are 0, by the rectifier or left out, pass nothing on
                gradient = gradient @ weights
                gradient *= X > 0
                if self._dropout[1]:
                    gradient *= 1 / (1 - self._dropout[1])
        return gradients

    def activations(self, X):
        """Activations of rows without dropout."""
        weights, offsets = zip(*self._layers)
        return feed_forward(X, [each.T for each in weights], offsets)

    def steps(self):
        """Factors of the learning rate, and weight decay, for each parameter."""
        n_inputs = [weights.shape[1] for weights, _ in self._layers]
        return steps_of_layers(n_inputs, self._weight_decay)

    def fitted(self):
        """Attributes of a fitted hasher: float64, in units of the features."""
        coefs, intercepts = (
            [np.array(each.T, np.float64, order="C") for each in arrays]
            for arrays in zip(*self._layers)
        )
        coefs[0] = self._scaling.fold(coefs[0])
        return {"coefs_": coefs, "intercepts_": intercepts, "means_": [self._scaling.mean]}


class HostEngine:
    """Hash functions in training, of one view or two, under AP or NDCG.

    Parameters
    ----------
    functions : list of LayersInTraining
        That of samples which rank each other; or those of queries and of items, which may
        be one.

    features : list of Features
        Rows that each function takes.

    loss : AveragePrecisionLoss or NDCGLoss
        What is minimized.

    context : LossContext
        Affinity, targets and levels.

    plan : TrainingPlan
        Has the name of the solver.

    level_index : callable, default=None
        ``level_index(queries, items)``: places of the affinities of all pairs of two views
        among the levels; -1 where nothing is known. None: there is one view.

    Attributes
    ----------
    fitted_by_loss : dict
        Attributes that the fitted hasher keeps of the loss: none.
    """

    layers, generators, fitted_by_loss = LayersInTraining, nullcontext, {}
    # Infinite and NaN numbers are looked for at the end of each epoch.
    context = staticmethod(partial(np.errstate, all="ignore"))

    def __init__(self, functions, features, loss, context, plan, level_index=None):
        loss.check_context(context)
        keep_freed_memory()
        self._functions, self._features = functions, features
        self._is_binary = loss.measure == "AP"
        levels = np.arange(2) if self._is_binary else context.gain_levels
        # The places of all levels fit into it.
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
            # Sums of gradients are then arrays with a unit a row.
            first = functions[0].parameters
            first[0] = np.ascontiguousarray(first[0])
        distinct = functions[:1] if self._is_shared else functions
        self._parameters = [each for view in distinct for each in view.parameters]
        steps = [each for view in distinct for each in view.steps()]
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
        both = isinstance(rows, tuple)
        samples = rows if both else (rows,)
        views = [each.batch(view) for each, view in zip(self._features, samples)]
        activations, inputs = zip(
            *(each.forward(view, kept) for each, view in zip(self._functions, views))
        )
        bits = [np.tanh(scale * each) for each in activations]
        index = self._level_index(*samples).astype(self._place_type)
        if self._is_binary:
            np.minimum(index, 1, out=index)
        if not both:
            np.fill_diagonal(index, -1)  # no sample ranks itself
        tables = self.measure_tables(len(bits[-1]))
        rankings = measure_rankings(
            bits[0], bits[-1], index, tables=tables, n_bins=bits[0].shape[1]
        )
        if both:
            by_bits = [rankings.grad_query, rankings.grad_items]
        else:
            by_bits = [rankings.grad_query + rankings.grad_items]
        weight = -scale / max(rankings.n_queries, 1)
        by_function = [
            function.backward(weight * gradient * (1 - phi * phi), of_layers, kept)
            for function, gradient, phi, of_layers in zip(
                self._functions, by_bits, bits, inputs
            )
        ]
        if both and self._is_shared:
            by_function = [[one + other for one, other in zip(*by_function)]]
        loss = 1 - rankings.total / max(rankings.n_queries, 1)
        return loss, [gradient for gradients in by_function for gradient in gradients]

    def measure_tables(self, n_items):
        """The measure that training maximizes, for queries that rank so many items."""
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
        for parameter, kept in zip(self._parameters, weights):
            parameter[...] = kept

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


class Solver:
    """Adam, or Adam with one second moment per unit of a layer, and one per offsets.

    Adam divides the step of each weight by the size of that weight's own gradients. So
    directions in which the features hardly vary weigh as much as directions in which they
    vary much: Adam whitens, and learns noise. With one divisor for all weights of a unit,
    steps turn with the features when these are rotated. The blocks are those of Adam-mini,
    Zhang et al. (ICLR 2025).

    Parameters
    ----------
    name : {"adam_mini", "adam"}
        Which.

    parameters : list of ndarray
        Weights with a row a unit, and offsets; changed in place.

    steps : list of (float, float)
        Factors of the learning rate, and weight decay, for each parameter.

    Attributes
    ----------
    moments : dict
        By the place of a parameter ``"step"``, how many there were, ``"exp_avg"``, the mean
        gradient, and ``"exp_avg_sq"``, that of the squares.
    """

    def __init__(self, name, parameters, steps):
        self._by_unit = name == "adam_mini"
        self._parameters, self._steps = parameters, steps
        self.moments = {
            place: {
                "step": np.zeros(()),
                "exp_avg": np.zeros_like(each),
                "exp_avg_sq": np.zeros_like(each[..., :1] if self._by_unit else each),
            }
            for place, each in enumerate(parameters)
        }

    def step(self, gradients, rate):
        """Move all parameters; weights shrink apart from the gradient, as by AdamW."""
        from ..._loops._soft import Descent, descend, descend_by_inputs

        of_each = self._parameters, gradients, self._steps, self.moments.values()
        for parameter, gradient, (factor, decay), moments in zip(*of_each, strict=True):
            moments["step"] += 1
            n_steps, mean = float(moments["step"]), moments["exp_avg"]
            # One divisor for all weights of a unit, or for each.
            square, is_wide = moments["exp_avg_sq"], isinstance(gradient, CenteredGradient)
            width = parameter.shape[-1] if self._by_unit else 1
            if is_wide and not self._by_unit:
                gradient, is_wide = gradient.of_units(len(parameter)), False
            if is_wide:
                squares = gradient.squares(len(parameter)) / width
            elif self._by_unit:
                squares = np.einsum("...i,...i->...", gradient, gradient) / width
            else:
                squares = gradient * gradient
            square += (1 - _SQUARE_DECAY) * (np.reshape(squares, square.shape) - square)
            size = np.sqrt(square / (1 - _SQUARE_DECAY**n_steps)) + _EPS
            rates = (factor * rate / (1 - _DECAY**n_steps) / size).ravel(order="K")
            number = parameter.dtype.type
            factor = number(max(0.0, 1 - decay * rate))
            descent = Descent(rates, number(1 - _DECAY), factor)
            if is_wide:
                descend_by_inputs(parameter.T, mean.T, gradient.parts(), descent)
            else:  # in the order of memory, which differs where features are wide
                weights, gradient, mean = (
                    each.ravel(order="K").reshape(-1, width)
                    for each in (parameter, gradient, mean)
                )
                descend(weights, gradient, mean, descent)
