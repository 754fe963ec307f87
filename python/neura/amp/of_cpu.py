"""neura.cpu.amp: what neura.amp has, for the CPU. New code names the device: neura.amp.autocast("cpu")."""

from .. import _neura
from ._of_device import classes as _classes

__all__ = ["GradScaler", "autocast"]

autocast, GradScaler = _classes("cpu", _neura.bfloat16, __name__)
