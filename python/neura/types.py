"""Types of arguments, for annotations."""

import builtins
import os
from typing import IO, Union

from ._neura import Size, Tensor, UntypedStorage, device, dtype

__all__ = ["Storage"]

Number = Union[builtins.int, builtins.float, builtins.bool]
Device = Union[device, builtins.str, builtins.int, None]
FileLike = Union[builtins.str, os.PathLike, IO[builtins.bytes]]
Storage = UntypedStorage
_size = Union[Size, builtins.list, builtins.tuple]
_int, _float, _bool, _dtype = builtins.int, builtins.float, builtins.bool, dtype
_TensorOrTensors = Union[Tensor, builtins.tuple]
