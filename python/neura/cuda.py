"""CUDA devices: whether there are any, what they are, their memory, and waiting for them.

Asking about a device that cannot be used raises neura.errors.DeviceError, which says why. What only looks or tidies up
(`is_available`, `device_count`, `empty_cache`, the figures of memory) gives False or 0 there, or does nothing.
"""

import collections

from . import _neura

__all__ = [
    "current_device",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "reset_peak_memory_stats",
    "synchronize",
]


_Properties = collections.namedtuple("DeviceProperties", "name major minor total_memory multi_processor_count")
_Memory = collections.namedtuple("_Memory", "allocated allocated_peak reserved reserved_peak free total")


def _device(device=None):
    """None, an index, a text or a neura.device as a device of CUDA."""
    found = _neura.device("cuda") if device is None else _neura.device(device)
    if found.type != "cuda":
        raise ValueError(f"cuda: expected a device of CUDA, got {found}")
    return found


def _memory(device):
    where = _device(device)
    return _Memory(*(_neura._cuda.memory(where) if is_available() else [0] * 6))


def is_available():
    """Can tensors be put on a CUDA device? If not, ``neura.ones(1).cuda()`` says why."""
    return not _neura._cuda.why_not()


def device_count():
    """How many CUDA devices can be used."""
    return _neura._cuda.count()


def is_initialized():
    """Has the back end been loaded? It is when CUDA is first asked for: the same as is_available()."""
    return is_available()


def current_device():
    """The index of the device that "cuda" means: 0. Raises DeviceError where there is none."""
    _neura._cuda.info(_device())
    return 0


def get_device_properties(device=None):
    """name, major, minor (the compute capability), total_memory (bytes) and multi_processor_count of a device."""
    return _Properties(*_neura._cuda.info(_device(device)))


def get_device_name(device=None):
    """The name of a device, such as "NVIDIA H100 80GB HBM3"."""
    return get_device_properties(device).name


def get_device_capability(device=None):
    """The compute capability of a device, as (major, minor)."""
    return get_device_properties(device)[1:3]


def is_bf16_supported(including_emulation=True):
    """Does the first device compute with bfloat16? From compute capability 8.0 in hardware, else as float32."""
    return is_available() and (bool(including_emulation) or get_device_capability() >= (8, 0))


def synchronize(device=None):
    """Waits until all work that was queued on a device is done."""
    _neura._cuda.synchronize(_device(device))


def memory_allocated(device=None):
    """Bytes in tensors on a device."""
    return _memory(device).allocated


def max_memory_allocated(device=None):
    """The most bytes in tensors on a device since the start or reset_peak_memory_stats."""
    return _memory(device).allocated_peak


def memory_reserved(device=None):
    """Bytes taken from a device: in tensors, and kept for the next ones."""
    return _memory(device).reserved


def max_memory_reserved(device=None):
    """The most bytes taken from a device since the start or reset_peak_memory_stats."""
    return _memory(device).reserved_peak


def mem_get_info(device=None):
    """(free, total) bytes of a device, as its driver says. Raises DeviceError where there is none."""
    found = _Memory(*_neura._cuda.memory(_device(device)))
    return found.free, found.total


def reset_peak_memory_stats(device=None):
    """Lets the figures of max_memory_allocated and max_memory_reserved start again."""
    where = _device(device)
    if is_available():
        _neura._cuda.reset_peak(where)


def empty_cache():
    """Gives memory that is kept for the next tensors, and is in no tensor, back to the device."""
    if is_available():
        _neura._cuda.empty_cache()


def manual_seed(seed):
    """Only checks that seed is an integer: one generator, which neura.manual_seed seeds, serves all devices."""
    import operator

    operator.index(seed)


def manual_seed_all(seed):
    """The same as manual_seed."""
    manual_seed(seed)
