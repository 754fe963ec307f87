"""Scaling of losses, so that gradients of float16 do not vanish."""

import warnings as _warnings

from .. import _neura

__all__ = ["GradScaler"]

_READY, _UNSCALED, _STEPPED = range(3)


class _Progress:
    """Of one optimizer, since the last update."""

    def __init__(self):
        self.stage, self.found = _READY, {}


class GradScaler:
    """Multiplies the loss by a scale, and takes the scale off the gradients before the step. A step with a gradient
    that is not finite is skipped, and the scale is multiplied by backoff_factor; after growth_interval steps in a row
    without one it is multiplied by growth_factor. Micikevicius et al., 2018.

    device: "cuda" or "cpu"; where there is no CUDA device, a warning, and the scaler is not enabled. A scaler that is
    not enabled changes nothing: `step` is the optimizer's. ValueError for factors on the wrong side of 1.

    `step` synchronises with the device once, to learn whether all gradients are finite; so do `get_scale` and
    `state_dict`, and nothing else. To clip or inspect gradients, call `unscale_` first.

    >>> w = neura.ones(2, requires_grad=True)
    >>> optimizer = neura.optim.SGD([w], lr=0.5)
    >>> scaler = neura.amp.GradScaler("cpu", init_scale=1024.0)
    >>> scaler.scale(w.sum()).backward()
    >>> scaler.unscale_(optimizer)
    >>> w.grad
    tensor([1., 1.])
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w.tolist()
    [0.5, 0.5]
    """

    def __init__(
        self,
        device="cuda",
        init_scale=2.0**16,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
        enabled=True,
    ):
        self._device, self._enabled = device, enabled
        if enabled and _neura.device(device).type == "cuda" and _neura._cuda.why_not():
            _warnings.warn("GradScaler: expected a CUDA device, got none; it stays off", stacklevel=2)
            self._enabled = False
        if self._enabled and not (growth_factor > 1 > backoff_factor):
            raise _neura.errors.ValueError(
                "GradScaler: expected growth_factor above 1 and backoff_factor below 1, "
                f"got {growth_factor} and {backoff_factor}"
            )
        self._init_scale, self._growth_tracker_start = init_scale, 0
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._scale = self._growth_tracker = None  # made by the first call of scale()
        self._progress = {}

    def _make_scale(self, device):
        self._scale = _neura.full((), float(self._init_scale), dtype=_neura.float32, device=device)
        self._growth_tracker = _neura.full((), self._growth_tracker_start, dtype=_neura.int32, device=device)

    def _check_scale(self, name):
        if self._scale is None:
            raise _neura.errors.ValueError(
                f"{name}: expected a loss that scale() has scaled, got none; call scale(loss).backward() first"
            )

    def scale(self, outputs):
        """outputs, a tensor or an iterable of them, times the scale; of the same structure."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, _neura.Tensor):
            if self._scale is None:
                self._make_scale(outputs.device)
            return outputs * self._scale.to(outputs.device)
        if not hasattr(outputs, "__iter__"):
            raise ValueError(f"scale: expected a tensor or an iterable of tensors, got {type(outputs).__name__}")
        scaled = map(self.scale, outputs)
        return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled

    def unscale_(self, optimizer):
        """Divides the gradients of the optimizer's parameters by the scale, in place.

        ValueError for a second call since the last `update`, for one after `step`, and for gradients of float16, in
        which unscaled values would underflow.
        """
        if not self._enabled:
            return
        progress = self._progress.setdefault(id(optimizer), _Progress())
        if progress.stage == _UNSCALED:
            raise _neura.errors.ValueError(
                "unscale_: expected one call for each optimizer since the last update(), got a second one"
            )
        if progress.stage == _STEPPED:
            raise _neura.errors.ValueError(
                "unscale_: expected a call before step(), got one after it; call update() between the two"
            )
        self._unscale(optimizer, progress)

    def _unscale(self, optimizer, progress):
        self._check_scale("unscale_")
        gradients = {}
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if p.grad.dtype == _neura.float16:
                    raise _neura.errors.ValueError(
                        "unscale_: expected gradients that hold what the scale is taken off, got float16; keep "
                        "parameters in float32 and let autocast cast them"
                    )
                stored = p.grad._values() if p.grad.is_sparse else p.grad
                gradients.setdefault(p.grad.device, []).append(stored)
        for device, listed in gradients.items():
            found = progress.found[device] = _neura.zeros((), dtype=_neura.float32, device=device)
            inverse = self._scale.double().reciprocal().float().to(device)
            _neura._amp.unscale(listed, inverse, found)
        progress.stage = _UNSCALED

    def step(self, optimizer, *args, **kwargs):
        """optimizer.step(*args, **kwargs), unless a gradient is not finite; then None.

        Unscales first if `unscale_` has not. ValueError for a second call since the last `update`; RuntimeError with a
        closure, whose gradients would come unscaled.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("step: expected no closure while the scaler is enabled, got one")
        progress = self._progress.setdefault(id(optimizer), _Progress())
        if progress.stage == _STEPPED:
            raise _neura.errors.ValueError(
                "step: expected one call for each optimizer since the last update(), got a second one"
            )
        if progress.stage == _READY:
            self._unscale(optimizer, progress)
        if not progress.found:
            raise _neura.errors.ValueError(
                "step: expected parameters with gradients, got none; call scale(loss).backward() first"
            )
        overflow = sum(found.item() for found in progress.found.values())
        result = None if overflow else optimizer.step(*args, **kwargs)
        progress.stage = _STEPPED
        return result

    def update(self, new_scale=None):
        """Decreases, increases or keeps the scale; or sets it to new_scale, a number or a float32 tensor of one.

        ValueError without a step since the last call.
        """
        if not self._enabled:
            return
        self._check_scale("update")
        if new_scale is not None:
            value = new_scale.detach() if isinstance(new_scale, _neura.Tensor) else new_scale
            self._scale.fill_(value)
        else:
            found = [f.to(self._scale.device) for p in self._progress.values() for f in p.found.values()]
            if not found:
                raise _neura.errors.ValueError(
                    "update: expected a step since the last update(), got none; call step(optimizer) first"
                )
            factors = self._growth_factor, self._backoff_factor, self._growth_interval
            _neura._amp.update_scale(self._scale, self._growth_tracker, sum(found[1:], found[0]), *factors)
        self._progress = {}

    def get_scale(self):
        """The scale, as a number; 1.0 if the scaler is not enabled."""
        if not self._enabled:
            return 1.0
        return float(self._init_scale) if self._scale is None else self._scale.item()

    def get_growth_factor(self):
        """The factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """Sets the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        """The factor by which the scale falls."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """Sets the factor by which the scale falls."""
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        """The number of steps in a row without overflow after which the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """Sets the number of steps in a row without overflow after which the scale grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self):
        return self._growth_tracker_start if self._growth_tracker is None else self._growth_tracker.item()

    def is_enabled(self):
        """True if the scaler is enabled."""
        return self._enabled

    def state_dict(self):
        """scale, growth_factor, backoff_factor, growth_interval and _growth_tracker, as numbers; {} if not enabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` gave. RuntimeError for the empty state of a scaler that was not enabled."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("load_state_dict: expected the state of an enabled GradScaler, got an empty one")
        self._init_scale, self._growth_tracker_start = state_dict["scale"], state_dict["_growth_tracker"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        if self._scale is not None:
            self._make_scale(self._scale.device)

    def __getstate__(self):
        if self._progress:
            raise RuntimeError(
                "GradScaler: expected to be pickled between update() and the next step, got in the middle"
            )
        state = self.__dict__.copy()
        if self._enabled:
            state["_init_scale"], state["_growth_tracker_start"] = self.get_scale(), self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state
