"""Hash functions as torch modules: layers in training, and modules of the user."""

import copy
from contextlib import contextmanager, nullcontext

import numpy as np
import scipy.sparse as sp
import torch

from ..._core.validation import NUMPY, as_numpy
from .._linear import steps_of_layers

_ACTIVATION_TYPES = torch.float32, torch.float64, torch.float16
_EMBEDDINGS = torch.nn.Embedding, torch.nn.EmbeddingBag


class FeedForward:
    """Linear layers with rectifiers between them, on centered and scaled features.

    Parameters
    ----------
    coefs, intercepts : lists of ndarray
        Weights of each layer.

    features : Features
        Rows of features, with their mean and unit. The unit is folded into the fitted first
        layer.

    plan : TrainingPlan
        Weight decay, and dropout: fractions of the features and of the hidden units that
        are left out in training.

    rng : RandomState
        Seeds dropout.
    """

    def __init__(self, coefs, intercepts, features, plan, rng):
        self._scaling = features.scaling
        self._weight_decay = plan.weight_decay
        dropout = plan.dropout
        generator = None
        if dropout.features or (dropout.hidden_units and len(coefs) > 1):
            generator = torch.Generator(features.device)
            generator.manual_seed(int(rng.randint(2**31 - 1)))
        layers = []
        for coef, intercept in zip(coefs, intercepts):
            rate = dropout.hidden_units if layers else dropout.features
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
        self._linear = [layer for layer in layers if isinstance(layer, torch.nn.Linear)]

    def generators(self):
        """Context of training, which leaves global generators alone."""
        return nullcontext()

    def fitted(self):
        """Attributes of a fitted hasher: NumPy arrays, in units of the features."""
        coefs = [layer.weight.detach().T.cpu().double().numpy() for layer in self._linear]
        intercepts = [layer.bias.detach().cpu().double().numpy() for layer in self._linear]
        coefs[0] = self._scaling.fold(coefs[0])
        return {"coefs_": coefs, "intercepts_": intercepts, "means_": [self._scaling.mean]}

    def steps(self):
        """Factors of the learning rate, and weight decay, for each parameter."""
        n_inputs = [layer.in_features for layer in self._linear]
        return steps_of_layers(n_inputs, self._weight_decay)


class UserModule:
    """A copy of a user's module, trained on features as they are.

    Parameters
    ----------
    module : torch.nn.Module
        From float32 features to `n_bits` activations.

    state : dict of ndarray or None
        Fitted ``state_dict`` to go on from.

    plan : TrainingPlan
        Number of outputs that it must have, and weight decay.

    features : Features
        Features that it will be trained on.

    rng : RandomState
        Seeds torch's global generators while the module is trained; they get their state
        back after.
    """

    def __init__(self, module, state, plan, features, rng):
        self._device = features.device
        self._weight_decay = plan.weight_decay
        self._seed = int(rng.randint(2**31 - 1))
        # An id that an embedding lacks is an error on the host. On CUDA it makes the device
        # unusable for the process.
        first_device = torch.device("cpu") if _takes_ids(module) else features.device
        self.module = _copy_of(module, state, first_device)
        with self.generators():
            self.module.eval()
            X = features.extremes().to(first_device)
            _check_activations(self.module, X, plan.n_bits)
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
        """Factors of the learning rate, and weight decay, for each parameter.

        Vectors, such as offsets and the scales of normalizing layers, do not decay.
        Neither do arrays that a parametrization turns into weights: the arrays beneath
        torch's orthogonal weights would become 0.
        """
        are_shrunk = (
            weight.ndim > 1 and "parametrizations" not in name.split(".")
            for name, weight in self.module.named_parameters()
        )
        return [(1.0, self._weight_decay * is_shrunk) for is_shrunk in are_shrunk]


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
            # The module may write to the rows.
            rows = X.to(torch.float32, copy=True)
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
                "them to one id for all unknown ids."
            ) from error
        check_numbers(activations)
        return activations if is_tensor else activations.numpy()

    def moved_to(self, space):
        """The function for features in another space, copied to NumPy unless torch's."""
        if space is NUMPY:
            return self
        if not space.is_torch:
            return lambda X: space.take(self(as_numpy(X)))
        with _mode_kept():
            self._module.to(space.device)
        return self


def as_array(tensor):
    """A copy in NumPy, in float32 if NumPy lacks the type, such as bfloat16."""
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
    """Whether a module has an embedding, whose inputs are token ids."""
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
    dtype = getattr(activations, "dtype", type(activations).__name__)
    if dtype not in _ACTIVATION_TYPES:
        raise ValueError(
            "module must return one tensor of activations, of dtype float32, float64 or "
            f"float16, got {dtype}. Bits are the signs of activations: leave out layers "
            "that make bits or classes of them, and convert other numbers by .float()."
        )
    if activations.shape != (len(X), n_bits):
        raise ValueError(
            f"module must turn {len(X)} rows of features into activations of shape "
            f"({len(X)}, n_bits) = ({len(X)}, {n_bits}), got shape "
            f"{tuple(activations.shape)}."
        )
    check_numbers(activations)
    if not activations.requires_grad:
        raise ValueError(
            "module has nothing to learn: its activations depend on no parameter that "
            "requires a gradient. Has it parameters, and does it detach them?"
        )


def check_numbers(activations):
    """Raise ValueError at NaN, which has no sign and would be a bit of 0."""
    if activations.isnan().any():
        raise ValueError(
            "module returns NaN as an activation. Check whether the features are too large "
            "for float32, and whether the module divides by 0 or takes the root or the "
            "logarithm of 0."
        )


def _copy_of(module, state, device):
    """A copy of a module on a device, with a fitted state if there is one."""
    module = copy.deepcopy(module).to(device)
    if state is not None:
        try:
            tensors = {name: torch.as_tensor(array) for name, array in state.items()}
            module.load_state_dict(tensors)
        except RuntimeError as error:
            raise ValueError(
                f"module has changed since it was fitted; call fit anew. {error}"
            ) from error
    return module


class TwoModules(torch.nn.Module):
    """Applies a module to the rows of each view."""

    def __init__(self, query, item):
        super().__init__()
        self.query = query
        self.item = item

    def forward(self, rows):
        return self.query(rows[0]), self.item(rows[1])


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
