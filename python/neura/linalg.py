"""Linear algebra, under the names of torch.linalg."""

from . import _neura
from ._neura import _linalg_cross as cross
from ._neura import _multi_dot as multi_dot
from ._neura import _vander as vander
from ._neura import _vecdot as vecdot
from ._neura import _vector_norm as vector_norm
from ._neura import diagonal as _diagonal
from ._neura import matmul, matrix_exp, matrix_power
from ._neura.errors import LinAlgError

_ = _neura.linalg
cholesky = _.cholesky
cholesky_ex = _.cholesky_ex
cond = _.cond
det = _.det
eig = _.eig
eigh = _.eigh
eigvals = _.eigvals
eigvalsh = _.eigvalsh
householder_product = _.householder_product
inv = _.inv
inv_ex = _.inv_ex
ldl_factor = _.ldl_factor
ldl_factor_ex = _.ldl_factor_ex
ldl_solve = _.ldl_solve
lstsq = _.lstsq
lu = _.lu
lu_factor = _.lu_factor
lu_factor_ex = _.lu_factor_ex
lu_solve = _.lu_solve
matrix_rank = _.matrix_rank
pinv = _.pinv
qr = _.qr
slogdet = _.slogdet
solve = _.solve
solve_ex = _.solve_ex
solve_triangular = _.solve_triangular
svd = _.svd
svdvals = _.svdvals
tensorinv = _.tensorinv
tensorsolve = _.tensorsolve
del _

__all__ = [
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "LinAlgError",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonal of matrices, as a view: neura.diagonal of the last two dimensions.

    >>> import neura
    >>> neura.linalg.diagonal(neura.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([1., 4.])
    """
    return _diagonal(A, offset, dim1, dim2)


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None, out=None):
    """The norm of matrices, by default over the last two dimensions; floating or complex, the result is real.

    ord: 'fro', the root of the sum of squares; 1 or -1, the largest or smallest sum over a column; inf or -inf, over a
        row; 2 or -2, the largest or smallest singular value; 'nuc', the sum of all of them.

    >>> import neura
    >>> neura.linalg.matrix_norm(neura.tensor([[1.0, -2.0], [3.0, 4.0]]), ord=1)
    tensor(6.)
    """
    if isinstance(ord, str):
        if ord == "nuc":
            return _neura.nuclear_norm(A if dtype is None else A.to(dtype), dim, keepdim, out=out)
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
