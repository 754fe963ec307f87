"""The schedulers with many options. `neura.optim.lr_scheduler` has them all."""

import math

from .._neura import _schedules, errors
from ._listed import constructor
from .lr_scheduler import LRScheduler, _one_for_all, _per_group, _state_of, _write

_LAST = ("last_epoch", -1)


def _uses_betas(name, optimizer):
    """Is the momentum the first of "betas"? ValueError where there is none."""
    for option in ("betas", "momentum"):
        if option in optimizer.defaults:
            return option == "betas"
    raise errors.ValueError(
        f"{name}: expected an optimizer with momentum or betas, got {type(optimizer).__name__}; "
        "pass cycle_momentum=False"
    )


def _set_momentum(group, betas, momentum):
    if betas:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosine annealing to `eta_min` over `T_0` epochs, then restarted over `T_0 * T_mult`, and so on. `step` takes
    fractions of an epoch: `step(epoch + batch / batches)`.
    """

    def _begin(self, optimizer, T_0, T_mult, eta_min, last_epoch):
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min, self.T_cur = T_mult, eta_min, last_epoch
        _schedules.begin_restarts(self)
        LRScheduler.__init__(self, optimizer, last_epoch)

    __init__ = constructor("optimizer", [("T_0",), *_schedules.arguments_Restart(), _LAST], _begin)

    def get_lr(self):
        return _schedules.rates_of_restarts(self)

    def _update_lr(self, epoch=None):
        self._admit_groups()
        self.last_epoch = _schedules.go_restarts(self, epoch)
        self._set(self.get_lr())


class CyclicLR(LRScheduler):
    """Cycles from `base_lr` to `max_lr` in `step_size_up` steps and back; momentum goes the other way.

    `mode`: "triangular"; "triangular2", half as high every cycle; "exp_range", `gamma ** step` as high. `scale_fn`, in
    place of a mode, is a function of the number of the cycle or, with `scale_mode="iterations"`, of the step.
    """

    def _begin(
        self,
        optimizer,
        base_lr,
        max_lr,
        step_size_up,
        step_size_down,
        mode,
        gamma,
        scale_fn,
        scale_mode,
        cycle_momentum,
        base_momentum,
        max_momentum,
        last_epoch,
    ):
        self.mode, self.gamma, self.scale_mode, self._scale_fn_custom = mode, gamma, scale_mode, scale_fn
        _schedules.begin_cycle(self, step_size_up, step_size_down, scale_fn is not None)
        base_lrs = _per_group("base_lr", optimizer, base_lr)
        self.max_lrs = _per_group("max_lr", optimizer, max_lr)
        self._for_new = _one_for_all(
            base_lr=base_lr, max_lr=max_lr, base_momentum=base_momentum, max_momentum=max_momentum
        )
        self.cycle_momentum = cycle_momentum
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, base_lrs):
                _write(group, lr)
                group["initial_lr"] = lr
        if cycle_momentum:
            self.use_beta1 = _uses_betas("CyclicLR", optimizer)
            self.base_momentums = _per_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = _per_group("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                for group, low, high in zip(optimizer.param_groups, self.base_momentums, self.max_momentums):
                    _set_momentum(group, self.use_beta1, high)
                    group["max_momentum"], group["base_momentum"] = high, low
        LRScheduler.__init__(self, optimizer, last_epoch)
        self.base_lrs = base_lrs

    __init__ = constructor("optimizer", [("base_lr",), ("max_lr",), *_schedules.arguments_Cyclic(), _LAST], _begin)

    def _admit_groups(self):
        known = len(self.base_lrs)
        self._extend("max_lr", self.max_lrs, "max_lrs")
        self._extend("base_lr", self.base_lrs, "base_lrs")
        if self.cycle_momentum:
            self._extend("base_momentum", self.base_momentums, "base_momentums")
            self._extend("max_momentum", self.max_momentums, "max_momentums")
        for i, group in enumerate(self.optimizer.param_groups[known:], known):
            group["initial_lr"] = self.base_lrs[i]
            if self.cycle_momentum:
                group["max_momentum"], group["base_momentum"] = self.max_momentums[i], self.base_momentums[i]

    def scale_fn(self, x):
        """The height of the cycle, as a fraction of the full one."""
        own = self._scale_fn_custom
        return _schedules.cycle_scale(self, x) if own is None else own(x)

    def get_lr(self):
        height = _schedules.cycle_height(self, self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                _set_momentum(group, self.use_beta1, _schedules.cycle_value(high, low, height))
        return [_schedules.cycle_value(low, high, height) for low, high in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self):
        """Everything but the optimizer and a `scale_fn` that is a plain function."""
        state = super().state_dict()
        if self._scale_fn_custom is not None:
            state["_scale_fn_custom"] = _state_of(self._scale_fn_custom)
        return state

    def load_state_dict(self, state_dict):
        state = dict(state_dict)
        saved = state.pop("_scale_fn_custom", None)
        if saved is not None:
            self._scale_fn_custom.__dict__.update(saved)
        super().load_state_dict(state)


class OneCycleLR(LRScheduler):
    """Up to `max_lr` once, from `max_lr / div_factor`, then down to that divided by `final_div_factor`; momentum goes
    the other way. Takes `total_steps`, or `epochs` and `steps_per_epoch`; call `step()` after every batch.
    """

    def _begin(
        self,
        optimizer,
        max_lr,
        total_steps,
        epochs,
        steps_per_epoch,
        pct_start,
        anneal_strategy,
        cycle_momentum,
        base_momentum,
        max_momentum,
        div_factor,
        final_div_factor,
        three_phase,
        last_epoch,
    ):
        self.total_steps, self._schedule_phases = _schedules.begin_one_cycle(
            total_steps, epochs, steps_per_epoch, pct_start, anneal_strategy, three_phase
        )
        self._anneal_func_type = anneal_strategy
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _uses_betas("OneCycleLR", optimizer)
        max_lrs = _per_group("max_lr", optimizer, max_lr)
        highs = _per_group("max_momentum", optimizer, max_momentum)
        lows = _per_group("base_momentum", optimizer, base_momentum)
        self._for_new = {
            **_one_for_all(max_lr=max_lr, base_momentum=base_momentum, max_momentum=max_momentum),
            "factors": (div_factor, final_div_factor),
        }
        if last_epoch == -1:
            for group, *values in zip(optimizer.param_groups, max_lrs, lows, highs):
                self._start(group, *values)
        LRScheduler.__init__(self, optimizer, last_epoch)

    __init__ = constructor("optimizer", [("max_lr",), *_schedules.arguments_OneCycle(), _LAST], _begin)

    def _start(self, group, top_lr, low, high):
        div_factor, final_div_factor = self._for_new["factors"]
        group["initial_lr"] = top_lr / div_factor
        group["max_lr"] = top_lr
        group["min_lr"] = group["initial_lr"] / final_div_factor
        if self.cycle_momentum:
            _set_momentum(group, self.use_beta1, high)
            group["max_momentum"], group["base_momentum"] = high, low

    def _admit_groups(self):
        for group in self.optimizer.param_groups[len(self.base_lrs) :]:
            values = [self._for_new[name] for name in ("max_lr", "base_momentum", "max_momentum")]
            if values[0] is None or (self.cycle_momentum and None in values):
                raise errors.ValueError(
                    "OneCycleLR: expected one max_lr and one momentum for all groups where a group is added later, got "
                    "lists; make the scheduler after the last group"
                )
            self._start(group, *values)
        super()._admit_groups()

    def get_lr(self):
        phase, part = _schedules.one_cycle_part(self, self.last_epoch)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group, phase["start_lr"], phase["end_lr"], part))
            if self.cycle_momentum:
                momentum = self._between(group, phase["start_momentum"], phase["end_momentum"], part)
                _set_momentum(group, self.use_beta1, momentum)
        return rates

    def _between(self, group, start, end, part):
        return _schedules.between(self._anneal_func_type, group[start], group[end], part)


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rate by `factor` when `metrics`, given to `step`, has not improved for over `patience` epochs.

    `mode`: "min" or "max", what is better. `threshold`: what counts as improvement, relative ("rel") or absolute
    ("abs") by `threshold_mode`. `cooldown`: epochs after a reduction in which none are counted. `min_lr`: one, or one
    per group. `eps`: a smaller change of the rate is not made.
    """

    def _begin(self, optimizer, mode, factor, patience, threshold, threshold_mode, cooldown, min_lr, eps):
        self.factor, self.optimizer, self._for_new = factor, optimizer, _one_for_all(min_lr=min_lr)
        self.default_min_lr, self.min_lrs = self._for_new["min_lr"], _per_group("min_lr", optimizer, min_lr)
        self.patience, self.cooldown, self.eps, self.last_epoch = patience, cooldown, eps, 0
        self._last_lr = self._current()
        self.mode_worse = -math.inf if mode == "max" else math.inf
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self._reset()

    __init__ = constructor("optimizer", _schedules.arguments_Plateau(), _begin)

    def _reset(self):
        _schedules.begin_plateau(self)

    @property
    def in_cooldown(self):
        """True while in cooldown: bad epochs are not counted."""
        return self.cooldown_counter > 0

    def is_better(self, a, best):
        """True if `a` is an improvement over `best`."""
        return _schedules.is_better(self, a, best)

    def step(self, metrics, epoch=None):
        """Takes the metric of an epoch, and reduces the rates if it has stopped improving."""
        current = float(metrics)
        self._extend("min_lr", self.min_lrs, "min_lrs")
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if _schedules.observe(self, current, self.is_better(current, self.best)):
            self._reduce_lr(self.last_epoch)
        self._last_lr = self._current()

    def _reduce_lr(self, epoch):
        for group, least in zip(self.optimizer.param_groups, self.min_lrs):
            old = float(group["lr"])
            new = _schedules.reduced(self, old, least)
            if new != old:
                _write(group, new)
