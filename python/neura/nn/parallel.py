"""One module over devices: DataParallel, in its form for a single device, and the class that programs ask for."""

import contextlib

from .. import _lazy, _neura
from .._neura import Tensor, errors
from .module import Module

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]


def _move(value, device):
    """The tensors within lists, tuples and dictionaries, on the device."""
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return type(value)((k, _move(v, device)) for k, v in value.items())
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_move(v, device) for v in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_move(v, device) for v in value)
    return value


def _device_of(device):
    return _neura.device("cuda", device) if isinstance(device, int) else _neura.device(device)


class DataParallel(Module):
    """Runs `module` on the first of `device_ids` (by default the first GPU), where its inputs are moved.

    Its parameters are those of `module`, under "module." in state_dict, as PyTorch's. Without a GPU it calls the module
    where it is. NotImplementedError for several devices: a batch is not split.
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        if not isinstance(module, Module):
            raise TypeError(f"DataParallel: expected a module, got {type(module).__name__}")
        if device_ids is not None and len(device_ids) > 1:
            raise errors.NotImplementedError(
                f"DataParallel: expected one device, got {len(device_ids)}; batches are not split over devices"
            )
        from .. import cuda

        if device_ids is None:
            device_ids = [0] if cuda.is_available() else []
        devices = [_device_of(d) for d in device_ids]
        self.module, self.dim = module, dim
        self.device_ids = [d.index for d in devices]
        self.src_device_obj = devices[0] if devices else None
        self.output_device = self.device_ids[0] if output_device is None and devices else output_device
        if devices:
            module.to(devices[0])

    def forward(self, *inputs, **kwargs):
        if self.src_device_obj is None:
            return self.module(*inputs, **kwargs)
        result = self.module(*_move(inputs, self.src_device_obj), **_move(kwargs, self.src_device_obj))
        return _move(result, _device_of(self.output_device))


class DistributedDataParallel(Module):
    """The module, under "module." in state_dict, in a group of one process: its gradients are the group's.

    ValueError where neura.distributed has no group yet. Other arguments than the module choose how processes
    exchange gradients, and have no effect.
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0, broadcast_buffers=True, **options):
        from .. import distributed

        super().__init__()
        if not isinstance(module, Module):
            raise TypeError(f"DistributedDataParallel: expected a module, got {type(module).__name__}")
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError(
                "DistributedDataParallel: expected a parameter that requires a gradient, got none; call the module"
            )
        distributed.get_rank()
        self.module, self.dim, self.device_ids, self.output_device = module, dim, device_ids, output_device
        self.require_backward_grad_sync = True

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)

    @contextlib.contextmanager
    def no_sync(self):
        """Gradients are only accumulated, as they always are."""
        self.require_backward_grad_sync, before = False, self.require_backward_grad_sync
        try:
            yield
        finally:
            self.require_backward_grad_sync = before


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """The result of DataParallel(module, device_ids) for these inputs: a tensor or a tuple."""
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*inputs, **(module_kwargs or {}))


_lazy.files(__name__, "data_parallel distributed", globals().__getitem__)
