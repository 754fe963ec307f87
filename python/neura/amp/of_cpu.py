"""neura.cpu.amp: what neura.amp has, for the CPU. New code names the device: neura.amp.autocast("cpu")."""

from . import autocast_mode as _mode
from . import grad_scaler as _scaler
from .. import _neura

__all__ = ["GradScaler", "autocast"]


class autocast(_mode.autocast):
    """neura.amp.autocast("cpu", ...)."""

    def __init__(self, enabled=True, dtype=_neura.bfloat16, cache_enabled=True):
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(_scaler.GradScaler):
    """neura.amp.GradScaler("cpu", ...)."""

    def __init__(self, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
