"""Divergences between distributions of one family."""

import math

from .. import _neura as _n
from .. import linalg as _linalg
from ..autograd import grad as _grad
from ..autograd.grad_mode import enable_grad
from ._bernoulli import Bernoulli, ContinuousBernoulli
from ._beta import Beta, Dirichlet
from ._categorical import Categorical, OneHotCategorical
from ._composed import Independent, TransformedDistribution
from ._counts import Binomial, Geometric, Poisson
from ._gamma import Exponential, Gamma
from ._location_scale import Cauchy, Gumbel, Laplace, Uniform
from ._multivariate_normal import LowRankMultivariateNormal, MultivariateNormal, half_log_det, squared_distance
from ._normal import HalfNormal, Normal
from ._tails import Pareto
from ._transform import sum_rightmost
from .distribution import ExponentialFamily
from .kl import kl_divergence, register_kl
from .utils import euler_constant, softplus


def _refuse(why):
    raise _n.errors.NotImplementedError(f"kl_divergence: {why}")


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p, q):
    of_1 = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    of_1 = _n.where(p.probs == 0, 0.0, _n.where(q.probs == 0, math.inf, of_1))
    of_0 = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return of_1 + _n.where(p.probs == 1, 0.0, _n.where(q.probs == 1, math.inf, of_0))


@register_kl(Binomial, Binomial)
def _binomial(p, q):
    if (p.total_count < q.total_count).any():
        _refuse("has no formula for a Binomial of fewer trials than the other's")
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return _n.where(p.total_count > q.total_count, math.inf, p.total_count * each)


@register_kl(Categorical, Categorical)
def _categorical(p, q):
    if p.probs.shape[-1] != q.probs.shape[-1]:
        raise _n.errors.ShapeError(
            f"kl_divergence: expected as many outcomes in both, got {p.probs.shape[-1]} and {q.probs.shape[-1]}"
        )
    terms = p.probs * (p.logits - q.logits)
    return _n.where(p.probs == 0, 0.0, _n.where(q.probs == 0, math.inf, terms)).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p, q):
    return _categorical(p._categorical, q._categorical)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p, q):
    norms = p._log_norm() + (-p.probs).log1p() - q._log_norm() - (-q.probs).log1p()
    return p.mean * (p.logits - q.logits) + norms


@register_kl(Beta, Beta)
@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p, q):
    """Their log normalisers' Bregman divergence, with the mean of log x."""
    mine, other = p._natural_params, q._natural_params
    means = _mean_logs(p)
    slopes = sum((a - b) * m for a, b, m in zip(mine, other, means))
    if isinstance(p, Dirichlet):
        slopes = slopes.sum(-1)
    return q._log_normalizer(*other) - p._log_normalizer(*mine) + slopes


def _mean_logs(p):
    """E[log x], and for Beta E[log(1 - x)], too."""
    params = p._natural_params
    total = params[0].sum(-1, True) if isinstance(p, Dirichlet) else params[0] + params[1]
    return [a.digamma() - total.digamma() for a in params]


@register_kl(Exponential, Exponential)
def _exponential(p, q):
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p, q):
    if type(p) is not type(q):
        _refuse(f"has no formula for the families {type(p).__name__} and {type(q).__name__} together")
    given = p._natural_params
    with enable_grad():
        mine = [v if v.requires_grad else v.detach().requires_grad_() for v in given]
        normalizer = p._log_normalizer(*mine)
        slopes = _grad(normalizer.sum(), mine, create_graph=True)
        result = q._log_normalizer(*q._natural_params) - normalizer
        for a, b, slope in zip(mine, q._natural_params, slopes):
            result = result - sum_rightmost((b - a) * slope, a.dim() - len(p.batch_shape))
    needed = any(v.requires_grad for v in (*given, *q._natural_params))
    return result if needed else result.detach()


@register_kl(Gamma, Gamma)
def _gamma(p, q):
    a, b = p.concentration, q.concentration
    shapes = b.lgamma() - a.lgamma() + (a - b) * a.digamma()
    return b * (p.rate / q.rate).log() + shapes + (q.rate - p.rate) * (a / p.rate)


@register_kl(Gumbel, Gumbel)
def _gumbel(p, q):
    ratio, off = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return off - ratio.log() + ratio * euler_constant + ((1 + ratio).lgamma() - off).exp() - (1 + euler_constant)


@register_kl(Geometric, Geometric)
def _geometric(p, q):
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Normal, Normal)
def _normal(p, q):
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p, q):
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p, q):
    ratio, off = p.scale / q.scale, (p.loc - q.loc).abs()
    return off / q.scale - ratio.log() + ratio * (-off / p.scale).exp() - 1


@register_kl(Cauchy, Cauchy)
def _cauchy(p, q):
    return ((p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2).log() - (4 * p.scale * q.scale).log()


@register_kl(Pareto, Pareto)
def _pareto(p, q):
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return _n.where(p.scale < q.scale, math.inf, result)


@register_kl(Poisson, Poisson)
def _poisson(p, q):
    return _n.xlogy(p.rate, p.rate) - _n.xlogy(p.rate, q.rate) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _uniform(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return _n.where((q.low > p.low) | (q.high < p.high), math.inf, result)


@register_kl(Independent, Independent)
def _independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        _refuse("has no formula for Independent of different reinterpreted_batch_ndims")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        _refuse("has no formula for TransformedDistributions of different transforms or event shapes")
    extra = len(p.event_shape) - len(p.base_dist.event_shape)
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), extra)


def _factors(p):
    """Matrices F whose F F^T add up to the covariance."""
    if isinstance(p, MultivariateNormal):
        return [p._unbroadcasted_scale_tril]
    return [p._factor, p._diag.sqrt().diag_embed()]


def _norm2(matrix):
    return (matrix**2).sum((-2, -1))


def _against(q, factors, off):
    """trace(S^-1 sum F F^T), the distance off^T S^-1 off, and log det S, S the covariance of q."""
    if isinstance(q, MultivariateNormal):
        factor = q._unbroadcasted_scale_tril
        trace = sum(_norm2(_linalg.solve_triangular(factor, f, upper=False)) for f in factors)
        return trace, squared_distance(factor, off), 2 * half_log_det(factor)
    scaled = q._factor.mT / q._diag.unsqueeze(-2)
    inner = _linalg.solve_triangular(q._capacitance_tril, scaled, upper=False)
    trace = sum(_norm2(f / q._diag.sqrt().unsqueeze(-1)) - _norm2(inner @ f) for f in factors)
    return trace, q._squared_distance(off), q._log_det()


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _multivariate_normal(p, q):
    if p.event_shape != q.event_shape:
        raise _n.errors.ShapeError(
            f"kl_divergence: expected vectors of one length, got {p.event_shape[0]} and {q.event_shape[0]}"
        )
    low = isinstance(p, LowRankMultivariateNormal)
    mine = p._log_det() if low else 2 * half_log_det(p._unbroadcasted_scale_tril)
    trace, distance, other = _against(q, _factors(p), q.loc - p.loc)
    return 0.5 * (other - mine + trace + distance - p.event_shape[0])
