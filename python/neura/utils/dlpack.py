"""DLPack, under the names of torch.utils.dlpack."""

from .._neura import _to_dlpack as to_dlpack
from .._neura import from_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
