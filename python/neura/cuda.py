"""CUDA devices: count and properties, memory, streams and events, graphs, synchronisation.

Asking about a device that cannot be used raises neura.errors.DeviceError, which says why. Queries and clean-up
(`is_available`, `device_count`, `empty_cache`, memory figures) return False or 0 there, or do nothing.
"""

import collections
import contextlib
import gc
import sys

from . import _neura
from .amp import of_cuda as amp

__all__ = [
    "CUDAGraph",
    "Event",
    "Kernel",
    "Stream",
    "StreamContext",
    "amp",
    "compile_kernel",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "graph",
    "graph_pool_handle",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "make_graphed_callables",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_summary",
    "reset_peak_memory_stats",
    "set_device",
    "set_per_process_memory_fraction",
    "set_stream",
    "stream",
    "synchronize",
]

sys.modules[__name__ + ".amp"] = amp  # `from neura.cuda.amp import ...`
Stream, Event, CUDAGraph = _neura._cuda.Stream, _neura._cuda.Event, _neura._cuda.CUDAGraph
Kernel = _neura._cuda.Kernel

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
    """True if a CUDA device can be used. If not, ``neura.ones(1).cuda()`` says why."""
    return not _neura._cuda.why_not()


def device_count():
    """How many CUDA devices can be used."""
    return _neura._cuda.count()


def is_initialized():
    """True if the CUDA back end is loaded, which happens at first use: the same as is_available()."""
    return is_available()


def current_device():
    """The index of the device that "cuda" means to this thread. Raises DeviceError where there is none."""
    _neura._cuda.info(_device())
    return _neura._cuda.current_device()


def set_device(device):
    """Makes this device (an index, a text or a neura.device) the current one, "cuda", of this thread."""
    _neura._cuda.set_device(_device(device))


class device:
    """Makes a device current inside a `with`: neura.cuda.device(1). None and negative indices change nothing."""

    def __init__(self, device):
        unchanged = device is None or (isinstance(device, int) and device < 0)
        self.idx = -1 if unchanged else _device(device).index

    def __enter__(self):
        self._before = None
        if self.idx >= 0:
            self._before = current_device()
            set_device(self.idx)
        return self

    def __exit__(self, *error):
        if self._before is not None:
            set_device(self._before)


def current_stream(device=None):
    """The stream on which this thread works on a device."""
    return _neura._cuda.current_stream(_device(device))


def default_stream(device=None):
    """The stream on which threads work that have not set another."""
    return _neura._cuda.default_stream(_device(device))


def set_stream(stream):
    """Lets this thread work on a stream; None changes nothing. `with neura.cuda.stream(s):` also goes back."""
    if stream is not None:
        _neura._cuda.set_stream(stream)


class StreamContext:
    """What neura.cuda.stream gives: makes a stream current inside a `with`, and its device. None changes nothing."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            self._device = device(self.stream.device_index)
            self._device.__enter__()
            self._before = current_stream(self.stream.device)
            set_stream(self.stream)

    def __exit__(self, *error):
        if self.stream is not None:
            set_stream(self._before)
            self._device.__exit__()


def stream(stream):
    """A context in which this thread works on a stream: `with neura.cuda.stream(s):`."""
    return StreamContext(stream)


def is_current_stream_capturing():
    """True while the current stream captures a graph."""
    return is_available() and _neura._cuda.capturing()


def graph_pool_handle():
    """A pool of memory for graphs that are replayed in the order of their captures: graph(g, pool=...)."""
    return _neura._cuda.graph_pool_handle()


class graph:
    """Captures what is done inside a `with` into a CUDAGraph: `with neura.cuda.graph(g): y = model(x)`.

    pool: another graph's pool() or graph_pool_handle(). stream: where the work is recorded; one of its own by default.
    capture_error_mode: "relaxed", "thread_local" or "global". An error inside ends the capture, and the graph is empty.
    """

    def __init__(self, cuda_graph, pool=None, stream=None, *, capture_error_mode="relaxed"):
        self.cuda_graph, self.pool, self.mode = cuda_graph, pool, capture_error_mode
        self.capture_stream = Stream() if stream is None else stream

    def __enter__(self):
        synchronize()
        gc.collect()
        empty_cache()
        with contextlib.ExitStack() as undo:
            undo.enter_context(StreamContext(self.capture_stream))
            self.cuda_graph.capture_begin(self.pool, self.mode)
            self._leave = undo.pop_all()

    def __exit__(self, kind, *error):
        with self._leave:
            if kind is None:
                self.cuda_graph.capture_end()
            else:
                self.cuda_graph.capture_abort()


def compile_kernel(kernel_source, kernel_name, options=()):
    """A kernel of your own, compiled now: `kernel(grid, block, args)` launches it on the current stream.

    kernel_source (str): CUDA C++. kernel_name (str): which kernel of it; a template with its arguments, "scale<float>".
    options (sequence of str): of NVRTC, such as "--use_fast_math" or "-I" with a folder.

    It is compiled by NVRTC of the CUDA toolkit for the current device, and once: the same source, name and options are
    found again in memory, and in ~/.cache/neura or the folder that the environment variable NEURA_CACHE_DIR names.
    RuntimeError has the compiler's words. What the kernel does is not seen by autograd: tensors must need no gradient.
    """
    return Kernel(kernel_source, kernel_name, list(options))


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
    """True if the first device supports bfloat16: in hardware from compute capability 8.0, else by float32."""
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
    """Bytes taken from a device: in tensors and in the cache."""
    return _memory(device).reserved


def max_memory_reserved(device=None):
    """The most bytes taken from a device since the start or reset_peak_memory_stats."""
    return _memory(device).reserved_peak


def mem_get_info(device=None):
    """(free, total) bytes of a device, as its driver says. Raises DeviceError where there is none."""
    found = _Memory(*_neura._cuda.memory(_device(device)))
    return found.free, found.total


def reset_peak_memory_stats(device=None):
    """Resets max_memory_allocated and max_memory_reserved."""
    where = _device(device)
    if is_available():
        _neura._cuda.reset_peak(where)


def make_graphed_callables(callables, sample_args, num_warmup_iters=3, allow_unused_input=False, pool=None):
    """Functions or modules whose forward and backward are graphs, each of which is launched as a whole.

    callables: a function of tensors or a module, or a tuple of them. sample_args: a tuple of tensors for each, like
    those that it will be called with; they become its inputs' memory. What it returns, a tensor or a tuple of tensors,
    is in memory that the next call overwrites. A module is changed and returned: it uses its graphs in the mode it
    is in now (train or eval), and computes as before in the other. pool: one that a single callable shares with other
    graphs; by default each has its own.
    """
    from ._graphed import graphed_callables

    return graphed_callables(callables, sample_args, num_warmup_iters, allow_unused_input, pool)


def memory_stats(device=None):
    """Statistics of a device's allocator, by name: bytes and counts of events. All 0 where there is none.

    "allocated" (in tensors), "reserved" (taken from the device), and their "_peak"; "waiting" (released, but another
    stream is not done), "largest_free", "limit"; "allocations", "hits" (from what was kept) and "misses" (from the
    device), "retries" (after all that was kept had been given back), "failures"; "segments_taken", "segments_given".
    """
    where = _device(device)
    return _neura._cuda.stats(where) if is_available() else collections.defaultdict(int)


def memory_snapshot(device=None):
    """What was taken from a device, as a list of dicts: each segment with its stream, size and blocks."""
    return _neura._cuda.snapshot(_device(device))


def memory_summary(device=None, abbreviated=False):
    """The figures of memory_stats as readable text."""
    return _neura._cuda.summary(_device(device))


def set_per_process_memory_fraction(fraction, device=None):
    """Limits what this process takes of a device's memory to a fraction of it, above 0 and at most 1."""
    _neura._cuda.set_fraction(float(fraction), _device(device))


def empty_cache():
    """Returns cached memory that no tensor uses to the device."""
    if is_available():
        _neura._cuda.empty_cache()


def manual_seed(seed):
    """Only checks that seed is a number: one generator, which neura.manual_seed seeds, serves all devices."""
    int(seed)


def manual_seed_all(seed):
    """The same as manual_seed."""
    manual_seed(seed)


class device_of(device):
    """Makes the device of a tensor current inside a `with`; one on the CPU changes nothing."""

    def __init__(self, obj):
        super().__init__(obj.device.index if obj.is_cuda else -1)


from ._cuda_names import *  # noqa: E402,F401,F403
from ._cuda_names import __all__ as _also  # noqa: E402

__all__ += ["device_of", *_also]


def __getattr__(name):
    from . import _legacy

    if name == "nvtx":
        from . import _nvtx

        return _nvtx
    if name in _legacy.cuda_types:
        return _legacy.cuda_types[name]
    raise AttributeError(f"module 'neura.cuda' has no attribute {name!r}")
