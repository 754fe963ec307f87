"""Autocast: a region in which operations choose the dtype of their operands themselves."""

import functools as _functools
import warnings as _warnings
from collections.abc import Mapping as _Mapping

from .. import _neura
from ..autograd.grad_mode import _Mode

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

_HALVES = (_neura.float16, _neura.bfloat16)


def _known(device_type):
    if not isinstance(device_type, str):
        raise ValueError(f"autocast: expected device_type as a str, got {type(device_type).__name__}")
    if device_type not in ("cpu", "cuda"):
        raise RuntimeError(f"autocast: expected device_type 'cpu' or 'cuda', got {device_type!r}")
    return _neura.device(device_type)


def is_autocast_available(device_type):
    """True if autocast supports this device type. RuntimeError for an unknown one.

    >>> neura.amp.is_autocast_available("cpu")
    True
    """
    _neura.device(device_type)
    return device_type in ("cpu", "cuda")


def is_autocast_enabled(device_type="cuda"):
    """True if autocast is enabled for this device type, on this thread.

    >>> with neura.autocast("cpu"):
    ...     neura.is_autocast_enabled("cpu")
    True
    """
    return _neura._amp.is_enabled(_known(device_type))


def set_autocast_enabled(device_type, enabled=None):
    """Turns autocast on or off on this thread. With one argument, a bool, for cuda."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    _neura._amp.set_enabled(_known(device_type), enabled)


def get_autocast_dtype(device_type):
    """The half dtype of autocast on this device type: by default bfloat16 on the cpu, float16 on cuda."""
    return _neura._amp.get_dtype(_known(device_type))


def set_autocast_dtype(device_type, dtype):
    """float16 or bfloat16; DTypeError for another."""
    _neura._amp.set_dtype(_known(device_type), dtype)


def is_autocast_cache_enabled():
    """True if the casts of parameters are cached until the outermost region is left."""
    return _neura._amp.is_cache_enabled()


def set_autocast_cache_enabled(enabled):
    """Turns the cache of casts of parameters on or off; it is cleared when the outermost region is left."""
    _neura._amp.set_cache_enabled(enabled)


def clear_autocast_cache():
    """Clears this thread's cache of casts of parameters."""
    _neura._amp.clear_cache()


def autocast_increment_nesting():
    """Enters a region; returns the new nesting depth."""
    return _neura._amp.enter()


def autocast_decrement_nesting():
    """Leaves a region; returns the new nesting depth. At 0 the cache of casts is cleared."""
    return _neura._amp.leave()


class autocast(_Mode):
    """A region, or a decorated function, in which matrix products and convolutions run in a half dtype, and operations
    that need more precision in float32; docs/amp.md has the lists. Backward computes in the dtypes of forward, and the
    gradient of a float32 parameter is float32. Micikevicius et al., 2018.

    device_type: "cpu" or "cuda". dtype: float16 or bfloat16; without one, bfloat16 on the cpu and float16 on cuda.
    enabled: False for a part that computes as it stands. cache_enabled: keep the casts of parameters until the
    outermost region is left. Regions nest; each thread has its own.

    RuntimeError for another device_type. With another dtype, or "cuda" where there is none, a warning, and autocast
    stays off.

    >>> layer = neura.nn.Linear(4, 2)
    >>> with neura.autocast("cpu"):
    ...     y = layer(neura.ones(3, 4))
    >>> y.dtype
    neura.bfloat16
    >>> y.sum().backward()
    >>> layer.weight.grad.dtype
    neura.float32
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        device = _known(device_type)
        self.device = device_type
        self.fast_dtype = _neura._amp.get_dtype(device) if dtype is None else dtype
        self._cache_enabled = _neura._amp.is_cache_enabled() if cache_enabled is None else cache_enabled
        if enabled and self.fast_dtype not in _HALVES:
            text = f"autocast: expected float16 or bfloat16, got {self.fast_dtype}; autocast stays off"
            _warnings.warn(text, stacklevel=2)
            enabled = False
        if enabled and device_type == "cuda" and _neura._cuda.why_not():
            _warnings.warn("autocast: expected a CUDA device, got none; autocast stays off", stacklevel=2)
            enabled = False
        self._enabled = bool(enabled)
        self._before = []

    def _again(self):
        again = type(self).__new__(type(self))
        again.__dict__.update(self.__dict__, _before=[])
        return again

    def __enter__(self):
        device, of = _neura.device(self.device), _neura._amp
        self._before.append((of.is_enabled(device), of.get_dtype(device), of.is_cache_enabled()))
        of.set_enabled(device, self._enabled)
        if self.fast_dtype in _HALVES:
            of.set_dtype(device, self.fast_dtype)
        of.set_cache_enabled(self._cache_enabled)
        of.enter()
        return self

    def __exit__(self, *error):
        device, of = _neura.device(self.device), _neura._amp
        enabled, dtype, cache = self._before.pop()
        of.leave()
        of.set_enabled(device, enabled)
        of.set_dtype(device, dtype)
        of.set_cache_enabled(cache)
        return False


def _cast(value, device_type, dtype):
    """Every floating tensor of this kind of device in it as dtype, except for float64."""
    if isinstance(value, _neura.Tensor):
        fits = value.is_floating_point() and value.device.type == device_type and value.dtype != _neura.float64
        return value.to(dtype) if fits else value
    if isinstance(value, (str, bytes)):
        return value
    if isinstance(value, _Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(v, device_type, dtype) for v in value)
    return value


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """Decorates the forward of an `autograd.Function` whose backward is decorated by `custom_bwd`.

    cast_inputs: inside autocast, floating tensors among the arguments are cast to this dtype first, and forward runs
    with autocast off. Without it, forward runs as it was called.

    >>> class Cube(neura.autograd.Function):
    ...     @staticmethod
    ...     @neura.amp.custom_fwd(device_type="cpu", cast_inputs=neura.float32)
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...     @staticmethod
    ...     @neura.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return 3 * g * x**2
    >>> with neura.autocast("cpu"):
    ...     Cube.apply(neura.ones(2, dtype=neura.bfloat16)).dtype
    neura.float32
    """
    if fwd is None:
        return _functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    device = _known(device_type)

    @_functools.wraps(fwd)
    def forward(ctx, *args, **kwargs):
        ctx._dtype = _neura._amp.get_dtype(device)
        on = _neura._amp.is_enabled(device)
        ctx._fwd_used_autocast = on and cast_inputs is None
        if cast_inputs is None or not on:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return forward


def custom_bwd(bwd=None, *, device_type):
    """Decorates the backward of an `autograd.Function`: it runs in the autocast state of the forward, which
    `custom_fwd` decorates. Its example is there."""
    if bwd is None:
        return _functools.partial(custom_bwd, device_type=device_type)
    _known(device_type)

    @_functools.wraps(bwd)
    def backward(ctx, *args, **kwargs):
        with autocast(device_type, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(ctx, *args, **kwargs)

    return backward
