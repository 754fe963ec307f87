"""Optimizers that look at a matrix as a whole: Adafactor, Muon."""

import math

from .. import _neura
from .._neura import errors
from ..autograd.grad_mode import enable_grad, no_grad
from .optimizer import Optimizer, _hooked


class _ByParameter(Optimizer):
    """The loop over parameters that have a gradient."""

    @_hooked
    def step(self, closure=None):
        """Updates every parameter that has a gradient, in place and unrecorded; as `SGD.step`."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():  # as a decorator it would import much
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self._step_of(p, p.grad.detach(), self.state[p], group)
        return loss


class Adafactor(_ByParameter):
    """Adaptive steps whose second moments take a row and a column instead of a matrix.

    `beta2_decay`: the power of the step that past squares lose; `eps`: what is added to squares (by default what the
    dtype can tell from 1), and the least size that a parameter is taken for; `d`: the largest root mean square of an
    update. State: step, and row_var and col_var or, below two dimensions, variance.
    """

    def __init__(
        self,
        params,
        lr=1e-2,
        beta2_decay=-0.8,
        eps=(None, 1e-3),
        d=1.0,
        weight_decay=0.0,
        *,
        foreach=None,
        maximize=False,
    ):
        for name, ok, value in [
            ("lr >= 0", lr >= 0, lr),
            ("beta2_decay <= 0", beta2_decay <= 0, beta2_decay),
            ("eps[0] None or >= 0", eps[0] is None or eps[0] >= 0, eps[0]),
            ("eps[1] >= 0", eps[1] >= 0, eps[1]),
            ("d >= 1", d >= 1, d),
            ("weight_decay >= 0", weight_decay >= 0, weight_decay),
        ]:
            if not ok:
                raise errors.ValueError(f"Adafactor: expected {name}, got {value}")
        defaults = dict(lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay)
        super().__init__(params, defaults | dict(foreach=foreach, maximize=maximize))

    def _step_of(self, p, g, state, group):
        if p.is_complex():
            raise errors.DTypeError(f"Adafactor: expected real parameters, got {p.dtype}")
        g = -g if group["maximize"] else g
        if not state:
            state["step"] = _neura.tensor(0.0, device="cpu")
            if g.dim() > 1:
                state["row_var"] = g.new_zeros((*g.shape[:-1], 1))
                state["col_var"] = g.new_zeros((*g.shape[:-2], 1, g.shape[-1]))
            else:
                state["variance"] = _neura.zeros_like(g)
        state["step"].add_(1)
        step, lr = state["step"].item(), float(group["lr"])
        tiny, smallest = group["eps"]
        tiny = _EPS[p.dtype] if tiny is None else tiny
        fresh = step ** group["beta2_decay"]
        size = p.norm().item() / math.sqrt(p.numel())
        rate = max(smallest, size) * min(lr, 1 / math.sqrt(step))
        if group["weight_decay"]:
            p.mul_(1 - lr * group["weight_decay"])
        if g.dim() > 1:
            rows, columns = state["row_var"], state["col_var"]
            rows.lerp_((g * g).mean(-1, keepdim=True), fresh)
            columns.lerp_((g * g).mean(-2, keepdim=True), fresh)
            square = rows @ columns / rows.mean(-2, keepdim=True).clamp(min=tiny)
        else:
            square = state["variance"].lerp_(g * g, fresh)
        update = g * square.clamp(min=tiny * tiny).rsqrt()
        too_large = max(1.0, update.norm().item() / (math.sqrt(update.numel()) * group["d"]))
        p.add_(update, alpha=-rate / too_large)


_EPS = {_neura.float16: 2.0**-10, _neura.bfloat16: 2.0**-7, _neura.float32: 2.0**-23, _neura.float64: 2.0**-52}


class Muon(_ByParameter):
    """Momentum whose matrix is made orthogonal before the step, by `ns_steps` steps of Newton and Schulz in bfloat16
    with `ns_coefficients`. For the matrices inside a network; other parameters want another optimizer.

    `weight_decay` is decoupled. `adjust_lr_fn`: "original" (None) takes the rate times sqrt(max(1, rows / columns)),
    "match_rms_adamw" times 0.2 sqrt(max(rows, columns)), so that rates tuned for AdamW fit. State: momentum_buffer.
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        weight_decay=0.1,
        momentum=0.95,
        nesterov=True,
        ns_coefficients=(3.4445, -4.775, 2.0315),
        eps=1e-7,
        ns_steps=5,
        adjust_lr_fn=None,
    ):
        for name, ok, value in [
            ("lr >= 0", lr >= 0, lr),
            ("momentum >= 0", momentum >= 0, momentum),
            ("weight_decay >= 0", weight_decay >= 0, weight_decay),
            ("three ns_coefficients", len(ns_coefficients) == 3, ns_coefficients),
            ("ns_steps below 100", ns_steps < 100, ns_steps),
            ('adjust_lr_fn None, "original" or "match_rms_adamw"', adjust_lr_fn in _ADJUSTED, adjust_lr_fn),
        ]:
            if not ok:
                raise errors.ValueError(f"Muon: expected {name}, got {value}")
        defaults = dict(lr=lr, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov)
        defaults |= dict(ns_coefficients=ns_coefficients, eps=eps, ns_steps=ns_steps, adjust_lr_fn=adjust_lr_fn)
        super().__init__(params, defaults)

    def _check_group(self, group):
        for p in group["params"]:
            if p.dim() != 2 or p.is_complex():
                raise errors.ValueError(f"Muon: expected real matrices, got {p.dtype} {list(p.shape)}")

    def _step_of(self, p, g, state, group):
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = _neura.zeros_like(g)
        average = state["momentum_buffer"].lerp_(g, 1 - group["momentum"])
        update = g.lerp(average, group["momentum"]) if group["nesterov"] else average
        update = _orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        lr = group["lr"]
        p.mul_(1 - lr * group["weight_decay"])
        p.add_(update.to(p.dtype), alpha=-lr * _ADJUSTED[group["adjust_lr_fn"]](*p.shape))


_ADJUSTED = {
    None: lambda rows, columns: math.sqrt(max(1, rows / columns)),
    "original": lambda rows, columns: math.sqrt(max(1, rows / columns)),
    "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns)),
}


def _orthogonal(matrix, coefficients, steps, eps):
    """The matrix with its singular values brought near 1. The smaller side stands in front: less work."""
    a, b, c = coefficients
    x = matrix.to(_neura.bfloat16)
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = _neura.addmm(x, _neura.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x
