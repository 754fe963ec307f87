"""Linear algebra, under the names of torch.linalg; factorisations are not there yet."""

from . import _neura
from ._neura import _linalg_cross as cross
from ._neura import _multi_dot as multi_dot
from ._neura import _vander as vander
from ._neura import _vecdot as vecdot
from ._neura import _vector_norm as vector_norm
from ._neura import diagonal, matmul, matrix_exp, matrix_power

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "multi_dot",
    "norm",
    "vander",
    "vecdot",
    "vector_norm",
]


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None, out=None):
    """The norm of matrices, by default over the last two dimensions; floating or complex, the result is real.

    ord: 'fro', the root of the sum of squares; 1 or -1, the largest or smallest sum over a column; inf or -inf, over a
        row. NotImplementedError for 2, -2 and 'nuc', which need singular values.

    >>> import neura
    >>> neura.linalg.matrix_norm(neura.tensor([[1.0, -2.0], [3.0, 4.0]]), ord=1)
    tensor(6.)
    """
    if isinstance(ord, str):
        if ord == "nuc":
            raise _neura.errors.NotImplementedError(
                "matrix_norm: expected ord to be 1, -1, inf, -inf or 'fro', got 'nuc'; no singular values yet"
            )
        if ord != "fro":
            raise _neura.errors.ValueError(f"matrix_norm: expected ord to be 'fro', 'nuc' or a number, got {ord!r}")
        ord = None
    return _neura._matrix_norm(A, ord, dim, keepdim, dtype, out)


def norm(A, ord=None, dim=None, keepdim=False, *, out=None, dtype=None):
    """The norm of vectors (one dimension, or ord None) or of matrices (two dimensions); see vector_norm, matrix_norm.

    Without dim and ord, the 2-norm of all elements; without dim, A has one or two dimensions.

    >>> import neura
    >>> neura.linalg.norm(neura.tensor([3.0, 4.0]))
    tensor(5.)
    """
    dims = None if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if ord is None:
        return vector_norm(A, 2, dims, keepdim, dtype=dtype, out=out)
    if dims is None and A.dim() not in (1, 2):
        raise _neura.errors.ShapeError(
            f"norm: expected a tensor of one or two dimensions where ord is given and dim is not, got {A.dim()}"
        )
    if isinstance(ord, str) or (len(dims) if dims is not None else A.dim()) == 2:
        return matrix_norm(A, ord, dims if dims is not None else (0, 1), keepdim, dtype=dtype, out=out)
    return vector_norm(A, ord, dims, keepdim, dtype=dtype, out=out)
