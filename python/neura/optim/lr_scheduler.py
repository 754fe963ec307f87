"""Learning rates over time, with PyTorch's names, arguments and numbers. Call `scheduler.step()` after
`optimizer.step()`. A scheduler reads and writes "lr" of the optimizer's groups; the rate that a group had first stays
in it as "initial_lr". `last_epoch` resumes: -1 is the beginning.
"""

import warnings
from collections import Counter
from types import FunctionType

from .._neura import Tensor, _schedules, errors
from ._listed import constructor
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
        self._get_lr_called_within_step = False  # a key of PyTorch's states
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self):
        """Everything but the optimizer, as a dict."""
        return {key: value for key, value in self.__dict__.items() if key not in self._not_saved}

    def load_state_dict(self, state_dict):
        """Restores what `state_dict` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self):
        """The rates that were set last, one per group."""
        return [_detached(lr) for lr in self._last_lr]

    def get_lr(self):
        """The rates at `self.last_epoch`, one per group."""
        raise NotImplementedError(f"{type(self).__name__}: expected a method get_lr, got none; define it")

    def step(self, epoch=None):
        """Advances by one epoch, or jumps to `epoch`."""
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
        state = super().state_dict()
        state.pop("lr_lambdas")  # last, as in PyTorch's
        return {**state, "lr_lambdas": [_state_of(f) for f in self.lr_lambdas]}

    def load_state_dict(self, state_dict):
        state = dict(state_dict)
        for f, saved in zip(self.lr_lambdas, state.pop("lr_lambdas", ())):
            if saved is not None:
                f.__dict__.update(saved)
        self.__dict__.update(state)


class LambdaLR(_ByFunction):
    """Multiplies the initial rate by `lr_lambda(epoch)`: one function, or a list with one per group."""

    def get_lr(self):
        return [lr * f(self.last_epoch) for f, lr in zip(self.lr_lambdas, self.base_lrs)]


class MultiplicativeLR(_ByFunction):
    """Multiplies the rate by `lr_lambda(epoch)` every epoch: one function, or a list with one per group."""

    def get_lr(self):
        if self._is_initial:
            return self._current()
        return [g["lr"] * f(self.last_epoch) for f, g in zip(self.lr_lambdas, self.optimizer.param_groups)]


class _Listed(LRScheduler):
    """A schedule of the library's list: its arguments are its attributes, and C++ computes the rates."""

    def __init_subclass__(cls, schedule=None, **kwargs):
        super().__init_subclass__(**kwargs)
        if schedule:
            cls._check, cls._next, cls._closed = (
                staticmethod(getattr(_schedules, f"{what}_{schedule}")) for what in ("check", "next", "closed")
            )
            arguments = getattr(_schedules, f"arguments_{schedule}")()
            cls.__init__ = constructor("optimizer", [*arguments, ("last_epoch", -1)], cls._begin)
            cls.__init__.__qualname__ = f"{cls.__qualname__}.__init__"

    def _begin(self, optimizer, last_epoch, **arguments):
        self.__dict__.update(arguments)
        self._check(self)
        LRScheduler.__init__(self, optimizer, last_epoch)

    def get_lr(self):
        return self._next(self, self.optimizer.param_groups)

    def _get_closed_form_lr(self):
        return self._closed(self)


class StepLR(_Listed, schedule="StepLR"):
    """Multiplies the rate by `gamma` every `step_size` epochs."""


class MultiStepLR(_Listed, schedule="MultiStepLR"):
    """Multiplies the rate by `gamma` at each of the `milestones`; twice where one occurs twice."""

    def _begin(self, optimizer, milestones, **arguments):
        _Listed._begin(self, optimizer, milestones=Counter(milestones), **arguments)

    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        self.milestones = Counter(self.milestones)


class ConstantLR(_Listed, schedule="ConstantLR"):
    """Multiplies the rate by `factor` until epoch `total_iters`."""


class LinearLR(_Listed, schedule="LinearLR"):
    """Linear warm-up: a factor from `start_factor` to `end_factor` over `total_iters` epochs."""


class ExponentialLR(_Listed, schedule="ExponentialLR"):
    """Multiplies the rate by `gamma` every epoch."""


class PolynomialLR(_Listed, schedule="PolynomialLR"):
    """Multiplies the initial rate by `(1 - epoch / total_iters) ** power`, until it is 0."""


class CosineAnnealingLR(_Listed, schedule="CosineAnnealingLR"):
    """Cosine annealing (Loshchilov and Hutter, 2017) to `eta_min` in `T_max` epochs, and up again."""


from .lr_scheduler_options import (  # noqa: E402
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
