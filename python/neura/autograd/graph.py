"""The graph of gradients: its nodes, and what becomes of values saved for backward."""

from _thread import _local  # threading itself takes as long to import as everything else here

from .. import _neura
from .._neura import _Node as Node

__all__ = [
    "Node",
    "disable_saved_tensors_hooks",
    "save_on_cpu",
    "saved_tensors_hooks",
]

_refused = _local()


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

    pin_memory (bool): what comes from a GPU waits in page-locked memory, from which it returns without waiting.
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
