"""Which kernel computes scaled_dot_product_attention. Neura chooses the kernel; a program's choice is only checked."""

import enum
from contextlib import contextmanager

from ..._neura import errors

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(enum.IntEnum):
    """PyTorch's names of its kernels."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends, set_priority=False):
    """Allows these kernels, one or a list, within a block. Has no other effect: Neura has one kernel.

    ValueError for an empty list or anything else.

    >>> with neura.nn.attention.sdpa_kernel(neura.nn.attention.SDPBackend.MATH):
    ...     y = neura.nn.functional.scaled_dot_product_attention(*[neura.ones(1, 2, 4)] * 3)
    """
    given = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not given or not all(isinstance(b, SDPBackend) for b in given):
        raise errors.ValueError(f"sdpa_kernel: expected one SDPBackend or a list of them, got {backends!r}")
    yield
