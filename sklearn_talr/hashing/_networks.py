"""Hash functions in training: layers, modules of the user, and what steps them (torch)."""

import copy
import math
from contextlib import contextmanager, nullcontext

import numpy as np
import scipy.sparse as sp
import torch

from .._arrays import NUMPY, as_numpy
from ._base import feed_forward, weights_of_features

_ACTIVATION_TYPES = torch.float32, torch.float64, torch.float16
_EMBEDDINGS = torch.nn.Embedding, torch.nn.EmbeddingBag


def random_layers(n_inputs, sizes, rng):
    """Hidden layers drawn as by He et al. (ICCV 2015), for rows of unit mean square in all.

    Inputs of later layers have a mean square of one each.
    """
    coefs, scale = [], 1.0
    for size in sizes:
        coefs.append(rng.standard_normal((n_inputs, size)) * scale)
        n_inputs, scale = size, hidden_scale(size)
    return coefs, [np.zeros(size) for size in sizes]


def hidden_units(X, coefs, intercepts):
    """Rows as the last layer takes them, behind all hidden layers."""
    return np.maximum(feed_forward(X, coefs, intercepts), 0) if coefs else X


def with_last_layer(X, mean, coefs, intercepts, projection):
    """All layers; activations of centered rows have a mean square of 1."""
    projection = projection / (np.sqrt(np.mean((X @ projection) ** 2)) or 1.0)
    return [*coefs, projection], [*intercepts, -mean @ projection]


def hidden_scale(n_inputs):
    """Standard deviation of first weights that keeps the mean square of hidden units."""
    return math.sqrt(2 / n_inputs)


class FeedForward:
    """Linear layers with rectifiers between them, on centered and scaled features.

    Parameters
    ----------
    coefs, intercepts : lists of ndarray
        Weights of each layer.

    features : Features
        Their mean and unit. The unit is folded into the fitted first layer.

    dropout : tuple of two float
        Fractions of the features and of the hidden units that are left out in training.

    rng : RandomState
        Seeds dropout.
    """

    def __init__(self, coefs, intercepts, features, dropout, rng):
        self.mean, self.unit = features.mean, features.unit
        generator = None
        if dropout[0] or (dropout[1] and len(coefs) > 1):
            generator = torch.Generator(features.device)
            generator.manual_seed(int(rng.randint(2**31 - 1)))
        layers = []
        for coef, intercept in zip(coefs, intercepts):
            rate = dropout[1] if layers else dropout[0]
            if layers:
                layers.append(torch.nn.ReLU())
            if rate:
                layers.append(SeededDropout(rate, generator))
            # skip_init: torch's own initialization would draw from the global RNG.
            layers.append(torch.nn.utils.skip_init(torch.nn.Linear, *coef.shape))
            with torch.no_grad():
                layers[-1].weight.copy_(torch.from_numpy(np.ascontiguousarray(coef.T)))
                layers[-1].bias.copy_(torch.from_numpy(np.asarray(intercept)))
        self.module = torch.nn.Sequential(*layers).to(features.device)
        self._linear = [each for each in layers if isinstance(each, torch.nn.Linear)]

    def generators(self):
        """Context of training, which leaves global generators alone."""
        return nullcontext()

    def fitted(self):
        """Attributes of a fitted hasher: NumPy arrays, in units of the features."""
        coefs = [layer.weight.detach().T.cpu().double().numpy() for layer in self._linear]
        intercepts = [layer.bias.detach().cpu().double().numpy() for layer in self._linear]
        coefs[0] = weights_of_features(coefs[0], self.unit)
        return {"coefs_": coefs, "intercepts_": intercepts, "means_": [self.mean]}

    def steps(self):
        """Factors of the learning rate and of the weight decay, for each parameter.

        A layer between hidden ones starts from smaller weights than the first layer does,
        and takes steps that are smaller by the same factor. Intercepts do not decay.
        """
        inner = [hidden_scale(layer.in_features) for layer in self._linear[1:-1]]
        by_layer = [1.0, *inner, 1.0][: len(self._linear)]
        return [(rate, decay) for rate in by_layer for decay in (1.0, 0.0)]


class UserModule:
    """A copy of a user's module, trained on features as they are.

    Parameters
    ----------
    module : torch.nn.Module
        From float32 features to `n_bits` activations.

    state : dict of ndarray or None
        Fitted ``state_dict`` to go on from.

    n_bits : int
        Number of outputs that it must have.

    features : Features
        Features that it will be trained on.

    rng : RandomState
        Seeds torch's global generators while the module is trained; they get their state
        back after.
    """

    def __init__(self, module, state, n_bits, features, rng):
        self._device = features.device
        self._seed = int(rng.randint(2**31 - 1))
        # An id that an embedding lacks is an error on the host, and on CUDA the end of all
        # work of the process there.
        where = torch.device("cpu") if _takes_ids(module) else features.device
        self.module = _copy_of(module, state, where)
        with self.generators():
            self.module.eval()
            _check_activations(self.module, features.extremes().to(where), n_bits)
        # Layers that learn are put in training mode; frozen ones keep their statistics.
        self.module.to(features.device).train()
        for layer in self.module.modules():
            weights = list(layer.parameters())
            if weights and not any(weight.requires_grad for weight in weights):
                layer.eval()

    @contextmanager
    def generators(self):
        """Context of training, in which torch's global generators are seeded."""
        on_cuda = self._device.type == "cuda"
        with torch.random.fork_rng(devices=[self._device] if on_cuda else []):
            torch.random.default_generator.manual_seed(self._seed)
            if on_cuda:
                with torch.cuda.device(self._device):
                    torch.cuda.manual_seed(self._seed)
            yield

    def fitted(self):
        """Attributes of a fitted hasher: the state of the module, in NumPy."""
        state = self.module.state_dict()
        arrays = {name: as_array(value) for name, value in state.items()}
        return {"module_state_": arrays}

    def steps(self):
        """Factors of the learning rate and of the weight decay, for each parameter.

        Vectors, such as offsets and the scales of normalizing layers, do not decay.
        Neither do arrays that a parametrization turns into weights: the arrays beneath
        torch's orthogonal weights would become 0.
        """
        return [
            (1.0, float(weight.ndim > 1 and "parametrizations" not in name.split(".")))
            for name, weight in self.module.named_parameters()
        ]


class ModuleFunction:
    """The function from rows of features to activations of a user's module.

    It has a copy of the module, on the CPU until it is moved.

    Parameters
    ----------
    module : torch.nn.Module
        Module of the user.

    state : dict of ndarray
        Fitted ``state_dict`` of the module.
    """

    def __init__(self, module, state):
        with _mode_kept():
            self._module = _copy_of(module, state, torch.device("cpu")).eval()

    def __call__(self, X):
        """Activations of NumPy arrays and CSR, or of tensors on the module's device."""
        is_tensor = isinstance(X, torch.Tensor)
        if is_tensor:
            rows = X.to(torch.float32, copy=True)  # the module may write to them
        else:
            X = X.toarray() if sp.issparse(X) else X
            rows = torch.from_numpy(np.array(X, dtype=np.float32))
        try:
            with _mode_kept(), torch.no_grad():
                activations = self._module(rows)
        except (IndexError, RuntimeError) as error:
            if not _takes_ids(self._module):
                raise
            raise ValueError(
                f"module fails on X: {error}. If X has ids that its embedding lacks, map "
                "them to one that stands for all unknown ids."
            ) from error
        _check_numbers(activations)
        return activations if is_tensor else activations.numpy()

    def moved_to(self, space):
        """The function for features in another space; not torch's are passed in NumPy."""
        if space is NUMPY:
            return self
        if not space.is_torch:
            return lambda X: space.take(self(as_numpy(X)))
        with _mode_kept():
            self._module.to(space.device)
        return self


def as_array(tensor):
    """A copy in NumPy, in float32 where NumPy lacks the type, as it lacks bfloat16."""
    if tensor.is_floating_point() and tensor.dtype not in _ACTIVATION_TYPES:
        tensor = tensor.float()
    return np.array(tensor.detach().cpu().numpy())


def _mode_kept():
    """Context that restores whether torch records gradients, also after an interrupt.

    ``torch.no_grad``, which torch itself uses to copy parameters, fails to restore it if an
    interrupt comes while that context is left.
    """
    return torch.set_grad_enabled(torch.is_grad_enabled())


def _takes_ids(module):
    return any(isinstance(layer, _EMBEDDINGS) for layer in module.modules())


def _check_activations(module, X, n_bits):
    """Raise ValueError unless a module turns features into activations to be learned."""
    try:
        activations = module(X)
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        remedy = (
            "It must take as many features as X has, and hold weights of dtype float32, as "
            "after module.float()."
        )
        if _takes_ids(module):
            remedy = (
                "Token ids reach it as float32, too: let its forward begin with x.long(), "
                "and give the embedding more entries than the largest id."
            )
        raise ValueError(
            f"module fails on features of shape {tuple(X.shape)} and dtype float32: "
            f"{error}. {remedy}"
        ) from error
    found = getattr(activations, "dtype", type(activations).__name__)
    if found not in _ACTIVATION_TYPES:
        raise ValueError(
            "module must return one tensor of activations, of dtype float32, float64 or "
            f"float16, got {found}. Bits are the signs of these: leave out what makes "
            "bits or classes of them, and convert other numbers by .float()."
        )
    if activations.shape != (len(X), n_bits):
        raise ValueError(
            f"module must turn {len(X)} rows of features into activations of shape "
            f"({len(X)}, n_bits) = ({len(X)}, {n_bits}), got shape "
            f"{tuple(activations.shape)}."
        )
    _check_numbers(activations)
    if not activations.requires_grad:
        raise ValueError(
            "module has nothing to learn: its activations depend on no parameter that "
            "requires a gradient. Has it parameters, and does it detach them?"
        )


def _check_numbers(activations):
    """Raise ValueError at NaN, which has no sign and would be a bit of 0."""
    if activations.isnan().any():
        raise ValueError(
            "module gives NaN as an activation. See whether the features are too large "
            "for float32, and whether it divides by 0 or takes the root or logarithm of it."
        )


def _copy_of(module, state, device):
    module = copy.deepcopy(module).to(device)
    if state is not None:
        try:
            module.load_state_dict({k: torch.as_tensor(v) for k, v in state.items()})
        except RuntimeError as error:
            raise ValueError(
                f"module has changed since it was fitted; call fit anew. {error}"
            ) from error
    return module


class SeededDropout(torch.nn.Module):
    """Dropout with its own generator; torch's dropout draws from the global generator."""

    def __init__(self, rate, generator):
        super().__init__()
        self.rate = rate
        self.generator = generator

    def forward(self, X):
        if not self.training:
            return X
        drawn = torch.rand(X.shape, generator=self.generator, device=X.device)
        return X * (drawn >= self.rate) / (1 - self.rate)


@torch.no_grad()
def encode(module, features, samples, block_size=1024):
    """Codes of some samples by a module in evaluation mode, uint8."""
    modes = [(layer, layer.training) for layer in module.modules()]
    module.eval()
    codes = []
    for rows in np.array_split(samples, -(-len(samples) // block_size)):
        activations = module(features.batch(rows))
        _check_numbers(activations)
        codes.append((activations > 0).cpu().numpy())
    for layer, training in modes:
        layer.training = training
    return np.concatenate(codes).astype(np.uint8)


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


def moments_of(solver):
    """Moments of gradients that a solver holds, as NumPy arrays by parameter."""
    return {
        index: {name: as_array(value) for name, value in values.items()}
        for index, values in solver.state_dict()["state"].items()
    }


def load_moments(solver, moments):
    """Let a solver go on from moments that :func:`moments_of` has returned."""
    state = {
        # Copies: a step changes them in place.
        index: {name: torch.tensor(value) for name, value in values.items()}
        for index, values in moments.items()
    }
    solver.load_state_dict(solver.state_dict() | {"state": state})


class AdamMini(torch.optim.Optimizer):
    """Adam with one second moment per unit of a layer, and one per vector of offsets.

    Adam divides the step of each weight by the size of that weight's own gradients. So
    directions in which the features hardly vary weigh as much as directions in which they
    vary much: Adam whitens, and learns noise. With one divisor for all weights of a unit,
    steps turn with the features when these are rotated. The blocks are those of Adam-mini,
    Zhang et al. (ICLR 2025).

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
                state, grad = self.state[parameter], parameter.grad
                if not state:
                    state["step"] = torch.zeros(())
                    state["exp_avg"] = torch.zeros_like(parameter)
                    state["exp_avg_sq"] = _unit_squares(torch.zeros_like(parameter))
                state["step"] += 1
                step, (decay, square_decay) = state["step"].item(), group["betas"]
                state["exp_avg"].lerp_(grad, 1 - decay)
                state["exp_avg_sq"].lerp_(_unit_squares(grad), 1 - square_decay)
                size = (state["exp_avg_sq"] / (1 - square_decay**step)).sqrt_()
                rate = group["lr"] / (1 - decay**step)
                parameter.addcdiv_(state["exp_avg"], size.add_(group["eps"]), value=-rate)


def _unit_squares(values):
    """Mean square of each row of a matrix, or of a whole vector, as a column."""
    dims = tuple(range(1, values.ndim)) if values.ndim > 1 else None
    norms = torch.linalg.vector_norm(values, dim=dims, keepdim=True)
    return norms.square_().div_(values.numel() // norms.numel())
