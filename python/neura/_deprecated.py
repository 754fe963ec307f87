"""Deprecated names of torch's top level, and rarely used functions of sparse matrices."""

from . import _arguments, _neura
from ._formats import sparse_coo, strided
from ._neura import errors
from .amp import autocast_mode as _autocast
from .sparse import sparse_coo_tensor


def get_autocast_cpu_dtype():
    """get_autocast_dtype("cpu")."""
    return _autocast.get_autocast_dtype("cpu")


def get_autocast_gpu_dtype():
    """get_autocast_dtype("cuda")."""
    return _autocast.get_autocast_dtype("cuda")


def is_autocast_cpu_enabled():
    """is_autocast_enabled("cpu")."""
    return _autocast.is_autocast_enabled("cpu")


def set_autocast_cpu_dtype(dtype):
    """set_autocast_dtype("cpu", dtype)."""
    _autocast.set_autocast_dtype("cpu", dtype)


def set_autocast_cpu_enabled(enabled):
    """set_autocast_enabled("cpu", enabled)."""
    _autocast.set_autocast_enabled("cpu", enabled)


def set_autocast_gpu_dtype(dtype):
    """set_autocast_dtype("cuda", dtype)."""
    _autocast.set_autocast_dtype("cuda", dtype)


def set_anomaly_enabled(mode, check_nan=True):
    """Turns anomaly mode on or off, for this thread: autograd.set_detect_anomaly as a function."""
    from .autograd.anomaly_mode import set_detect_anomaly

    set_detect_anomaly(mode, check_nan)


@_arguments.named
def to_dlpack(input):
    """A DLPack capsule of the same memory, for from_dlpack of another library."""
    _arguments.tensors("to_dlpack", input=input)
    return _neura._to_dlpack(input)


def _copy_of(part):
    name = part + "_copy"

    def copied(input):
        _arguments.tensors(name, input=input)
        return getattr(input, part)().clone()

    copied.__name__, copied.__doc__ = name, f"A copy of input.{part}(), of a sparse tensor."
    return _arguments.named(copied)


for _part in "ccol_indices col_indices crow_indices indices row_indices values".split():
    globals()[_part + "_copy"] = _copy_of(_part)


def _product(op, mat1, mat2):
    """The dense product of a sparse matrix and a dense one, and the rows that can be other than 0."""
    _arguments.tensors(op, mat1=mat1, mat2=mat2)
    if mat1.layout is not sparse_coo or mat2.layout is not strided:
        raise errors.ValueError(
            f"{op}: expected a matrix of layout sparse_coo and a strided one, got {mat1.layout} and {mat2.layout}"
        )
    return mat1 @ mat2, mat1.coalesce().indices()[0].unique()


@_arguments.named
def hspmm(mat1, mat2):
    """mat1 @ mat2, of a sparse and a dense matrix, as a sparse tensor whose elements are rows.

    >>> s = neura.tensor([[0., 2.], [0., 0.]]).to_sparse()
    >>> neura.hspmm(s, neura.ones(2, 2)).values()
    tensor([[2., 2.]])
    """
    dense, rows = _product("hspmm", mat1, mat2)
    return _sparse(rows.unsqueeze(0), dense[rows], dense.shape, True)


@_arguments.named
def smm(input, mat):
    """input @ mat, of a sparse and a dense matrix, as a sparse matrix, which holds whole rows."""
    dense, rows = _product("smm", input, mat)
    columns = _neura.arange(dense.shape[1], device=dense.device)
    places = _neura.stack([rows.repeat_interleave(len(columns)), columns.repeat(len(rows))])
    return _sparse(places, dense[rows].flatten(), dense.shape, None)


@_arguments.named
def sspaddmm(input, mat1, mat2, *, beta=1, alpha=1):
    """beta * input + alpha * (mat1 @ mat2), of a sparse, a sparse and a dense matrix, as a sparse one."""
    _arguments.tensors("sspaddmm", input=input)
    if input.layout is not sparse_coo:
        raise errors.ValueError(f"sspaddmm: expected an input of layout sparse_coo, got {input.layout}")
    product = smm(mat1, mat2)
    if input.shape != product.shape:
        raise errors.ShapeError(f"sspaddmm: expected an input of shape {list(product.shape)}, got {list(input.shape)}")
    places = _neura.cat([input._indices(), product._indices()], 1)
    values = _neura.cat([input._values() * beta, product._values() * alpha])
    return _sparse(places, values, input.shape, None)


def _sparse(places, values, shape, coalesced):
    return sparse_coo_tensor(places, values, tuple(shape), is_coalesced=coalesced)


hsmm, saddmm = hspmm, sspaddmm
