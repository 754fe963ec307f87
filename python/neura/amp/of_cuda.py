"""neura.cuda.amp: what neura.amp has, for CUDA devices. New code names the device: neura.amp.autocast("cuda")."""

import functools as _functools

from . import autocast_mode as _mode
from .. import _lazy, _neura
from ._of_device import classes as _classes

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

custom_fwd = _functools.partial(_mode.custom_fwd, device_type="cuda")
custom_bwd = _functools.partial(_mode.custom_bwd, device_type="cuda")
autocast, GradScaler = _classes("cuda", _neura.float16, __name__)
_lazy.files("neura.cuda.amp", "autocast_mode grad_scaler", globals().__getitem__)
