"""MultivariateNormal and LowRankMultivariateNormal."""

import math

from .. import _neura as _n
from .. import linalg as _linalg
from . import constraints
from ._sampling import normal
from .distribution import Distribution
from .utils import lazy_property

_LOG_2PI = math.log(2 * math.pi)


def solve_lower(factor, vectors):
    """L^-1 v of lower triangles [b..., n, n] and vectors [..., b..., n] that broadcast; no factor is copied."""
    lead, n = tuple(factor.shape[:-2]), factor.shape[-1]
    extra = vectors.dim() - 1 - len(lead)
    shape = tuple(vectors.shape)
    if extra < 0 or any(have == 1 and want != 1 for have, want in zip(lead, shape[extra:-1])):
        return _linalg.solve_triangular(factor, vectors.unsqueeze(-1), upper=False).squeeze(-1)
    if shape[extra:-1] != lead:
        vectors = vectors.expand((*shape[:extra], *lead, n))
    columns = vectors.reshape((_n.Size(shape[:extra]).numel(), *lead, n)).movedim(0, -1)
    solved = _linalg.solve_triangular(factor, columns, upper=False)
    return solved.movedim(-1, 0).reshape((*shape[:extra], *lead, n))


def squared_distance(factor, vectors):
    """v^T (L L^T)^-1 v of the same."""
    return (solve_lower(factor, vectors) ** 2).sum(-1)


def precision_to_tril(precision):
    """The lower Cholesky factor of the inverse of positive definite matrices."""
    flipped = _linalg.cholesky(precision.flip((-2, -1)))
    inverse = flipped.flip((-2, -1)).mT
    eye = _n.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return _linalg.solve_triangular(inverse, eye.expand_as(inverse), upper=False)


def half_log_det(factor):
    """log det L."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _batch_mv(matrices, vectors):
    return (matrices @ vectors.unsqueeze(-1)).squeeze(-1)


_batch_mahalanobis, _precision_to_scale_tril = squared_distance, precision_to_tril  # names that programs take


class ByMatrix:
    """Mixin: one of covariance_matrix, precision_matrix and scale_tril is given, from which the factor L is made."""

    def _take(self, batch_shape, validate_args, **given):
        """Keeps the one matrix that is given, expanded to the batch, checks it and computes its factor."""
        who = type(self).__name__
        named = [(name, value) for name, value in given.items() if value is not None]
        if len(named) != 1:
            raise _n.errors.ValueError(
                f"{who}: expected one of {', '.join(given)}, got {len(named)} of them; give exactly one"
            )
        ((name, matrix),) = named
        if matrix.dim() < 2 or matrix.shape[-1] != matrix.shape[-2]:
            raise _n.errors.ShapeError(f"{who}: expected {name} of shape [..., n, n], got {list(matrix.shape)}")
        lead = _n.broadcast_shapes(matrix.shape[:-2], batch_shape)
        setattr(self, name, matrix.expand((*lead, *matrix.shape[-2:])))
        if Distribution._validate_args if validate_args is None else validate_args:
            self._check_parameter(name, self.arg_constraints[name], matrix)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        else:
            make = _linalg.cholesky if name == "covariance_matrix" else precision_to_tril
            self._unbroadcasted_scale_tril = make(matrix)
        return _n.Size(lead), matrix.shape[-1]

    def _whole(self, matrix):
        shape = self._event_shape if len(self._event_shape) == 2 else self._event_shape * 2
        return matrix.expand((*self._batch_shape, *shape))

    @lazy_property
    def scale_tril(self):
        """L, lower triangular with a positive diagonal: the covariance is L L^T."""
        return self._whole(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        """The covariance, L L^T."""
        return self._whole(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance."""
        return self._whole(_n.cholesky_inverse(self._unbroadcasted_scale_tril))


class MultivariateNormal(ByMatrix, Distribution):
    """Normal vectors of mean `loc`, [..., n], and one of three matrices, [..., n, n]; scale_tril is the cheapest.

    covariance_matrix, or its inverse precision_matrix: positive definite; scale_tril: L with covariance L L^T. Raises
    ValueError unless exactly one is given, ShapeError where shapes do not fit.

    >>> from neura.distributions import MultivariateNormal
    >>> MultivariateNormal(neura.zeros(2), neura.eye(2)).log_prob(neura.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        if loc.dim() < 1:
            raise _n.errors.ShapeError("MultivariateNormal: expected loc of at least 1 dimension, got 0")
        lead, n = self._take(
            loc.shape[:-1],
            validate_args,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        if loc.shape[-1] not in (1, n):
            raise _n.errors.ShapeError(f"MultivariateNormal: expected loc of {n} numbers, got {loc.shape[-1]}")
        self.loc = loc.expand((*lead, n))
        super().__init__(lead, (n,), validate_args)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    @property
    def variance(self):
        return (self._unbroadcasted_scale_tril**2).sum(-1).expand(self._extended_shape())

    def rsample(self, sample_shape=()):
        numbers = normal(self.loc, self._extended_shape(sample_shape))
        return self.loc + (self._unbroadcasted_scale_tril @ numbers.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        distance = squared_distance(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * _LOG_2PI + distance) - half_log_det(self._unbroadcasted_scale_tril)

    def entropy(self):
        each = 0.5 * self._event_shape[0] * (1 + _LOG_2PI) + half_log_det(self._unbroadcasted_scale_tril)
        return each.expand(self._batch_shape)


class LowRankMultivariateNormal(Distribution):
    """Normal vectors of mean `loc`, [..., n], and covariance W W^T + D, W cov_factor, [..., n, m], D diagonal.

    cov_diag: the diagonal of D, [..., n], positive. Costs are those of the m x m matrix I + W^T D^-1 W, by the
    matrix determinant lemma and Woodbury's identity. Raises ShapeError where shapes do not fit.

    >>> from neura.distributions import LowRankMultivariateNormal
    >>> LowRankMultivariateNormal(neura.zeros(2), neura.ones(2, 1), neura.ones(2)).variance
    tensor([2., 2.])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        who = "LowRankMultivariateNormal"
        if loc.dim() < 1 or cov_factor.dim() < 2 or cov_diag.dim() < 1:
            raise _n.errors.ShapeError(
                f"{who}: expected loc [..., n], cov_factor [..., n, m] and cov_diag [..., n], got shapes "
                f"{list(loc.shape)}, {list(cov_factor.shape)} and {list(cov_diag.shape)}"
            )
        n = loc.shape[-1]
        if cov_factor.shape[-2] != n or cov_diag.shape[-1] != n:
            raise _n.errors.ShapeError(
                f"{who}: expected cov_factor of {n} rows and cov_diag of {n} numbers, as loc has, got "
                f"{cov_factor.shape[-2]} and {cov_diag.shape[-1]}"
            )
        lead = _n.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc = loc.expand((*lead, n))
        self.cov_factor = cov_factor.expand((*lead, *cov_factor.shape[-2:]))
        self.cov_diag = cov_diag.expand((*lead, n))
        self._factor, self._diag = cov_factor, cov_diag
        scaled = cov_factor.mT / cov_diag.unsqueeze(-2)
        eye = _n.eye(cov_factor.shape[-1], dtype=loc.dtype, device=loc.device)
        super().__init__(lead, (n,), validate_args)
        self._capacitance_tril = _linalg.cholesky(scaled @ cov_factor + eye)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    @lazy_property
    def variance(self):
        """The diagonal of the covariance."""
        return ((self._factor**2).sum(-1) + self._diag).expand(self._extended_shape())

    def _whole(self, matrix):
        return matrix.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    @lazy_property
    def covariance_matrix(self):
        """W W^T + D."""
        return self._whole(self._factor @ self._factor.mT + self._diag.diag_embed())

    @lazy_property
    def scale_tril(self):
        """The lower Cholesky factor of the covariance."""
        return self._whole(_linalg.cholesky(self._factor @ self._factor.mT + self._diag.diag_embed()))

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance."""
        scaled = self._factor.mT / self._diag.unsqueeze(-2)
        half = _linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self._whole(self._diag.reciprocal().diag_embed() - half.mT @ half)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        low = normal(self.loc, (*shape[:-1], self._factor.shape[-1]))
        whole = normal(self.loc, shape)
        return self.loc + (self._factor @ low.unsqueeze(-1)).squeeze(-1) + self._diag.sqrt() * whole

    def _log_det(self):
        """log det of the covariance."""
        return 2 * half_log_det(self._capacitance_tril) + self._diag.log().sum(-1)

    def _squared_distance(self, off):
        scaled = off / self._diag
        inner = (self._factor.mT @ scaled.unsqueeze(-1)).squeeze(-1)
        return (off * scaled).sum(-1) - squared_distance(self._capacitance_tril, inner)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        distance = self._squared_distance(value - self.loc)
        return -0.5 * (self._event_shape[0] * _LOG_2PI + self._log_det() + distance)

    def entropy(self):
        each = 0.5 * (self._event_shape[0] * (1 + _LOG_2PI) + self._log_det())
        return each.expand(self._batch_shape)
