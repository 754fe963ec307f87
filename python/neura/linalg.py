"""Linear algebra, under the names of torch.linalg; factorisations are not there yet."""

from ._neura import _multi_dot as multi_dot
from ._neura import _vector_norm as vector_norm
from ._neura import diagonal, matmul

__all__ = ["diagonal", "matmul", "multi_dot", "vector_norm"]
