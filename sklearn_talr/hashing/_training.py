"""The training loop that learned hashers share: minibatches, a loss, two schedules."""

import math
import warnings
from contextlib import contextmanager

import numpy as np
import torch
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

# Batches up to this size run about as fast on one thread as on several, and far faster
# than on several threads when another process needs the processor too.
_ONE_THREAD_BATCH = 512


class Trainer:
    """Minimises a minibatch loss of a torch module.

    Parameters
    ----------
    module : torch.nn.Module
        From features to activations.

    batch_loss : callable
        ``batch_loss(activations, samples, progress) -> scalar tensor``; `samples` are the
        row indices of the batch and `progress` runs from 0 to 1 over the epochs.

    rng : RandomState
        Shuffles the samples.

    Other parameters are those of the estimators.
    """

    def __init__(
        self,
        module,
        batch_loss,
        rng,
        *,
        solver,
        learning_rate,
        learning_rate_init,
        momentum,
        weight_decay,
        batch_size,
        max_iter,
        verbose,
    ):
        self.module = module
        self.batch_loss = batch_loss
        self.rng = rng
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.verbose = verbose
        self.optimizer = _make_optimizer(module, solver, learning_rate_init, momentum)

    def run(self, X):
        """Train on a tensor of features and return the mean loss of each epoch.

        An interrupt ends training after the last completed epoch, with a warning; the
        module then holds that epoch's weights.
        """
        losses = []
        saved = self._weights()
        try:
            with _threads_for(self.batch_size), config_context(assume_finite=True):
                for epoch in range(self.max_iter):
                    losses.append(self._run_epoch(X, epoch))
                    saved = self._weights()
                    self._report(epoch, losses[-1])
        except KeyboardInterrupt:
            self.module.load_state_dict(saved)
            warnings.warn(
                f"Training interrupted after {len(losses)} of {self.max_iter} epochs; the "
                "hasher keeps the weights of the last completed epoch.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return losses

    def _run_epoch(self, X, epoch):
        n_samples = len(X)
        n_batches = math.ceil(n_samples / self.batch_size)
        batches = np.array_split(self.rng.permutation(n_samples), n_batches)
        progress = epoch / max(1, self.max_iter - 1)
        total = torch.zeros((), device=X.device)
        for i, samples in enumerate(batches):
            self._set_learning_rate((epoch + i / n_batches) / self.max_iter)
            total += self._run_step(X, samples, progress) * len(samples)
        return float(total) / n_samples

    def _run_step(self, X, samples, progress):
        rows = torch.from_numpy(samples).to(X.device)
        loss = self.batch_loss(self.module(X[rows]), samples, progress)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self._decay_weights()
        return loss.detach()

    @torch.no_grad()
    def _decay_weights(self):
        """Decoupled from the gradient whatever the solver; intercepts are left alone."""
        rate = self.optimizer.param_groups[0]["lr"]
        for parameter in self.module.parameters():
            if parameter.ndim > 1:
                parameter *= max(0.0, 1 - rate * self.weight_decay)

    def _set_learning_rate(self, fraction):
        """`fraction` of all steps is done: a constant rate, or half a cosine down to 0."""
        rate = self.learning_rate_init
        if self.learning_rate == "cosine":
            rate *= 0.5 * (1 + math.cos(math.pi * fraction))
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def _weights(self):
        return {name: value.clone() for name, value in self.module.state_dict().items()}

    def _report(self, epoch, loss):
        if self.verbose:
            print(f"Epoch {epoch + 1}/{self.max_iter}, loss = {loss:.6f}")


def choose_device(device):
    """Return the torch device meant by `device`, or raise ValueError."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.split(":")[0] not in ("cpu", "cuda"):  # objectives need float64
        raise ValueError(f"device must be 'auto', 'cpu' or 'cuda[:index]', got {device!r}.")
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise ValueError(
            f"device={device!r} was asked for, but torch finds no CUDA device. Use "
            "device='auto' or 'cpu'."
        )
    return torch.device(device)


def make_module(coefs, intercepts):
    """Linear layers with rectifiers between them, from NumPy weights."""
    layers = []
    for coef, intercept in zip(coefs, intercepts):
        if layers:
            layers.append(torch.nn.ReLU())
        layers.append(_linear(coef, intercept))
    return torch.nn.Sequential(*layers)


def module_weights(module):
    """The inverse of :func:`make_module`: two lists of float64 arrays."""
    linear = [layer for layer in module if isinstance(layer, torch.nn.Linear)]
    coefs = [layer.weight.detach().T.cpu().double().numpy() for layer in linear]
    intercepts = [layer.bias.detach().cpu().double().numpy() for layer in linear]
    return coefs, intercepts


def _linear(coef, intercept):
    # skip_init: torch's own initialisation would draw from the global RNG.
    layer = torch.nn.utils.skip_init(torch.nn.Linear, *coef.shape)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(np.ascontiguousarray(coef.T)))
        layer.bias.copy_(torch.from_numpy(np.asarray(intercept)))
    return layer


def _make_optimizer(module, solver, learning_rate, momentum):
    if solver == "adam":
        return torch.optim.Adam(module.parameters(), lr=learning_rate)
    return torch.optim.SGD(
        module.parameters(), lr=learning_rate, momentum=momentum, nesterov=momentum > 0
    )


@contextmanager
def _threads_for(batch_size):
    """Hold torch and BLAS to one thread while batches are small; give them back after."""
    if batch_size > _ONE_THREAD_BATCH:
        yield
        return
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(threads)
