"""Learning rates over time, with PyTorch's names, arguments and numbers. Call `scheduler.step()` after
`optimizer.step()`. A scheduler reads and writes "lr" of the optimizer's groups; the rate that a group had first stays
in it as "initial_lr". `last_epoch` resumes: -1 is the beginning.
"""

import math
import warnings
from bisect import bisect_right
from collections import Counter
from types import FunctionType

from .._neura import Tensor, errors
from .optimizer import Optimizer


def _write(group, lr):
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(lr.item() if isinstance(lr, Tensor) else lr)
    else:
        group["lr"] = lr


def _detached(lr):
    return lr.clone() if isinstance(lr, Tensor) else lr


def _per_group(name, optimizer, values):
    """One value for every group, or a list of them."""
    groups = len(optimizer.param_groups)
    if not isinstance(values, (list, tuple)):
        return [values] * groups
    if len(values) != groups:
        raise errors.ValueError(f"{name}: expected one value or {groups}, one per group, got {len(values)}")
    return list(values)


def _one_for_all(**values):
    """What a group that is added later gets: each value, or None where there was a list with one per group."""
    return {name: None if isinstance(value, (list, tuple)) else value for name, value in values.items()}


def _state_of(function):
    """What can be saved of a function: the attributes of an object that is called."""
    return None if isinstance(function, FunctionType) else getattr(function, "__dict__", {}).copy()


class LRScheduler:
    """The base. Derive from it and define `get_lr`, which returns the rate of every group at `self.last_epoch`, from
    `self.base_lrs` or from the groups' present "lr".

    >>> import neura
    >>> class Halve(neura.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [lr / 2**self.last_epoch for lr in self.base_lrs]
    >>> optimizer = neura.optim.SGD([neura.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = Halve(optimizer)
    >>> optimizer.step(), scheduler.step()
    (None, None)
    >>> scheduler.get_last_lr()
    [0.5]
    """

    _is_initial = False
    _not_saved = ("optimizer", "_for_new")

    def __init__(self, optimizer, last_epoch=-1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(self).__name__}: expected an Optimizer, got {type(optimizer).__name__}")
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _detached(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(f"expected 'initial_lr' in param_groups[{i}] when resuming at epoch {last_epoch}")
        self.base_lrs = [_detached(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _admit_groups(self):
        """Groups that were added after the scheduler was made take part from their own rate on."""
        for group in self.optimizer.param_groups[len(self.base_lrs) :]:
            group.setdefault("initial_lr", _detached(group["lr"]))
            self.base_lrs.append(_detached(group["initial_lr"]))

    def _extend(self, name, values, per_group="groups"):
        """`values`, one per group, for the groups that were added: the value that was given for all of them."""
        missing = len(self.optimizer.param_groups) - len(values)
        if missing > 0 and self._for_new[name] is None:
            raise errors.ValueError(
                f"{type(self).__name__}: expected {name} for {len(self.optimizer.param_groups)} groups, got a list of "
                f"{len(values)}; give one value for all, or append to {per_group}"
            )
        values.extend([self._for_new.get(name)] * missing)

    def _initial_step(self):
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self):
        """Everything but the optimizer, as a dict."""
        return {key: value for key, value in self.__dict__.items() if key not in self._not_saved}

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` gave."""
        self.__dict__.update(state_dict)

    def get_last_lr(self):
        """The rates that were set last, one per group."""
        return [_detached(lr) for lr in self._last_lr]

    def get_lr(self):
        """The rates at `self.last_epoch`, one per group."""
        raise NotImplementedError(f"{type(self).__name__}: expected a method get_lr, got none; define it")

    def step(self, epoch=None):
        """Goes one epoch further, or to `epoch`."""
        if self._step_count == 1 and not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "lr_scheduler: step() before optimizer.step() skips the first rate", UserWarning, stacklevel=2
            )
        self._step_count += 1
        self._update_lr(epoch)

    def _update_lr(self, epoch=None):
        self._admit_groups()
        if epoch is None:
            self.last_epoch += 1
            rates = self.get_lr()
        else:
            self.last_epoch = epoch
            closed = getattr(self, "_get_closed_form_lr", None)
            rates = closed() if closed else self.get_lr()
        self._set(rates)

    def _set(self, rates):
        for group, lr in zip(self.optimizer.param_groups, rates):
            _write(group, lr)
        self._last_lr = self._current()

    def _current(self):
        return [_detached(group["lr"]) for group in self.optimizer.param_groups]

    def _times(self, factor):
        return [group["lr"] * factor for group in self.optimizer.param_groups]


_LRScheduler = LRScheduler


class _ByFunction(LRScheduler):
    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.optimizer, self._for_new = optimizer, _one_for_all(lr_lambda=lr_lambda)
        self.lr_lambdas = _per_group(type(self).__name__, optimizer, lr_lambda)
        for f in self.lr_lambdas:
            if not callable(f):
                raise TypeError(f"{type(self).__name__}: expected functions, got {type(f).__name__}")
        super().__init__(optimizer, last_epoch)

    def _admit_groups(self):
        super()._admit_groups()
        self._extend("lr_lambda", self.lr_lambdas, "lr_lambdas")

    def state_dict(self):
        """Everything but the optimizer and functions; of an object that is called, its attributes."""
        return {**super().state_dict(), "lr_lambdas": [_state_of(f) for f in self.lr_lambdas]}

    def load_state_dict(self, state_dict):
        state = dict(state_dict)
        for f, saved in zip(self.lr_lambdas, state.pop("lr_lambdas", ())):
            if saved is not None:
                f.__dict__.update(saved)
        self.__dict__.update(state)


class LambdaLR(_ByFunction):
    """The first rate times `lr_lambda(epoch)`: one function, or a list with one per group."""

    def get_lr(self):
        return [lr * f(self.last_epoch) for f, lr in zip(self.lr_lambdas, self.base_lrs)]


class MultiplicativeLR(_ByFunction):
    """Times `lr_lambda(epoch)` every epoch: one function, or a list with one per group."""

    def get_lr(self):
        if self._is_initial:
            return self._current()
        return [g["lr"] * f(self.last_epoch) for f, g in zip(self.lr_lambdas, self.optimizer.param_groups)]


class StepLR(LRScheduler):
    """Times `gamma` every `step_size` epochs."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        if step_size <= 0:
            raise errors.ValueError(f"StepLR: expected a positive step_size, got {step_size}")
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        now = self.last_epoch != 0 and self.last_epoch % self.step_size == 0
        return self._times(self.gamma) if now else self._current()

    def _get_closed_form_lr(self):
        return [lr * self.gamma ** (self.last_epoch // self.step_size) for lr in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Times `gamma` at each of the `milestones`; twice where one occurs twice."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        times = self.milestones[self.last_epoch]
        return self._times(self.gamma**times) if times else self._current()

    def _get_closed_form_lr(self):
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [lr * self.gamma**passed for lr in self.base_lrs]

    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        self.milestones = Counter(self.milestones)


class ConstantLR(LRScheduler):
    """Times `factor` until epoch `total_iters`."""

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        if not 0 <= factor <= 1:
            raise errors.ValueError(f"ConstantLR: expected a factor in [0, 1], got {factor}")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0:
            return self._times(self.factor)
        return self._times(1 / self.factor) if self.last_epoch == self.total_iters else self._current()

    def _get_closed_form_lr(self):
        factor = self.factor if self.last_epoch < self.total_iters else 1
        return [lr * factor for lr in self.base_lrs]


class LinearLR(LRScheduler):
    """The factor goes from `start_factor` to `end_factor` in `total_iters` epochs: warm-up."""

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        if not 0 < start_factor <= 1:
            raise errors.ValueError(f"LinearLR: expected a start_factor in (0, 1], got {start_factor}")
        if not 0 <= end_factor <= 1:
            raise errors.ValueError(f"LinearLR: expected an end_factor in [0, 1], got {end_factor}")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0:
            return self._times(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._current()
        rise = self.end_factor - self.start_factor
        return self._times(1 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise))

    def _get_closed_form_lr(self):
        part = min(self.total_iters, self.last_epoch) / self.total_iters
        factor = self.start_factor + (self.end_factor - self.start_factor) * part
        return [lr * factor for lr in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Times `gamma` every epoch."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._current() if self._is_initial else self._times(self.gamma)

    def _get_closed_form_lr(self):
        return [lr * self.gamma**self.last_epoch for lr in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Times `(1 - epoch / total_iters) ** power`, until 0."""

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._current()
        left = 1 - self.last_epoch / self.total_iters
        return self._times((left / (1 - (self.last_epoch - 1) / self.total_iters)) ** self.power)

    def _get_closed_form_lr(self):
        left = 1 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [lr * left**self.power for lr in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Half a cosine down to `eta_min` in `T_max` epochs, and up again."""

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        if T_max <= 0:
            raise errors.ValueError(f"CosineAnnealingLR: expected a positive T_max, got {T_max}")
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self._is_initial:
            return self._current()
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # at the bottom: the quotient below is 0 / 0
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            rates = zip(self.base_lrs, self.optimizer.param_groups)
            return [group["lr"] + (base - self.eta_min) * rise for base, group in rates]
        now, before = (1 + math.cos(math.pi * e / self.T_max) for e in (self.last_epoch, self.last_epoch - 1))
        return [now / before * (g["lr"] - self.eta_min) + self.eta_min for g in self.optimizer.param_groups]

    def _get_closed_form_lr(self):
        wave = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (lr - self.eta_min) * wave for lr in self.base_lrs]


from .lr_scheduler_more import (  # noqa: E402
    CosineAnnealingWarmRestarts,
    CyclicLR,
    OneCycleLR,
    ReduceLROnPlateau,
)
from .lr_scheduler_composed import ChainedScheduler, SequentialLR  # noqa: E402

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
