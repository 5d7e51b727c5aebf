"""Solvers, which turn gradients into steps."""

import torch

from ._functions import as_array


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


def set_learning_rate(solver, rate):
    """Set the rate of the next steps of a solver that :func:`make_solver` has made."""
    for group in solver.param_groups:
        group["lr"] = rate * group["factor"]


def moments_of(solver):
    """Moments of gradients that a solver holds, as NumPy arrays by parameter."""
    return {
        index: {
            name: as_array(value) for name, value in values.items() if value is not None
        }
        for index, values in solver.state_dict()["state"].items()
    }


def load_moments(solver, moments):
    """Let a solver go on from moments that :func:`moments_of` has returned."""
    state = solver.state_dict()
    state["state"] = {
        # Copies: a step changes them in place.
        index: {name: torch.tensor(value) for name, value in values.items()}
        for index, values in moments.items()
    }
    solver.load_state_dict(state)


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
                if parameter.grad is not None:
                    self._step(parameter, parameter.grad, group)

    def _step(self, parameter, grad, group):
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros(())
            state["exp_avg"] = torch.zeros_like(parameter)
            state["exp_avg_sq"] = _unit_squares(torch.zeros_like(parameter))
        state["step"] += 1
        step, (decay, square_decay) = state["step"].item(), group["betas"]
        state["exp_avg"].lerp_(grad, 1 - decay)
        state["exp_avg_sq"].lerp_(_unit_squares(grad), 1 - square_decay)
        size = (state["exp_avg_sq"] / (1 - square_decay**step)).sqrt_().add_(group["eps"])
        rate = group["lr"] / (1 - decay**step)
        parameter.addcdiv_(state["exp_avg"], size, value=-rate)


def _unit_squares(values):
    """Mean square of each row of a matrix, or of a whole vector, as a column."""
    dims = tuple(range(1, values.ndim)) if values.ndim > 1 else None
    norms = torch.linalg.vector_norm(values, dim=dims, keepdim=True)
    return norms.square_().div_(values.numel() // norms.numel())
