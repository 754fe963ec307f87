"""Linear algebra, under the names of torch.linalg; factorisations are not there yet."""

from ._neura import _linalg_cross as cross
from ._neura import _multi_dot as multi_dot
from ._neura import _vander as vander
from ._neura import _vecdot as vecdot
from ._neura import _vector_norm as vector_norm
from ._neura import diagonal, matmul

__all__ = ["cross", "diagonal", "matmul", "multi_dot", "vander", "vecdot", "vector_norm"]
