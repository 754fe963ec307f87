"""What programs take from torch._C: a few types, and the switches of __torch_function__."""

from ._neura import Generator, Size, Tensor, _disabled_torch_function_impl, device, dtype  # noqa: F401
from ._neura.errors import LinAlgError as _LinAlgError  # noqa: F401
from .overrides import DisableTorchFunction, DisableTorchFunctionSubclass  # noqa: F401

TensorBase = Tensor
