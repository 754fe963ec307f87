"""Random numbers: the default generator, which everything draws from that is given no other."""

import contextlib

from ._neura import default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, device_type="cpu"):
    """Whatever is drawn or seeded within, the default generator goes on afterwards where it was.

    ``devices`` beyond the CPU have no generators of their own. With ``enabled=False`` nothing is kept.
    """
    state = get_rng_state() if enabled else None
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)
