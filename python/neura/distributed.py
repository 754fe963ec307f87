"""Distributed training, which this build does not have: programs that check run as one process.

As in a PyTorch that was built without it, `is_available()` is False, and what groups of processes need is not there.

>>> import neura.distributed as dist
>>> rank = dist.get_rank() if dist.is_available() and dist.is_initialized() else 0
>>> rank
0
"""

__all__ = ["is_available", "is_initialized"]


def is_available():
    """False."""
    return False


def is_initialized():
    """False: there is no group of processes."""
    return False
