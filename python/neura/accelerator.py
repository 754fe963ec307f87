"""The accelerator, CUDA or none: the names of torch.accelerator, over neura.cuda."""

from . import _neura, cuda

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]

device_count, is_available = cuda.device_count, cuda.is_available
current_device_index = current_device_idx = cuda.current_device
current_stream, set_stream, synchronize = cuda.current_stream, cuda.set_stream, cuda.synchronize
set_device_index = set_device_idx = cuda.set_device
empty_cache, memory_stats, reset_peak_memory_stats = cuda.empty_cache, cuda.memory_stats, cuda.reset_peak_memory_stats
memory_allocated, max_memory_allocated = cuda.memory_allocated, cuda.max_memory_allocated
memory_reserved, max_memory_reserved = cuda.memory_reserved, cuda.max_memory_reserved


def current_accelerator(check_available=False):
    """The device type of the accelerator, without an index; None without one, or if check_available and unusable."""
    return _neura.device("cuda") if is_available() else None


class device_index:
    """`with device_index(1):` makes that device current; None changes nothing."""

    def __init__(self, device):
        self._block = None if device is None else cuda.device(device)

    def __enter__(self):
        if self._block is not None:
            self._block.__enter__()

    def __exit__(self, *error):
        if self._block is not None:
            self._block.__exit__(*error)
