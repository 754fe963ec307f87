"""The autograd graph: its nodes, and hooks for values saved for backward."""

from _thread import _local, allocate_lock  # threading itself takes as long to import as everything else here
from collections import deque, namedtuple

from .. import _neura
from .._neura import RemovableHandle, errors  # noqa: F401  RemovableHandle is found here, too
from .._neura import _Node as Node

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]

_refused = _local()
_KEPT = 64  # backwards that may run at once, each within a hook of another or in a thread of its own


class saved_tensors_hooks:
    """Within the block, a tensor saved for backward is stored as pack_hook(tensor), restored by unpack_hook.

    unpack_hook must give a tensor of the same shape, dtype and device. The innermost pair counts. Within pack_hook
    nothing is recorded.
    """

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        if getattr(_refused, "text", None):
            raise RuntimeError(_refused.text[-1])
        _neura._push_saved_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *error):
        _neura._pop_saved_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Within the block, tensors saved for backward are offloaded to the CPU and copied back when needed.

    pin_memory (bool): tensors from a GPU are offloaded to page-locked memory, from which copies back are asynchronous.
    device_type (str): only for PyTorch's signature.
    """

    def __init__(self, pin_memory=False, device_type="cuda"):
        def pack(tensor):
            host = tensor.to("cpu", copy=tensor.is_cpu)
            return tensor.device, host.pin_memory() if pin_memory and not tensor.is_cpu else host

        def unpack(packed):
            device, tensor = packed
            return tensor.to(device, non_blocking=pin_memory)

        super().__init__(pack, unpack)


class disable_saved_tensors_hooks:
    """Within the block, entering saved_tensors_hooks raises RuntimeError with this text."""

    def __init__(self, error_message):
        self.error_message = error_message

    def __enter__(self):
        _refused.text = getattr(_refused, "text", ()) + (self.error_message,)

    def __exit__(self, *error):
        _refused.text = _refused.text[:-1]


class allow_mutation_on_saved_tensors:
    """Within the block, tensors saved for backward keep their values, even if they are written in place later.

    They are copied on such a write, not before.
    """

    def __init__(self):
        self._hooks = saved_tensors_hooks(lambda tensor: tensor.clone(), lambda tensor: tensor)

    def __enter__(self):
        self._hooks.__enter__()
        return self

    def __exit__(self, *error):
        self._hooks.__exit__(*error)


class GradientEdge(namedtuple("GradientEdge", "node output_nr ownership_token", defaults=(None,))):
    """Where a gradient arrives: result ``output_nr`` of ``node``. Takes a tensor's place in grad and backward."""

    __slots__ = ()


def get_gradient_edge(tensor):
    """The GradientEdge at which the gradient of the tensor arrives; of a leaf, that of its AccumulateGrad.

    Keeping it keeps the graph, not the values of the tensor. AutogradError for a tensor that requires no gradient.
    """
    return GradientEdge(*_neura._gradient_edge(tensor))


def increment_version(tensor):
    """Marks tensors as written in place, by code that Neura does not see: backward then refuses their old values.

    >>> x = neura.ones(2)
    >>> neura.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    for each in (tensor,) if isinstance(tensor, _neura.Tensor) else tensor:
        _neura._increment_version(each)


class _Handles:
    def __init__(self, handles):
        self.handles = tuple(handles)

    def remove(self):
        for handle in self.handles:
            handle.remove()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


class _OfAll:
    """Gathers the gradients of one backward until those that it computes at all are there."""

    def __init__(self, edges, fn):
        self.nodes, self.fn, self.lock = [edge.node for edge in edges], fn, allocate_lock()
        self.seen = {}  # by backward, the latest few: how many will come, how many came, the gradients

    def arrived(self, i, grad):
        run = _neura._current_backward()
        with self.lock:
            if run not in self.seen:
                self.seen[run] = [sum(map(_neura._will_run, self.nodes)), 0, [None] * len(self.nodes)]
                if len(self.seen) > _KEPT:  # where a derivative failed, or gave nothing, the rest never came
                    del self.seen[next(iter(self.seen))]
            state = self.seen[run]
            state[1] += 1
            state[2][i] = grad
            if state[1] < state[0]:
                return
            del self.seen[run]
        self.fn(state[2])


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Calls fn when the gradients of several tensors have been computed. Returns a handle with remove().

    mode "all": once in each backward, with a list of the gradients, None for tensors that this backward does not reach.
    mode "any": once, with the first gradient. ValueError for another mode, or a tensor that requires no gradient.

    >>> a, b = neura.ones(2, requires_grad=True), neura.ones(2, requires_grad=True)
    >>> handle = neura.autograd.graph.register_multi_grad_hook([a, b], lambda grads: print(len(grads)))
    >>> (a * b).sum().backward()
    2
    """
    if mode not in ("all", "any"):
        raise errors.ValueError(f"register_multi_grad_hook: expected mode 'all' or 'any', got {mode!r}")
    if mode == "any":
        lock, last = allocate_lock(), deque(maxlen=_KEPT)

        def first(grad):
            run = _neura._current_backward()
            with lock:
                if run in last:
                    return
                last.append(run)
            fn(grad)

        return _Handles(t.register_hook(first) for t in tensors if t.requires_grad)
    tensors = list(tensors)
    for t in tensors:
        if not t.requires_grad:
            raise errors.AssertedValueError(
                f"register_multi_grad_hook: expected tensors that require a gradient, got one of shape {list(t.shape)} "
                "that does not"
            )
    gathered = _OfAll(list(map(get_gradient_edge, tensors)), fn)

    def hook(i):
        return lambda grad: gathered.arrived(i, grad)

    return _Handles(t.register_hook(hook(i)) for i, t in enumerate(tensors))
