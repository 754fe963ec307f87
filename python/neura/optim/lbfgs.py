"""LBFGS: curvature from the last steps, and a search along each direction."""

import math
from collections import namedtuple

from .. import _neura
from .._neura import errors
from ..autograd.grad_mode import enable_grad, no_grad
from .optimizer import Optimizer, _hooked

# Of the search along a direction: how far, the loss and the gradient there, and the slope along the direction.
_Point = namedtuple("_Point", "t loss gradient slope")


class LBFGS(Optimizer):
    """Quasi-Newton steps for smooth losses of whole data sets. `step(closure)` takes up to `max_iter` of them and calls
    the closure, which computes loss and gradients anew, up to about `max_eval` times (5/4 of `max_iter` by default).

    `tolerance_grad`, `tolerance_change`: ends where the largest gradient, or the change of a parameter or of the loss,
    is no larger. `history_size`: how many steps are remembered, each with two copies of the parameters.
    `line_search_fn="strong_wolfe"` searches along each direction; without, every step has length `lr`. One group only.
    """

    def __init__(
        self,
        params,
        lr=1,
        max_iter=20,
        max_eval=None,
        tolerance_grad=1e-7,
        tolerance_change=1e-9,
        history_size=100,
        line_search_fn=None,
    ):
        if not lr >= 0:
            raise errors.ValueError(f"LBFGS: expected lr >= 0, got {lr}")
        if line_search_fn not in (None, "strong_wolfe"):
            raise errors.ValueError(f'LBFGS: expected line_search_fn None or "strong_wolfe", got {line_search_fn!r}')
        defaults = dict(lr=lr, max_iter=max_iter, max_eval=max_iter * 5 // 4 if max_eval is None else max_eval)
        defaults |= dict(tolerance_grad=tolerance_grad, tolerance_change=tolerance_change)
        super().__init__(params, defaults | dict(history_size=history_size, line_search_fn=line_search_fn))

    def add_param_group(self, param_group):
        if self.param_groups:
            raise errors.ValueError("LBFGS: expected one parameter group, got another")
        super().add_param_group(param_group)

    @_hooked
    def step(self, closure):
        """Up to `max_iter` steps; returns the loss before the first."""
        if not callable(closure):
            raise TypeError("LBFGS: expected a closure that computes the loss and its gradients, got none")

        def evaluate():
            with enable_grad():
                return closure()

        with no_grad():  # as a decorator it would import much
            return self._steps(evaluate)

    def _steps(self, evaluate):
        group = self.param_groups[0]
        state = self.state[group["params"][0]]
        first = evaluate()
        loss, gradient = float(first), self._gradient()
        state["func_evals"] = state.get("func_evals", 0) + 1
        state.setdefault("n_iter", 0)
        evaluations, steps = 1, 0
        while steps < group["max_iter"] and gradient.abs().max().item() > group["tolerance_grad"]:
            steps += 1
            state["n_iter"] += 1
            direction = self._direction(state, gradient, group["history_size"])
            t = group["lr"]
            if state["n_iter"] == 1:
                t *= min(1.0, 1.0 / gradient.abs().sum().item())
            state.update(d=direction, t=t, prev_flat_grad=gradient, prev_loss=loss)
            slope = gradient.dot(direction).item()
            if slope > -group["tolerance_change"]:
                break
            before, again = loss, 1
            if group["line_search_fn"] is not None:
                start = _Point(0.0, loss, gradient, slope)
                most = group["max_eval"] - evaluations
                best, again = _search(lambda t: self._evaluate_at(evaluate, t, direction), start, t, direction, most)
                state["t"], loss, gradient = best.t, best.loss, best.gradient
                self._move(best.t, direction)
            else:
                self._move(t, direction)
                if steps == group["max_iter"]:
                    break  # nobody would use what the closure computes
                loss, gradient = float(evaluate()), self._gradient()
            evaluations += again
            state["func_evals"] += again
            still = direction.abs().max().item() * abs(state["t"]) <= group["tolerance_change"]
            if evaluations >= group["max_eval"] or still or abs(loss - before) < group["tolerance_change"]:
                break
        return first

    def _direction(self, state, gradient, history_size):
        """The gradient times the inverse curvature that past steps have shown: the two loops of the method."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return -gradient
        changes, steps, inverse = state["old_dirs"], state["old_stps"], state["ro"]
        change, step = gradient - state["prev_flat_grad"], state["d"] * state["t"]
        curvature = change.dot(step).item()
        if curvature > 1e-10:
            for history, new in ((changes, change), (steps, step), (inverse, 1.0 / curvature)):
                if len(history) == history_size:
                    history.pop(0)
                history.append(new)
            state["H_diag"] = curvature / change.dot(change).item()
        direction = -gradient
        factors = []
        for y, s, r in zip(reversed(changes), reversed(steps), reversed(inverse)):
            factors.append(s.dot(direction).item() * r)
            direction.add_(y, alpha=-factors[-1])
        direction.mul_(state["H_diag"])
        for y, s, r in zip(changes, steps, inverse):
            direction.add_(s, alpha=factors.pop() - y.dot(direction).item() * r)
        return direction

    def _gradient(self):
        """Of all parameters, as one vector of real numbers; zeros where there is none."""
        parts = []
        for p in self.param_groups[0]["params"]:
            g = _neura.zeros_like(p, requires_grad=False) if p.grad is None else p.grad.detach()
            parts.append((_neura.view_as_real(g) if g.is_complex() else g).reshape(-1))
        return _neura.cat(parts)

    def _move(self, t, direction):
        at = 0
        for p in self.param_groups[0]["params"]:
            p = _neura.view_as_real(p) if p.is_complex() else p
            p.add_(direction[at : at + p.numel()].view_as(p), alpha=t)
            at += p.numel()

    def _evaluate_at(self, evaluate, t, direction):
        """The loss and gradient a way along the direction; the parameters come back."""
        params = self.param_groups[0]["params"]
        kept = [p.detach().clone() for p in params]
        self._move(t, direction)
        loss = float(evaluate())
        gradient = self._gradient()
        for p, old in zip(params, kept):
            p.copy_(old)
        return loss, gradient


def _between(a, b, bounds=None):
    """Where the cubic through two points with these slopes is least, within bounds."""
    low, high = bounds or sorted((a.t, b.t))
    if a.t > b.t:
        a, b = b, a
    try:
        d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
        d2 = math.sqrt(d1 * d1 - a.slope * b.slope)
        least = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    except (ValueError, ZeroDivisionError):  # there is no such cubic
        least = math.nan
    return (low + high) / 2 if math.isnan(least) else min(max(least, low), high)


def _search(evaluate, start, t, direction, most, enough=1e-4, flat=0.9, least=1e-9):
    """A point that is lower by `enough` of what the slope promises, and whose slope is at most `flat` of the first: the
    strong Wolfe conditions (Nocedal and Wright, Numerical Optimization, 3.5). Returns the best of at most `most + 1`,
    and how many were looked at.
    """

    def look(t):
        loss, gradient = evaluate(t)
        return _Point(t, loss, gradient, gradient.dot(direction).item())

    def too_high(p):
        return p.loss > start.loss + enough * p.t * start.slope

    def flat_enough(p):
        return abs(p.slope) <= -flat * start.slope

    before, now, tries = start, look(t), 0
    while True:  # until a point as wanted lies between two
        if tries >= most:
            return min(start, now, key=lambda p: p.loss), tries + 1
        if too_high(now) or (tries > 1 and now.loss >= before.loss):
            break
        if flat_enough(now):
            return now, tries + 1
        if now.slope >= 0:
            break
        t = _between(before, now, (now.t + 0.01 * (now.t - before.t), now.t * 10))
        before, now, tries = now, look(t), tries + 1

    low, high = sorted((before, now), key=lambda p: p.loss)
    size, slow = direction.abs().max().item(), False
    while tries < most and abs(high.t - low.t) * size >= least:
        left, right = sorted((low.t, high.t))
        t, edge = _between(low, high), 0.1 * (right - left)
        if min(right - t, t - left) < edge:
            if slow or t >= right or t <= left:
                t = right - edge if abs(t - right) < abs(t - left) else left + edge
                slow = False
            else:
                slow = True
        else:
            slow = False
        now, tries = look(t), tries + 1
        if too_high(now) or now.loss >= low.loss:
            high = now
            low, high = sorted((low, high), key=lambda p: p.loss)
            continue
        if flat_enough(now):
            return now, tries + 1
        if now.slope * (high.t - low.t) >= 0:
            high = low
        low = now
    return low, tries + 1
