"""The optimizers, with PyTorch's names, arguments and defaults. Each step is one pass of C++ over memory.

Common arguments: `params`, tensors, pairs (name, tensor) or groups (see `Optimizer`); `lr`, the learning rate;
`weight_decay`, added to the gradient times the parameter; `maximize`, to go uphill. `foreach`, `fused` and `capturable`
are taken for PyTorch's sake and change nothing: a step is fused anyway. `differentiable=True` raises
NotImplementedError. Values out of range raise ValueError.

A group with `"master": True` keeps a float32 copy of each parameter that is a half, as its state `master_param`. Steps
are taken on the copy, all of whose state is float32, and rounded to the parameter: what is too small to change a half
adds up.
"""

from .._neura import full_like, tensor
from .optimizer import KernelOptimizer


class SGD(KernelOptimizer, kernel="SGD"):
    """Gradient descent: `p -= lr * g`, with momentum `b = momentum * b + (1 - dampening) * g` in place of g, or, with
    `nesterov`, `g + momentum * b`. The first b is g. State: momentum_buffer, if there is momentum.

    >>> import neura
    >>> w = neura.ones(2, requires_grad=True)
    >>> optimizer = neura.optim.SGD([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.tolist()
    [0.5, 0.5]
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        momentum=0,
        dampening=0,
        weight_decay=0,
        nesterov=False,
        *,
        maximize=False,
        foreach=None,
        differentiable=False,
        fused=None,
    ):
        defaults = dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov)
        defaults |= dict(maximize=maximize, foreach=foreach, differentiable=differentiable, fused=fused)
        super().__init__(params, defaults)


class Adam(KernelOptimizer, kernel="Adam"):
    """Adaptive moments: `p -= lr * m / (sqrt(v) + eps)`, m and v being averages of g and g² without bias. `amsgrad`
    takes the largest v so far. `decoupled_weight_decay` makes it AdamW. State: step, exp_avg, exp_avg_sq,
    max_exp_avg_sq.
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        amsgrad=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
        fused=None,
        decoupled_weight_decay=False,
    ):
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize)
        defaults |= dict(foreach=foreach, capturable=capturable, differentiable=differentiable, fused=fused)
        super().__init__(params, defaults | dict(decoupled_weight_decay=decoupled_weight_decay))


class AdamW(Adam, kernel="AdamW"):
    """Adam with decoupled decay: `p *= 1 - lr * weight_decay` before the step."""

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=1e-2,
        amsgrad=False,
        *,
        maximize=False,
        foreach=None,
        capturable=False,
        differentiable=False,
        fused=None,
    ):
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )


class RMSprop(KernelOptimizer, kernel="RMSprop"):
    """`p -= lr * g / (sqrt(v) + eps)`, v being the average of g² with factor `alpha`, or, `centered`, its variance;
    with momentum, of the quotient. State: step, square_avg, momentum_buffer, grad_avg.
    """

    def __init__(
        self,
        params,
        lr=1e-2,
        alpha=0.99,
        eps=1e-8,
        weight_decay=0,
        momentum=0,
        centered=False,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        defaults = dict(lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered, weight_decay=weight_decay)
        defaults |= dict(capturable=capturable, foreach=foreach, maximize=maximize, differentiable=differentiable)
        super().__init__(params, defaults)


class Adagrad(KernelOptimizer, kernel="Adagrad"):
    """`p -= lr / (1 + (step - 1) * lr_decay) * g / (sqrt(sum of g²) + eps)`. State, from the beginning: step, sum."""

    def __init__(
        self,
        params,
        lr=1e-2,
        lr_decay=0,
        weight_decay=0,
        initial_accumulator_value=0,
        eps=1e-10,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        fused=None,
    ):
        defaults = dict(lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay)
        defaults |= dict(initial_accumulator_value=initial_accumulator_value)
        defaults |= dict(foreach=foreach, maximize=maximize, differentiable=differentiable, fused=fused)
        super().__init__(params, defaults)

    def add_param_group(self, param_group):
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        first = group["initial_accumulator_value"]
        for p in group["params"]:
            value = complex(first, first) if p.is_complex() else first
            self.state[p] = {"step": tensor(0.0), "sum": full_like(p, value, requires_grad=False)}


class Adadelta(KernelOptimizer, kernel="Adadelta"):
    """Steps as large as the average (factor `rho`) of past steps, over that of gradients. State: step, square_avg,
    acc_delta.
    """

    def __init__(
        self,
        params,
        lr=1.0,
        rho=0.9,
        eps=1e-6,
        weight_decay=0,
        foreach=None,
        *,
        capturable=False,
        maximize=False,
        differentiable=False,
    ):
        defaults = dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize)
        super().__init__(params, defaults | dict(capturable=capturable, foreach=foreach, differentiable=differentiable))


class Adamax(KernelOptimizer, kernel="Adamax"):
    """Adam with the largest recent |g| in place of the root of v. State: step, exp_avg, exp_inf."""

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach, maximize=maximize)
        super().__init__(params, defaults | dict(differentiable=differentiable, capturable=capturable))


class NAdam(KernelOptimizer, kernel="NAdam"):
    """Adam with Nesterov's momentum, which `momentum_decay` lets grow. State: step, mu_product, exp_avg, exp_avg_sq."""

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        momentum_decay=4e-3,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay)
        defaults |= dict(decoupled_weight_decay=decoupled_weight_decay, maximize=maximize, foreach=foreach)
        super().__init__(params, defaults | dict(capturable=capturable, differentiable=differentiable))


class RAdam(KernelOptimizer, kernel="RAdam"):
    """Adam that goes without v until enough steps have shown its variance. State: step, exp_avg, exp_avg_sq."""

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize, foreach=foreach)
        defaults |= dict(capturable=capturable, decoupled_weight_decay=decoupled_weight_decay)
        super().__init__(params, defaults | dict(differentiable=differentiable))


class ASGD(KernelOptimizer, kernel="ASGD"):
    """Gradient descent with falling rate eta, and the average ax of the parameters from step `t0` on. State: step, eta,
    mu, ax.
    """

    def __init__(
        self,
        params,
        lr=1e-2,
        lambd=1e-4,
        alpha=0.75,
        t0=1e6,
        weight_decay=0,
        foreach=None,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        defaults = dict(lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, foreach=foreach)
        defaults |= dict(maximize=maximize, differentiable=differentiable, capturable=capturable)
        super().__init__(params, defaults)


class Rprop(KernelOptimizer, kernel="Rprop"):
    """Steps by the sign of the gradient; their size grows by `etas[1]` while the sign stays and falls by `etas[0]` when
    it turns, within `step_sizes`. For whole sets, not for batches. State: step, prev, step_size.
    """

    def __init__(
        self,
        params,
        lr=1e-2,
        etas=(0.5, 1.2),
        step_sizes=(1e-6, 50),
        *,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        defaults = dict(lr=lr, etas=etas, step_sizes=step_sizes, foreach=foreach, maximize=maximize)
        super().__init__(params, defaults | dict(differentiable=differentiable, capturable=capturable))
