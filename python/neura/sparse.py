"""Sparse tensors, under the names of torch.sparse: only some elements are stored, with their indices.

>>> import neura
>>> s = neura.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
>>> s @ neura.ones(3, 1)
tensor([[3.],
        [9.]])
>>> s.to_sparse_csr().crow_indices()
tensor([0, 1, 3])
"""

from . import _neura
from . import _legacy
from ._formats import layout as _layout
from ._formats import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from ._neura import Tensor, errors

_ = _neura.sparse
addmm, log_softmax, mm, sampled_addmm, softmax, sum = _.addmm, _.log_softmax, _.mm, _.sampled_addmm, _.softmax, _.sum
del _
globals().update(_legacy.sparse_types)  # sparse.FloatTensor, as the first graph networks made theirs

__all__ = "addmm check_sparse_tensor_invariants log_softmax mm sampled_addmm softmax spdiags sum".split()


class check_sparse_tensor_invariants:
    """Whether the functions that make sparse tensors check the order of compressed indices where they are not told.

    A context; enable() and disable() are for good. Ranges of indices are always checked.

    >>> with neura.sparse.check_sparse_tensor_invariants():
    ...     neura.sparse.check_sparse_tensor_invariants.is_enabled()
    True
    """

    _on = False

    def __init__(self, enable=True):
        self._wanted, self._before = enable, []

    @staticmethod
    def is_enabled():
        """True if invariants are checked."""
        return check_sparse_tensor_invariants._on

    @staticmethod
    def enable():
        """Turns the checks on."""
        check_sparse_tensor_invariants._on = True

    @staticmethod
    def disable():
        """Turns the checks off."""
        check_sparse_tensor_invariants._on = False

    def __enter__(self):
        self._before.append(self._on)
        check_sparse_tensor_invariants._on = self._wanted

    def __exit__(self, *error):
        check_sparse_tensor_invariants._on = self._before.pop()


def _tensor(value, dtype=None, device=None):
    if isinstance(value, Tensor):
        return value
    return _neura.tensor(value, dtype=dtype, device=device)


def _checks(wanted):
    return check_sparse_tensor_invariants._on if wanted is None else wanted


def _unpinned(pin_memory):
    if pin_memory:
        raise errors.NotImplementedError("sparse: expected pin_memory=False, got True; pin the indices and values")


def sparse_coo_tensor(
    indices=None,
    values=None,
    size=None,
    *,
    dtype=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
    is_coalesced=None,
):
    """A sparse tensor of values [n, ...] at indices [sparse dimensions, n]; those of one place are added.

    Without a size, the least that holds all indices. Without indices and values, an empty one of that size. Raises
    ShapeError where sizes do not agree and IndexError for an index outside.

    >>> neura.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,)).to_dense()
    tensor([1., 2., 0.])
    """
    _unpinned(pin_memory)
    if indices is None or isinstance(indices, (tuple, _neura.Size)) and values is None:
        size = indices if size is None else size
        if size is None or values is not None:
            raise errors.ValueError("sparse_coo_tensor: expected indices and values, or a size alone")
        return _neura.sparse._empty(tuple(size), "sparse_coo", dtype=dtype, device=device, requires_grad=requires_grad)
    values = _tensor(values, dtype, device)
    return _neura.sparse._coo_tensor(
        _tensor(indices, _neura.int64, values.device),
        values,
        None if size is None else tuple(size),
        dtype=dtype,
        device=device,
        requires_grad=requires_grad,
        check_invariants=_checks(check_invariants),
        is_coalesced=bool(is_coalesced),
    )


def sparse_compressed_tensor(
    compressed_indices,
    plain_indices,
    values,
    size=None,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
):
    """A sparse matrix by compressed rows, columns or blocks, as layout says.

    compressed_indices say where each row (column) begins among the values, plain_indices in which column (row) each
    value stands. Raises ShapeError where sizes do not agree, IndexError for an index outside and ValueError where the
    compressed indices fall.

    >>> neura.sparse_compressed_tensor([0, 1, 2], [1, 0], [3.0, 4.0], layout=neura.sparse_csr).to_dense()
    tensor([[0., 3.],
            [4., 0.]])
    """
    _unpinned(pin_memory)
    if not isinstance(layout, _layout) or layout in (sparse_coo,):
        raise errors.ValueError(f"sparse_compressed_tensor: expected a compressed layout, got {layout}")
    values = _tensor(values, dtype, device)
    return _neura.sparse._compressed_tensor(
        layout._name,
        _tensor(compressed_indices, _neura.int64, values.device),
        _tensor(plain_indices, _neura.int64, values.device),
        values,
        None if size is None else tuple(size),
        dtype=dtype,
        device=device,
        requires_grad=requires_grad,
        check_invariants=_checks(check_invariants),
    )


def sparse_csr_tensor(crow_indices, col_indices, values, size=None, **options):
    """A matrix by compressed rows: where they begin, and the column of each value.

    >>> neura.sparse_csr_tensor([0, 1, 2], [1, 0], [3.0, 4.0]) @ neura.ones(2)
    tensor([3., 4.])
    """
    return sparse_compressed_tensor(crow_indices, col_indices, values, size, layout=sparse_csr, **options)


def sparse_csc_tensor(ccol_indices, row_indices, values, size=None, **options):
    """A matrix by compressed columns: where they begin, and the row of each value.

    >>> neura.sparse_csc_tensor([0, 1, 2], [1, 0], [3.0, 4.0]).to_dense()
    tensor([[0., 4.],
            [3., 0.]])
    """
    return sparse_compressed_tensor(ccol_indices, row_indices, values, size, layout=sparse_csc, **options)


def sparse_bsr_tensor(crow_indices, col_indices, values, size=None, **options):
    """A matrix by compressed rows of blocks: values are [blocks, height, width].

    >>> neura.sparse_bsr_tensor([0, 1], [0], [[[1.0, 2.0]]]).to_dense()
    tensor([[1., 2.]])
    """
    return sparse_compressed_tensor(crow_indices, col_indices, values, size, layout=sparse_bsr, **options)


def sparse_bsc_tensor(ccol_indices, row_indices, values, size=None, **options):
    """A matrix by compressed columns of blocks: values are [blocks, height, width].

    >>> neura.sparse_bsc_tensor([0, 1], [0], [[[1.0], [2.0]]]).to_dense()
    tensor([[1.],
            [2.]])
    """
    return sparse_compressed_tensor(ccol_indices, row_indices, values, size, layout=sparse_bsc, **options)


def spdiags(diagonals, offsets, shape, layout=None):
    """A sparse matrix of this shape with the rows of diagonals on the diagonals that offsets name.

    Column j of the matrix gets element j of a row. offsets are distinct; above the main diagonal they are positive.

    >>> neura.sparse.spdiags(neura.ones(2, 3), neura.tensor([0, 1]), (3, 3)).to_dense()
    tensor([[1., 1., 0.],
            [0., 1., 1.],
            [0., 0., 1.]])
    """
    return _neura.sparse._spdiags(diagonals, offsets, tuple(shape), (layout or sparse_coo)._name)


def _parts(t):
    """What a sparse tensor is made of: layout, sizes, is it coalesced, does it require a gradient; indices, values."""
    facts = [t.layout._name, list(t.shape), t.layout == sparse_coo and t.is_coalesced(), t.requires_grad]
    if t.layout == sparse_coo:
        return facts, (t._indices(), None, t._values())
    if t.layout in (sparse_csr, sparse_bsr):
        return facts, (t.crow_indices(), t.col_indices(), t._values())
    return facts, (t.ccol_indices(), t.row_indices(), t._values())


def _rebuild(name, size, coalesced, requires_grad, first, second, values):
    """A sparse tensor of what _parts says; the indices are checked."""
    options = dict(requires_grad=requires_grad, check_invariants=True)
    if name == "sparse_coo":
        return _neura.sparse._coo_tensor(first, values, tuple(size), is_coalesced=coalesced, **options)
    return _neura.sparse._compressed_tensor(name, first, second, values, tuple(size), **options)


def _reduce(t):  # for pickle
    facts, tensors = _parts(t)
    return _rebuild, (*facts, *tensors)


def _copied(t):  # for deepcopy
    facts, tensors = _parts(t)
    return _rebuild(*facts, *(x if x is None else x.clone() for x in tensors))
