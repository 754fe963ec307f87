"""LBFGS: curvature from the last steps, and a search along each direction. The method itself is C++."""

from .. import _neura
from .._neura import errors
from ._listed import constructor
from .optimizer import Optimizer, _check_rate, _hooked


class LBFGS(Optimizer):
    """Quasi-Newton steps for smooth losses of whole data sets. `step(closure)` takes up to `max_iter` of them and calls
    the closure, which computes loss and gradients again, up to about `max_eval` times (5/4 of `max_iter` by default).

    `tolerance_grad`, `tolerance_change`: ends where the largest gradient, or the change of a parameter or of the loss,
    is no larger. `history_size`: how many steps are remembered, each with two copies of the parameters.
    `line_search_fn="strong_wolfe"` searches along each direction; without, every step has length `lr`. One group only.
    """

    def _begin(self, params, **options):
        _check_rate(options["lr"])
        options["max_eval"] = _neura._optim.max_eval_of_LBFGS(options)
        Optimizer.__init__(self, params, options)

    __init__ = constructor("params", _neura._optim.arguments_LBFGS(), _begin)

    def _check_group(self, group):
        _neura._optim.check_LBFGS(group, self.defaults)

    def add_param_group(self, param_group):
        if self.param_groups:
            raise errors.ValueError("LBFGS: expected one parameter group, got another")
        super().add_param_group(param_group)

    @_hooked
    def step(self, closure):
        """Up to `max_iter` steps; returns the loss before the first."""
        if not callable(closure):
            raise TypeError("LBFGS: expected a closure that computes the loss and its gradients, got none")
        return _neura._optim.step_LBFGS(self.param_groups[0], self.state, self.defaults, closure)
