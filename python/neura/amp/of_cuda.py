"""neura.cuda.amp: what neura.amp has, for CUDA devices. New code names the device: neura.amp.autocast("cuda")."""

import functools as _functools

from . import autocast_mode as _mode
from . import grad_scaler as _scaler
from .. import _neura

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

custom_fwd = _functools.partial(_mode.custom_fwd, device_type="cuda")
custom_bwd = _functools.partial(_mode.custom_bwd, device_type="cuda")


class autocast(_mode.autocast):
    """neura.amp.autocast("cuda", ...)."""

    def __init__(self, enabled=True, dtype=_neura.float16, cache_enabled=True):
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(_scaler.GradScaler):
    """neura.amp.GradScaler("cuda", ...)."""

    def __init__(self, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
