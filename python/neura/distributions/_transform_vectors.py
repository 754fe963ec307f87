"""Transforms of vectors and matrices, and of parts of tensors."""

import math

from .. import _neura as _n
from .._limits import finfo
from .. import linalg as _linalg
from .._neura.functional import pad
from . import constraints
from ._transform import Transform, sum_rightmost
from ._transform_elements import _Alike
from .utils import softplus, tril_matrix_to_vec, vec_to_tril_matrix


def _check_dims(who, shape, dims):
    if len(shape) < dims:
        raise _n.errors.ShapeError(f"{who}: expected at least {dims} dimensions, got shape {list(shape)}")


class SoftmaxTransform(_Alike, Transform):
    """y = softmax(x) over the last dimension; not bijective: log y is one of the values that have the result y."""

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x):
        return x.softmax(-1)

    def _inverse(self, y):
        return y.log()

    def forward_shape(self, shape):
        _check_dims("SoftmaxTransform", shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(_Alike, Transform):
    """Vectors of n numbers to probabilities of n + 1 outcomes: each number breaks off a share of what is left.

    x = 0 gives equal probabilities. Stan Reference Manual, "Unit simplex".

    >>> from neura.distributions import StickBreakingTransform
    >>> StickBreakingTransform()(neura.zeros(3))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain, codomain = constraints.real_vector, constraints.simplex
    bijective = True

    def _shifted(self, x):
        n = x.shape[-1]
        return x - _n.arange(n, 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x):
        share = self._shifted(x).sigmoid()
        left = (1 - share).cumprod(-1)
        return pad(share, [0, 1], value=1.0) * pad(left, [1, 0], value=1.0)

    def _inverse(self, y):
        first = y[..., :-1]
        left = (1 - first.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        n = first.shape[-1]
        return first.log() - left.log() + _n.arange(n, 0, -1, dtype=y.dtype, device=y.device).log()

    def log_abs_det_jacobian(self, x, y):
        shifted = self._shifted(x)
        return (y[..., :-1].log() - softplus(shifted)).sum(-1)

    def forward_shape(self, shape):
        _check_dims("StickBreakingTransform", shape, 1)
        return _n.Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape):
        _check_dims("StickBreakingTransform", shape, 1)
        return _n.Size((*shape[:-1], shape[-1] - 1))


def _exp_diagonal(x):
    return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()


class LowerCholeskyTransform(_Alike, Transform):
    """Square matrices to lower triangles with a positive diagonal, the exponential of theirs."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def _call(self, x):
        return _exp_diagonal(x)

    def _inverse(self, y):
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_Alike, Transform):
    """Square matrices to positive definite ones: L L^T, where L is the result of LowerCholeskyTransform."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def _call(self, x):
        factor = _exp_diagonal(x)
        return factor @ factor.mT

    def _inverse(self, y):
        return LowerCholeskyTransform()._inverse(_linalg.cholesky(y))


class CorrCholeskyTransform(_Alike, Transform):
    """Vectors of n (n - 1) / 2 numbers to Cholesky factors of n x n correlation matrices.

    tanh takes each number into (-1, 1), as a partial correlation; each row is then filled by breaking the stick of its
    norm, 1. Lewandowski, Kurowicka and Joe, "Generating random correlation matrices based on vines and extended onion
    method", 2009.

    >>> from neura.distributions import CorrCholeskyTransform
    >>> CorrCholeskyTransform()(neura.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain, codomain = constraints.real_vector, constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        eps = finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r * r).sqrt().cumprod(-1)
        r = r + _n.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * pad(left[..., :-1], [1, 0], value=1.0)

    def _inverse(self, y):
        left = pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1.0)
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (t.log1p() - t.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x, y):
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        return 0.5 * left.log().sum(-1) - 2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)

    def forward_shape(self, shape):
        _check_dims("CorrCholeskyTransform", shape, 1)
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise _n.errors.ShapeError(f"CorrCholeskyTransform: expected n * (n - 1) / 2 numbers, got {shape[-1]}")
        return _n.Size((*shape[:-1], n, n))

    def inverse_shape(self, shape):
        _check_dims("CorrCholeskyTransform", shape, 2)
        n = shape[-1]
        if shape[-2] != n:
            raise _n.errors.ShapeError(f"CorrCholeskyTransform: expected square matrices, got shape {list(shape)}")
        return _n.Size((*shape[:-2], n * (n - 1) // 2))


class ReshapeTransform(Transform):
    """Reshapes the last dimensions of shape in_shape to out_shape; both have as many elements, or ValueError is raised.

    >>> from neura.distributions import ReshapeTransform
    >>> ReshapeTransform((4,), (2, 2))(neura.zeros(3, 4)).shape
    neura.Size([3, 2, 2])
    """

    bijective = True

    def __init__(self, in_shape, out_shape, cache_size=0):
        self.in_shape = _n.Size(in_shape)
        self.out_shape = _n.Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise _n.errors.ValueError(
                "ReshapeTransform: expected shapes of as many elements, got "
                f"{list(self.in_shape)} and {list(self.out_shape)}"
            )
        super().__init__(cache_size)

    domain = constraints.dependent_property(lambda self: constraints.independent(constraints.real, len(self.in_shape)))
    codomain = constraints.dependent_property(
        lambda self: constraints.independent(constraints.real, len(self.out_shape))
    )

    def __eq__(self, other):
        alike = isinstance(other, ReshapeTransform)
        return alike and (self.in_shape, self.out_shape) == (other.in_shape, other.out_shape)

    __hash__ = object.__hash__

    def _replace(self, shape, old, new):
        _check_dims("ReshapeTransform", shape, len(old))
        kept = len(shape) - len(old)
        if tuple(shape[kept:]) != tuple(old):
            raise _n.errors.ShapeError(
                f"ReshapeTransform: expected a shape that ends in {list(old)}, got {list(shape)}"
            )
        return _n.Size((*shape[:kept], *new))

    def _call(self, x):
        return x.reshape(self.forward_shape(x.shape))

    def _inverse(self, y):
        return y.reshape(self.inverse_shape(y.shape))

    def log_abs_det_jacobian(self, x, y):
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape):
        return self._replace(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape):
        return self._replace(shape, self.out_shape, self.in_shape)


class _Parts(Transform):
    """Transforms of the parts of a tensor along one dimension."""

    def __init__(self, tseq, dim, cache_size):
        tseq = list(tseq)
        if not all(isinstance(t, Transform) for t in tseq):
            raise _n.errors.ValueError(f"{type(self).__name__}: expected transforms, got another object")
        super().__init__(cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq]
        self.dim = dim

    bijective = property(lambda self: all(t.bijective for t in self.transforms))

    def _call(self, x):
        return self._join([t(part) for t, part in zip(self.transforms, self._part(x))])

    def _inverse(self, y):
        return self._join([t.inv(part) for t, part in zip(self.transforms, self._part(y))])


class CatTransform(_Parts):
    """Transforms side by side along `dim`, each for as many elements as `lengths` says, else one.

    >>> from neura.distributions import CatTransform, ExpTransform, identity_transform
    >>> CatTransform([ExpTransform(), identity_transform], dim=0, lengths=[1, 2])(neura.zeros(3))
    tensor([1., 0., 0.])
    """

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise _n.errors.ValueError(
                f"CatTransform: expected a length for each transform, got {len(self.lengths)} for "
                f"{len(self.transforms)}"
            )

    event_dim = property(lambda self: max(t.event_dim for t in self.transforms))
    length = property(lambda self: sum(self.lengths))

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _part(self, value):
        if not -value.dim() <= self.dim < value.dim() or value.shape[self.dim] != self.length:
            raise _n.errors.ShapeError(
                f"CatTransform: expected size {self.length} in dimension {self.dim}, got shape {list(value.shape)}"
            )
        return value.split(self.lengths, self.dim)

    def _join(self, parts):
        return _n.cat(parts, self.dim)

    def log_abs_det_jacobian(self, x, y):
        terms = []
        for t, before, after in zip(self.transforms, self._part(x), self._part(y)):
            terms.append(sum_rightmost(t.log_abs_det_jacobian(before, after), self.event_dim - t.event_dim))
        dim = self.dim if self.dim < 0 else self.dim - x.dim()
        dim += self.event_dim
        if dim < 0:
            return _n.cat(terms, dim)
        return sum(terms[1:], terms[0])

    def _constraint(self, side):
        return constraints.cat([getattr(t, side) for t in self.transforms], self.dim, self.lengths)

    domain = constraints.dependent_property(lambda self: self._constraint("domain"))
    codomain = constraints.dependent_property(lambda self: self._constraint("codomain"))


class StackTransform(_Parts):
    """Transforms side by side along `dim`, one for each index.

    >>> from neura.distributions import ExpTransform, StackTransform, identity_transform
    >>> StackTransform([ExpTransform(), identity_transform], dim=1)(neura.zeros(1, 2))
    tensor([[1., 0.]])
    """

    def __init__(self, tseq, dim=0, cache_size=0):
        super().__init__(tseq, dim, cache_size)

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _part(self, value):
        if not -value.dim() <= self.dim < value.dim() or value.shape[self.dim] != len(self.transforms):
            raise _n.errors.ShapeError(
                f"StackTransform: expected size {len(self.transforms)} in dimension {self.dim}, got shape "
                f"{list(value.shape)}"
            )
        return value.unbind(self.dim)

    def _join(self, parts):
        return _n.stack(parts, self.dim)

    def log_abs_det_jacobian(self, x, y):
        parts = zip(self.transforms, self._part(x), self._part(y))
        return _n.stack([t.log_abs_det_jacobian(before, after) for t, before, after in parts], self.dim)

    def _constraint(self, side):
        return constraints.stack([getattr(t, side) for t in self.transforms], self.dim)

    domain = constraints.dependent_property(lambda self: self._constraint("domain"))
    codomain = constraints.dependent_property(lambda self: self._constraint("codomain"))
