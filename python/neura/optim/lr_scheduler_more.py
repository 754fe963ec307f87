"""The schedulers with many options. `neura.optim.lr_scheduler` has them all."""

import math

from .._neura import errors
from .lr_scheduler import LRScheduler, _one_for_all, _per_group, _state_of, _write


def _momentum_name(name, optimizer):
    for option in ("betas", "momentum"):
        if option in optimizer.defaults:
            return option
    raise errors.ValueError(
        f"{name}: expected an optimizer with momentum or betas, got {type(optimizer).__name__}; "
        "pass cycle_momentum=False"
    )


def _set_momentum(group, name, momentum):
    group[name] = (momentum, *group[name][1:]) if name == "betas" else momentum


class CosineAnnealingWarmRestarts(LRScheduler):
    """A cosine down to `eta_min` in `T_0` epochs, then from the top in `T_0 * T_mult`, and so on. `step` takes parts of
    an epoch: `step(epoch + batch / batches)`.
    """

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if value < 1 or not isinstance(value, int):
                raise errors.ValueError(f"CosineAnnealingWarmRestarts: expected a positive integer {name}, got {value}")
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min, self.T_cur = T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        wave = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (lr - self.eta_min) * wave for lr in self.base_lrs]

    def _update_lr(self, epoch=None):
        self._admit_groups()
        if epoch is None and self.last_epoch >= 0:
            epoch, self.T_cur = self.last_epoch + 1, self.T_cur + 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur - self.T_i, self.T_i * self.T_mult
        else:
            epoch = 0 if epoch is None else epoch
            if not 0 <= epoch < math.inf:
                raise errors.ValueError(f"CosineAnnealingWarmRestarts: expected an epoch from 0 up, got {epoch}")
            self.T_cur, self.T_i = epoch, self.T_0
            if self.T_mult == 1:
                self.T_cur = epoch % self.T_0
            while self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur - self.T_i, self.T_i * self.T_mult
        self.last_epoch = math.floor(epoch)
        self._set(self.get_lr())


class CyclicLR(LRScheduler):
    """Up from `base_lr` to `max_lr` in `step_size_up` steps and down again, over and over; momentum goes the other way.

    `mode`: "triangular"; "triangular2", half as high every cycle; "exp_range", `gamma ** step` as high. `scale_fn`, in
    place of a mode, is a function of the number of the cycle or, with `scale_mode="iterations"`, of the step.
    """

    def __init__(
        self,
        optimizer,
        base_lr,
        max_lr,
        step_size_up=2000,
        step_size_down=None,
        mode="triangular",
        gamma=1.0,
        scale_fn=None,
        scale_mode="cycle",
        cycle_momentum=True,
        base_momentum=0.8,
        max_momentum=0.9,
        last_epoch=-1,
    ):
        if scale_fn is None and mode not in ("triangular", "triangular2", "exp_range"):
            raise errors.ValueError(f"CyclicLR: expected mode triangular, triangular2 or exp_range, got {mode}")
        base_lrs = _per_group("base_lr", optimizer, base_lr)
        self.max_lrs = _per_group("max_lr", optimizer, max_lr)
        self._for_new = _one_for_all(
            base_lr=base_lr, max_lr=max_lr, base_momentum=base_momentum, max_momentum=max_momentum
        )
        step_size_down = step_size_up if step_size_down is None else step_size_down
        self.total_size = float(step_size_up + step_size_down)
        self.step_ratio = step_size_up / self.total_size
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, base_lrs):
                _write(group, lr)
                group["initial_lr"] = lr
        if cycle_momentum:
            self._momentum = _momentum_name("CyclicLR", optimizer)
            self.base_momentums = _per_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = _per_group("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                for group, low, high in zip(optimizer.param_groups, self.base_momentums, self.max_momentums):
                    _set_momentum(group, self._momentum, high)
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

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
        """How high the cycle is, as a part of the whole."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return 1.0 if self.mode == "triangular" else 0.5 ** (x - 1) if self.mode == "triangular2" else self.gamma**x

    def get_lr(self):
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                _set_momentum(group, self._momentum, high - (high - low) * height)
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs)]

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

    def __init__(
        self,
        optimizer,
        max_lr,
        total_steps=None,
        epochs=None,
        steps_per_epoch=None,
        pct_start=0.3,
        anneal_strategy="cos",
        cycle_momentum=True,
        base_momentum=0.85,
        max_momentum=0.95,
        div_factor=25.0,
        final_div_factor=1e4,
        three_phase=False,
        last_epoch=-1,
    ):
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise errors.ValueError("OneCycleLR: expected total_steps, or epochs and steps_per_epoch, got neither")
        total_steps = epochs * steps_per_epoch if total_steps is None else total_steps
        if total_steps <= 0 or not isinstance(total_steps, int):
            raise errors.ValueError(f"OneCycleLR: expected a positive integer of steps, got {total_steps}")
        if not 0 <= pct_start <= 1 or not isinstance(pct_start, float):
            raise errors.ValueError(f"OneCycleLR: expected pct_start to be a float in [0, 1], got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise errors.ValueError(f"OneCycleLR: expected anneal_strategy cos or linear, got {anneal_strategy}")
        self.total_steps, self._anneal_func_type = total_steps, anneal_strategy
        top = float(pct_start * total_steps) - 1
        ends = [top, 2 * pct_start * total_steps - 2, total_steps - 1] if three_phase else [top, total_steps - 1]
        rates = ["initial_lr", "max_lr", "initial_lr", "min_lr"] if three_phase else ["initial_lr", "max_lr", "min_lr"]
        momenta = ["max_momentum", "base_momentum", "max_momentum", "max_momentum"]
        self._schedule_phases = [
            {
                "end_step": end,
                "start_lr": rates[i],
                "end_lr": rates[i + 1],
                "start_momentum": momenta[i],
                "end_momentum": momenta[i + 1],
            }
            for i, end in enumerate(ends)
        ]
        self.cycle_momentum = cycle_momentum
        self._momentum = _momentum_name("OneCycleLR", optimizer) if cycle_momentum else None
        max_lrs = _per_group("max_lr", optimizer, max_lr)
        highs = _per_group("max_momentum", optimizer, max_momentum)
        lows = _per_group("base_momentum", optimizer, base_momentum)
        self._for_new = {
            **_one_for_all(max_lr=max_lr, base_momentum=base_momentum, max_momentum=max_momentum),
            "factors": (div_factor, final_div_factor),
        }
        if last_epoch == -1:
            for group, *values in zip(optimizer.param_groups, max_lrs, lows, highs):
                self._begin(group, *values)
        super().__init__(optimizer, last_epoch)

    def _begin(self, group, top_lr, low, high):
        div_factor, final_div_factor = self._for_new["factors"]
        group["initial_lr"] = top_lr / div_factor
        group["max_lr"] = top_lr
        group["min_lr"] = group["initial_lr"] / final_div_factor
        if self.cycle_momentum:
            _set_momentum(group, self._momentum, high)
            group["max_momentum"], group["base_momentum"] = high, low

    def _admit_groups(self):
        for group in self.optimizer.param_groups[len(self.base_lrs) :]:
            values = [self._for_new[name] for name in ("max_lr", "base_momentum", "max_momentum")]
            if values[0] is None or (self.cycle_momentum and None in values):
                raise errors.ValueError(
                    "OneCycleLR: expected one max_lr and one momentum for all groups where a group is added later, got "
                    "lists; make the scheduler after the last group"
                )
            self._begin(group, *values)
        super()._admit_groups()

    def _between(self, start, end, part):
        if self._anneal_func_type == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (1 + math.cos(math.pi * part))

    def get_lr(self):
        if self.last_epoch > self.total_steps:
            raise errors.ValueError(
                f"OneCycleLR: expected at most {self.total_steps} steps, got step {self.last_epoch + 1}"
            )
        start = 0.0
        for phase in self._schedule_phases:
            if self.last_epoch <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        part = (self.last_epoch - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                momentum = self._between(group[phase["start_momentum"]], group[phase["end_momentum"]], part)
                _set_momentum(group, self._momentum, momentum)
        return rates


class ReduceLROnPlateau(LRScheduler):
    """Times `factor` when `metrics`, which `step` takes, has not improved for more than `patience` epochs.

    `mode`: "min" or "max", what is better. `threshold`: what counts as improvement, relative ("rel") or absolute
    ("abs") by `threshold_mode`. `cooldown`: epochs after a reduction in which none are counted. `min_lr`: one, or one
    per group. `eps`: a smaller change of the rate is not made.
    """

    def __init__(
        self,
        optimizer,
        mode="min",
        factor=0.1,
        patience=10,
        threshold=1e-4,
        threshold_mode="rel",
        cooldown=0,
        min_lr=0,
        eps=1e-8,
    ):
        if factor >= 1:
            raise errors.ValueError(f"ReduceLROnPlateau: expected a factor below 1, got {factor}")
        if mode not in ("min", "max"):
            raise errors.ValueError(f"ReduceLROnPlateau: expected mode min or max, got {mode}")
        if threshold_mode not in ("rel", "abs"):
            raise errors.ValueError(f"ReduceLROnPlateau: expected threshold_mode rel or abs, got {threshold_mode}")
        self.mode, self.factor, self.patience, self.cooldown = mode, factor, patience, cooldown
        self.threshold, self.threshold_mode, self.eps = threshold, threshold_mode, eps
        self.optimizer = optimizer
        self.min_lrs, self._for_new = _per_group("min_lr", optimizer, min_lr), _one_for_all(min_lr=min_lr)
        self.last_epoch = 0
        self._last_lr = self._current()
        self._reset()

    def _reset(self):
        self.best = math.inf if self.mode == "min" else -math.inf
        self.cooldown_counter = self.num_bad_epochs = 0

    @property
    def in_cooldown(self):
        """Is this an epoch in which none are counted?"""
        return self.cooldown_counter > 0

    def is_better(self, a, best):
        """Is `a` an improvement over `best`?"""
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "rel":
            best = best * (1 + sign * self.threshold)
        else:
            best = best + sign * self.threshold
        return a < best if self.mode == "min" else a > best

    def step(self, metrics, epoch=None):
        """Takes the metric of an epoch, and lowers the rates if it is time to."""
        current = float(metrics)
        self._extend("min_lr", self.min_lrs, "min_lrs")
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(self.last_epoch)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._current()

    def _reduce_lr(self, epoch):
        for group, least in zip(self.optimizer.param_groups, self.min_lrs):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                _write(group, new)
