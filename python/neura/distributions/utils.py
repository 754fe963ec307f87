"""What the distributions share: broadcasting of parameters, probabilities and logits, triangles as vectors."""

from numbers import Number

from .. import _neura as _n
from .._limits import finfo
from ..autograd.grad_mode import enable_grad

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "euler_constant",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060


def broadcast_all(*values):
    """The values, tensors or numbers, as tensors of one shape; numbers take dtype and device of the first tensor.

    Raises ValueError where a value is neither, ShapeError where the shapes do not broadcast.

    >>> from neura.distributions.utils import broadcast_all
    >>> broadcast_all(neura.zeros(2), 1.0)[1]
    tensor([1., 1.])
    """
    for value in values:
        if not isinstance(value, (Number, _n.Tensor)):
            raise _n.errors.ValueError(
                f"broadcast_all: expected tensors or numbers, got {type(value).__name__}; make it a tensor"
            )
    like = next((v for v in values if isinstance(v, _n.Tensor)), None)
    kind = {"dtype": _n.get_default_dtype()} if like is None else {"dtype": like.dtype, "device": like.device}
    return _n.broadcast_tensors(*(v if isinstance(v, _n.Tensor) else _n.tensor(v, **kind) for v in values))


def clamp_probs(probs):
    """The probabilities, moved into [eps, 1 - eps] of their dtype."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits, is_binary=False):
    """Probabilities of logits: their sigmoid if binary, else their softmax along the last dimension."""
    return _n.sigmoid(logits) if is_binary else _n.softmax(logits, -1)


def probs_to_logits(probs, is_binary=False):
    """Logits of probabilities: log(p / (1 - p)) if binary, else log p; p is kept away from 0 and 1."""
    kept = clamp_probs(probs)
    return _n.log(kept) - _n.log1p(-kept) if is_binary else _n.log(kept)


def softplus(x):
    """log(1 + exp(x)), precise everywhere."""
    return _n.logaddexp(x, _n.zeros_like(x))


class lazy_property:
    """A property that is computed when first read, with gradients recorded, and kept as an attribute."""

    def __init__(self, wrapped):
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.name, value)
        return value


def _size_of_vec(length, diag):
    """n of the n x n matrix whose lower triangle from diagonal `diag` down has that many elements."""
    n = (-(1 + 2 * diag) + (1 + 8 * length + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    rounded = round(n)
    if abs(n - rounded) > 1e-9:
        raise _n.errors.ShapeError(
            f"vec_to_tril_matrix: expected as many elements as a triangle has, got {length}; give n * (n + 1) / 2 of "
            "them for a triangle with its diagonal"
        )
    return rounded


def _triangle(n, diag, device):
    at = _n.arange(n, device=device)
    return at < (at + (diag + 1)).unsqueeze(-1)


def tril_matrix_to_vec(mat, diag=0):
    """The lower triangle of [..., n, n], from the given diagonal down, row by row as [..., m].

    >>> from neura.distributions.utils import tril_matrix_to_vec
    >>> tril_matrix_to_vec(neura.tensor([[1.0, 0.0], [2.0, 3.0]]))
    tensor([1., 2., 3.])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise _n.errors.ValueError(f"tril_matrix_to_vec: expected diag in [{-n}, {n - 1}], got {diag}")
    return mat[..., _triangle(n, diag, mat.device)]


def vec_to_tril_matrix(vec, diag=0):
    """The inverse of tril_matrix_to_vec: [..., m] to [..., n, n], with zeros elsewhere. Raises ShapeError for other m.

    >>> from neura.distributions.utils import vec_to_tril_matrix
    >>> vec_to_tril_matrix(neura.tensor([1.0, 2.0, 3.0]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    n = _size_of_vec(vec.shape[-1], diag)
    flat = _triangle(n, diag, vec.device).reshape(-1)
    at = (flat.cumsum(0) - 1).clamp(min=0)
    zero = _n.zeros((), dtype=vec.dtype, device=vec.device)
    spread = vec.index_select(-1, at) if vec.shape[-1] else vec.new_zeros((*vec.shape[:-1], n * n))
    return _n.where(flat, spread, zero).reshape((*vec.shape[:-1], n, n))


def _standard_normal(shape, dtype, device):
    """What programs' own distributions draw."""
    return _n.randn(tuple(shape), dtype=dtype, device=device)


def sum_rightmost(value, dim):
    """The sum over that many last dimensions."""
    return value.sum(tuple(range(-dim, 0))) if dim else value


_sum_rightmost = sum_rightmost  # PyTorch's name, which programs take
