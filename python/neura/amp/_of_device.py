"""The classes of neura.cpu.amp and neura.cuda.amp, whose device is in their module's name."""

from . import autocast_mode as _mode
from . import grad_scaler as _scaler


def classes(device, dtype, module):
    """autocast and GradScaler of a device; dtype: what autocast takes where none is given."""

    class autocast(_mode.autocast):
        __doc__ = f'neura.amp.autocast("{device}", ...).'

        def __init__(self, enabled=True, dtype=dtype, cache_enabled=True):
            super().__init__(device, enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)

    class GradScaler(_scaler.GradScaler):
        __doc__ = f'neura.amp.GradScaler("{device}", ...).'

        def __init__(
            self, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True
        ):
            super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)

    for cls in (autocast, GradScaler):
        cls.__module__, cls.__qualname__ = module, cls.__name__  # by which pickle finds them
    return autocast, GradScaler
