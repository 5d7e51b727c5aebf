"""Training by gradients in torch: on CUDA, of modules, and with any loss.

`_host` has the same names, and trains layers with the two ranking losses without torch.
"""

from functools import partial

import numpy as np
import torch
from sklearn.utils import gen_batches

from ...features._scaling import row_blocks
from ...features._similar_rows import in_units
from ...losses import Batch
from ...losses._base import levels_of_pairs, to_device
from ...losses._rankings import keep_freed_memory
from ._host import MOST_COPIED, Features
from ._modules import FeedForward, TwoModules, as_array, check_numbers


class DeviceFeatures(Features):
    """The rows ``X - mean`` in units, as float32 tensors on a device.

    Parameters
    ----------
    X : {ndarray (also memory-mapped), CSR, tensor} of shape (n_samples, n_features)
        Checked features. A centered float32 copy of an array is kept if it is small, or if
        a CUDA device has room. Other features are neither copied nor made dense as a whole.

    scaling : Scaling
        Mean and unit.

    device : torch.device
        Where batches go, and where a tensor is brought.

    as_they_are : bool, default=False
        Whether rows are ``X`` itself, and the scaling is only stored.
    """

    def __init__(self, X, scaling, device, as_they_are=False):
        self.X = X.to(device) if isinstance(X, torch.Tensor) else X
        self.scaling = scaling
        self.device = device
        self._as_they_are = as_they_are
        self._resident = None
        if isinstance(X, np.ndarray):
            room = MOST_COPIED
            if device.type == "cuda":
                room = torch.cuda.mem_get_info(device)[0] // 16  # bytes
            if X.size <= room:
                copy = torch.empty(X.shape, dtype=torch.float32, device=device)
                for rows in row_blocks(X):
                    copy[rows] = torch.from_numpy(self.block(rows).astype(np.float32))
                self._resident = copy

    def block(self, rows):
        """Rows, by slice or index array, as a dense float64 array on the host."""
        if isinstance(self.X, torch.Tensor):
            return self._of_tensor(rows).cpu().numpy()
        return self._rows(rows) if self._as_they_are else super().block(rows)

    def batch(self, rows):
        """Rows, by index array, as a float32 tensor on the device."""
        if self._resident is not None:
            return self._resident[to_device(rows, self.device)]
        if isinstance(self.X, torch.Tensor):
            return self._of_tensor(rows).float()
        return to_device(self.block(rows).astype(np.float32), self.device)

    def extremes(self):
        """The rows of the largest and of the smallest number, as `batch` gives them."""
        places = int(self.X.argmax()), int(self.X.argmin())
        return self.batch(np.array(places) // self.X.shape[1])

    def _of_tensor(self, rows):
        block = self.X[to_device(rows, self.device)].double()
        if self._as_they_are:
            return block
        return in_units(
            block - self._tensor(self.scaling.mean), self._tensor(self.scaling.unit)
        )

    def _tensor(self, array):
        return torch.as_tensor(array, dtype=torch.float64, device=self.device)


class TorchEngine:
    """Hash functions in training, of one view or two, under any loss.

    Parameters
    ----------
    functions : list of FeedForward or UserModule
        The function of samples that rank each other; or the functions of queries and of
        items, which may be one and the same.

    features : list of DeviceFeatures
        Rows that each function takes.

    loss : BaseLoss
        The loss to be minimized.

    context : LossContext
        Training data, to which the loss is bound.

    plan : TrainingPlan
        Has the name of the solver, and the device.

    level_index : callable, default=None
        ``level_index(queries, items)`` returns the places of the affinities of all pairs of
        two views among the levels, -1 for unknown affinities. None: there is one view.

    Attributes
    ----------
    fitted_by_loss : dict
        Attributes that the fitted hasher keeps of the loss.
    """

    layers = FeedForward
    context = torch.enable_grad

    def __init__(self, functions, features, loss, context, plan, level_index=None):
        keep_freed_memory()
        self.module = functions[0].module
        if len(functions) > 1:
            self.module = TwoModules(functions[0].module, functions[1].module)
        self._functions = functions
        self._features = features
        self._loss = loss
        self._device = torch.device(plan.device)
        self._step, self.fitted_by_loss = loss.bind(context._replace(device=self._device))
        if level_index is None:
            level_index = levels_of_pairs(
                context.affinity, context.levels, context.targets, self._take
            )
        self._level_index = level_index
        is_shared = functions[0] is functions[-1]
        steps = []
        for function in functions[:1] if is_shared else functions:
            steps += function.steps()
        rate_factors, self._decays = zip(*steps)
        self._solver = make_solver(plan.solver, self.module.parameters(), rate_factors)

    @staticmethod
    def features(X, scaling, plan):
        """Rows of features as training takes them; a module takes them as they are."""
        device = torch.device(plan.device)
        return DeviceFeatures(X, scaling, device, as_they_are=plan.module is not None)

    def generators(self):
        """Context of training, which leaves global generators alone."""
        return self._functions[0].generators()

    def loss(self, rows, kept_bits, scale):
        """The loss of a minibatch, of which each step keeps some bits.

        Parameters
        ----------
        rows : ndarray of int, or tuple of two
            Samples, or queries and items.

        kept_bits : ndarray of int or None
            Bits that take part; None means all.

        scale : float or None
            Scale of tanh; None: there is none.

        Returns
        -------
        loss : Tensor, scalar
            Loss of the activations of the batch.
        """
        activations = self._activations(rows)
        if kept_bits is not None:
            kept_bits = self._take(kept_bits)
            activations = [view.index_select(1, kept_bits) for view in activations]
        # Losses count in float32 at least.
        activations = [
            view.to(torch.promote_types(view.dtype, torch.float32)) for view in activations
        ]
        has_two_views = isinstance(rows, tuple)
        batch = Batch(
            activations=tuple(activations) if has_two_views else activations[0],
            level_index=partial(self._index_of_pairs, rows),
            rows=rows,
            kept=kept_bits,
            scale=scale,
        )
        value = self._step(batch)
        problem = _problem_of_loss(value, must_depend=activations[0].requires_grad)
        if problem is not None:
            raise ValueError(
                f"loss {self._loss!r} must return a number that depends "
                "on the bits, as a float tensor of shape (), as .mean() or .sum() of a "
                "tensor gives it without .item(), .detach() and NumPy. Got "
                f"{problem}."
            )
        return value

    def _activations(self, rows):
        """Activations of the samples of a minibatch, a tensor for each view."""
        if isinstance(rows, tuple):
            batches = [
                features.batch(samples) for features, samples in zip(self._features, rows)
            ]
            return self.module(batches)
        return [self.module(self._features[0].batch(rows))]

    def _index_of_pairs(self, rows):
        """Places of the affinities of all pairs of a minibatch, an integer tensor."""
        samples = rows if isinstance(rows, tuple) else (rows,)
        index = self._level_index(*samples)
        index = torch.as_tensor(index, device=self._device)
        is_integer = not index.is_floating_point() and index.dtype != torch.bool
        return index if is_integer else index.short()

    def step(self, rows, kept, scale, rate):
        """Take a step down the gradient of a minibatch; return its loss, a tensor."""
        for group in self._solver.param_groups:
            group["lr"] = rate * group["factor"]
        loss = self.loss(rows, kept, scale)
        self.module.zero_grad()
        loss.backward()
        self._solver.step()
        # Weights shrink apart from the gradient, whatever the solver; not frozen ones.
        with torch.no_grad():
            for parameter, decay in zip(self.module.parameters(), self._decays):
                if decay and parameter.grad is not None:
                    parameter *= max(0.0, 1 - decay * rate)
        return loss.detach()

    @torch.no_grad()
    def codes(self, features, rows, block_size=1024):
        """Codes of rows of features by the first function in evaluation mode, uint8."""
        module = self._functions[0].module
        codes = []
        modes = [(layer, layer.training) for layer in module.modules()]
        module.eval()
        for block in gen_batches(len(rows), block_size):
            activations = module(features.batch(rows[block]))
            check_numbers(activations)
            codes.append((activations > 0).cpu().numpy())
        for layer, is_training in modes:
            layer.training = is_training
        return np.concatenate(codes).astype(np.uint8)

    def weights(self):
        """Copies of all parameters and buffers, to be restored."""
        return {name: value.clone() for name, value in self.module.state_dict().items()}

    def restore(self, weights):
        """Give the functions weights that were kept."""
        self.module.load_state_dict(weights)

    def is_finite(self):
        """Whether no parameter is NaN or infinite."""
        parameters = self.module.parameters()
        return all(bool(parameter.isfinite().all()) for parameter in parameters)

    def moments(self):
        """Moments of gradients, as NumPy arrays by the place of the parameter."""
        return {
            place: {name: as_array(value) for name, value in values.items()}
            for place, values in self._solver.state_dict()["state"].items()
        }

    def load_moments(self, moments):
        """Go on from moments that either engine has returned."""
        # A step changes moments in place, so the solver gets copies.
        state = {
            place: {name: torch.tensor(value) for name, value in values.items()}
            for place, values in moments.items()
        }
        self._solver.load_state_dict(self._solver.state_dict() | {"state": state})

    def _take(self, array):
        return to_device(array, self._device)


def _problem_of_loss(value, *, must_depend):
    """The kind of value that a loss has returned in place of a scalar tensor, or None.

    Only a scalar tensor that depends on the bits can be minimized.
    """
    if not isinstance(value, torch.Tensor):
        return type(value).__name__
    if value.shape != () or not value.is_floating_point():
        return f"a tensor of shape {tuple(value.shape)} and {value.dtype}"
    if must_depend and not value.requires_grad:
        return "a tensor that depends on no bit: a constant, or detached"
    return None


def make_solver(name, parameters, factors):
    """Make the torch optimizer of this name, whose rate is still to be set.

    Parameters
    ----------
    name : {"adam_mini", "adam"}
        Name of the solver.

    parameters : iterable of Parameter
        Parameters of a module.

    factors : list of float
        Factor of the learning rate for each parameter.
    """
    solver = {"adam_mini": AdamMini, "adam": torch.optim.Adam}[name]
    groups = [
        {"params": [parameter], "factor": factor}
        for parameter, factor in zip(parameters, factors, strict=True)
    ]
    return solver(groups, lr=0.0)


class AdamMini(torch.optim.Optimizer):
    """Adam with one second moment per unit of a layer, and one per offset vector.

    `Solver` of `_host` has the reasons and the source.

    Parameters
    ----------
    parameters : iterable of Parameter
        The first dimension of a weight array counts the units.

    lr : float
        Learning rate.

    betas : (float, float)
        Decay of the means of gradients and of their squares.

    eps : float
        Added to the divisor.
    """

    def __init__(self, parameters, lr, betas=(0.9, 0.999), eps=1e-8):
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                decay, square_decay = group["betas"]
                state = self.state[parameter]
                if not state:
                    state["step"] = torch.zeros(())
                    state["exp_avg"] = torch.zeros_like(parameter)
                    state["exp_avg_sq"] = _unit_squares(torch.zeros_like(parameter))
                state["step"] += 1
                n_steps = state["step"].item()
                state["exp_avg"].lerp_(parameter.grad, 1 - decay)
                state["exp_avg_sq"].lerp_(_unit_squares(parameter.grad), 1 - square_decay)
                size = (state["exp_avg_sq"] / (1 - square_decay**n_steps)).sqrt_()
                rate = group["lr"] / (1 - decay**n_steps)
                parameter.addcdiv_(state["exp_avg"], size.add_(group["eps"]), value=-rate)


def _unit_squares(values):
    """Mean square of each row of a matrix, or of a whole vector, as a column."""
    dims = tuple(range(1, values.ndim)) if values.ndim > 1 else None
    norms = torch.linalg.vector_norm(values, dim=dims, keepdim=True)
    return norms.square_().div_(values.numel() // norms.numel())
