"""Distributions over matrices: Wishart and LKJCholesky."""

import math

from .. import _neura as _n
from .._limits import finfo
from .. import linalg as _linalg
from . import constraints
from ._beta import Beta
from ._gamma import Chi2
from ._multivariate_normal import ByMatrix, half_log_det
from ._sampling import normal
from .distribution import Distribution, ExponentialFamily
from .utils import broadcast_all


def multivariate_digamma(x, p):
    """The derivative of log of the multivariate gamma function of order p."""
    return (x.unsqueeze(-1) - 0.5 * _n.arange(p, dtype=x.dtype, device=x.device)).digamma().sum(-1)


class Wishart(ByMatrix, ExponentialFamily):
    """Positive definite matrices: sums of x x^T over `df` normal vectors x, for any df > n - 1.

    df: a number or tensor. The covariance of x, [..., n, n], by one of covariance_matrix, precision_matrix and
    scale_tril, as of MultivariateNormal. Samples by Bartlett's decomposition. Raises ValueError unless exactly one is
    given, and where df is too small.

    >>> from neura.distributions import Wishart
    >>> Wishart(neura.tensor(3.0), covariance_matrix=neura.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    arg_constraints = {
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
        "df": constraints.greater_than(0),
    }
    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0.0

    def __init__(self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        like = next((m for m in (covariance_matrix, precision_matrix, scale_tril) if m is not None), None)
        if not isinstance(df, _n.Tensor):
            df = _n.tensor(float(df)) if like is None else _n.tensor(df, dtype=like.dtype, device=like.device)
        lead, n = self._take(
            df.shape,
            validate_args,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        self.df = df.expand(lead)
        self.arg_constraints = {**Wishart.arg_constraints, "df": constraints.greater_than(n - 1)}
        super().__init__(lead, (n, n), validate_args)
        self._chi2 = Chi2(self.df.unsqueeze(-1) - _n.arange(n, dtype=df.dtype, device=df.device), validate_args=False)

    def _inner_shape(self, name, shape):
        return _n.Size((*shape, self._event_shape[-1]))

    @property
    def mean(self):
        return self.df.unsqueeze(-1).unsqueeze(-1) * self.covariance_matrix

    @property
    def mode(self):
        factor = self.df - self._event_shape[-1] - 1
        factor = _n.where(factor > 0, factor, math.nan)
        return factor.unsqueeze(-1).unsqueeze(-1) * self.covariance_matrix

    @property
    def variance(self):
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self.df.unsqueeze(-1).unsqueeze(-1) * (v**2 + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def rsample(self, sample_shape=()):
        diagonal = self._chi2.rsample(sample_shape).clamp(min=finfo(self.df.dtype).tiny).sqrt()
        below = normal(self.df, self._extended_shape(sample_shape)).tril(-1)
        factor = self._unbroadcasted_scale_tril @ (below + diagonal.diag_embed())
        return factor @ factor.mT

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        n, factor = self._event_shape[-1], self._unbroadcasted_scale_tril
        root = _linalg.cholesky(value)
        trace = (_linalg.solve_triangular(factor, root, upper=False) ** 2).sum((-2, -1))
        log_det = 2 * half_log_det(root)
        return 0.5 * ((self.df - n - 1) * log_det - trace) - self._log_norm()

    def _log_norm(self):
        n = self._event_shape[-1]
        determinant = self.df * (half_log_det(self._unbroadcasted_scale_tril) + 0.5 * n * math.log(2))
        return determinant + _n.mvlgamma(0.5 * self.df, n)

    def entropy(self):
        n, df = self._event_shape[-1], self.df
        mean_log_det = multivariate_digamma(0.5 * df, n) + n * math.log(2)
        mean_log_det = mean_log_det + 2 * half_log_det(self._unbroadcasted_scale_tril)
        return self._log_norm() - 0.5 * (df - n - 1) * mean_log_det + 0.5 * n * df

    @property
    def _natural_params(self):
        return -0.5 * self.precision_matrix, 0.5 * (self.df - self._event_shape[-1] - 1)

    def _log_normalizer(self, x, y):
        n = self._event_shape[-1]
        half = y + 0.5 * (n + 1)
        return _n.mvlgamma(half, n) - half * _linalg.slogdet(-x)[1]


class LKJCholesky(Distribution):
    """Cholesky factors of random dim x dim correlation matrices of density ~ det^(concentration - 1).

    concentration 1 is uniform over correlation matrices; larger ones favour the identity. Samples by the onion method
    of Lewandowski, Kurowicka and Joe, "Generating random correlation matrices based on vines and extended onion
    method", 2009. Raises ValueError for dim < 2.

    >>> from neura.distributions import LKJCholesky
    >>> LKJCholesky(3, 0.5).sample().shape
    neura.Size([3, 3])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if not isinstance(dim, int) or dim < 2:
            raise _n.errors.ValueError(f"LKJCholesky: expected dim to be an int of 2 or more, got {dim!r}")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        like = self.concentration
        shape = like.shape
        # Row i has the squared norm of its off-diagonal part from Beta(i / 2, concentration + (dim - 1 - i) / 2).
        row = _n.arange(1, dim, dtype=like.dtype, device=like.device)
        rest = like.unsqueeze(-1) + 0.5 * (dim - 1 - row)
        self._beta = Beta(0.5 * row, rest, validate_args=False)
        super().__init__(shape, (dim, dim), validate_args)

    def _inner_shape(self, name, shape):
        return _n.Size((*shape, self.dim - 1))

    def sample(self, sample_shape=()):
        share = self._beta.sample(sample_shape).unsqueeze(-1)
        off = normal(self.concentration.detach(), self._extended_shape(sample_shape)).tril(-1)[..., 1:, :]
        off = off / _linalg.vector_norm(off, dim=-1, keepdim=True)
        first = _n.zeros_like(off[..., :1, :])
        factor = _n.cat([first, share.sqrt() * off], -2)
        left = 1 - (factor**2).sum(-1)
        return factor + left.clamp(min=finfo(left.dtype).tiny).sqrt().diag_embed()

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        n, like = self.dim, self.concentration
        row = _n.arange(2, n + 1, dtype=like.dtype, device=like.device)
        power = 2 * (like.unsqueeze(-1) - 1) + n - row
        score = (power * value.diagonal(dim1=-2, dim2=-1)[..., 1:].log()).sum(-1)
        top = like + 0.5 * (n - 1)
        norm = 0.5 * (n - 1) * math.log(math.pi) + _n.mvlgamma(top - 0.5, n - 1) - (n - 1) * top.lgamma()
        return score - norm
