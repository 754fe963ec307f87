"""Random numbers: the default generator, used where no other is given."""

from ._neura import default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


class fork_rng:
    """Restores the state of the default generator at the end, whatever is drawn or seeded within.

    A context manager, and a decorator. ``devices`` beyond the CPU have no generators of their own. With
    ``enabled=False`` nothing is kept.
    """

    def __init__(self, devices=None, enabled=True, device_type="cpu"):
        self.enabled, self.states = enabled, []

    def __enter__(self):
        self.states.append(get_rng_state() if self.enabled else None)

    def __exit__(self, *error):
        state = self.states.pop()
        if state is not None:
            set_rng_state(state)

    def __call__(self, function):
        import functools

        @functools.wraps(function)
        def inner(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return inner
