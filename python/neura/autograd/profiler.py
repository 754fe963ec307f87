"""The older form of neura.profiler, which PyTorch still documents: one block, and switches instead of activities."""

from .. import profiler as _profiler
from ..profiler import record_function

__all__ = ["profile", "record_function"]


class profile(_profiler.profile):
    """Records what this thread does in the block; nothing with enabled=False.

    use_device ("cuda" or None), or use_cuda=True: operations on that device are also timed there. use_kineto and
    use_cpu are PyTorch's and change nothing. record_shapes, profile_memory, with_stack, with_flops and with_modules,
    and what is raised, as in neura.profiler.profile.

    >>> with neura.autograd.profiler.profile(record_shapes=True) as p:
    ...     y = neura.ones(3) + 1
    >>> [e.name for e in p.events()]
    ['ones', 'add']
    """

    def __init__(
        self,
        enabled=True,
        *,
        use_cuda=False,
        use_device=None,
        record_shapes=False,
        with_flops=False,
        profile_memory=False,
        with_stack=False,
        with_modules=False,
        use_kineto=False,
        use_cpu=True,
    ):
        device = use_device or ("cuda" if use_cuda else None)
        if device not in (None, "cuda"):
            raise ValueError(f"profile: expected use_device to be 'cuda' or None, got {device!r}")
        activities = [_profiler.ProfilerActivity.CPU] + ([_profiler.ProfilerActivity.CUDA] if device else [])
        self.enabled = enabled
        super().__init__(
            activities=activities,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
        )

    def start(self):
        """Begins to record."""
        if self.enabled:
            super().start()

    def stop(self):
        """Ends the recording."""
        if self.enabled:
            super().stop()
