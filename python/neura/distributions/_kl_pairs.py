"""Divergences between distributions of different families: minus the entropy of p minus the mean of log q."""

import math

from .. import _neura as _n
from ._bernoulli import Bernoulli, ContinuousBernoulli
from ._beta import Beta
from ._counts import Binomial, Poisson
from ._gamma import Exponential, Gamma
from ._location_scale import Gumbel, Laplace, Uniform
from ._normal import Normal
from ._tails import Pareto
from .kl import register_kl
from .utils import euler_constant


def _infinite(p, q):
    """Where p has values that q never has."""
    like = next(v for v in vars(p).values() if isinstance(v, _n.Tensor))
    shape = _n.broadcast_shapes(p.batch_shape, q.batch_shape)
    return _n.full(tuple(shape), math.inf, dtype=like.dtype, device=like.device)


for _p, _others in (
    (Beta, [Pareto]),
    (ContinuousBernoulli, [Pareto]),
    (Exponential, [Beta, ContinuousBernoulli, Pareto, Uniform]),
    (Gamma, [Beta, ContinuousBernoulli, Pareto, Uniform]),
    (Gumbel, [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform]),
    (Laplace, [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform]),
    (Normal, [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform]),
    (Pareto, [Beta, ContinuousBernoulli, Uniform]),
    (Poisson, [Bernoulli, Binomial]),
):
    for _q in _others:
        register_kl(_p, _q)(_infinite)
del _p, _q, _others


def _for_each(*kinds):
    """Registers a function of (p, q) for p of these kinds and the last one as q."""

    def add(fun):
        for kind in kinds[:-1]:
            register_kl(kind, kinds[-1])(fun)
        return fun

    return add


def _x_log_x(x):
    return _n.xlogy(x, x)


def _mean_log(p):
    """E[log x]."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -euler_constant - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return (_x_log_x(p.high) - _x_log_x(p.low)) / (p.high - p.low) - 1


def _mean_exp(p, t):
    """E[exp(-t x)], t > 0."""
    if isinstance(p, Normal):
        return (0.5 * (t * p.scale) ** 2 - t * p.loc).exp()
    if isinstance(p, Exponential):
        return p.rate / (p.rate + t)
    if isinstance(p, Gamma):
        return (1 + t / p.rate) ** -p.concentration
    return ((-t * p.low).exp() - (-t * p.high).exp()) / (t * (p.high - p.low))


def _if_within(p, low, high, result):
    """The result; for a Uniform p that leaves [low, high] infinity."""
    if not isinstance(p, Uniform):
        return result
    return _n.where((p.low < low) | (p.high > high), math.inf, result)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p, q):
    return q.rate - p.entropy() - _n.xlogy(p.probs, q.rate)


@_for_each(Beta, Uniform, ContinuousBernoulli)
def _to_continuous_bernoulli(p, q):
    result = -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._log_norm()
    return _if_within(p, 0, 1, result)


@_for_each(Beta, ContinuousBernoulli, Gamma, Pareto, Uniform, Exponential)
def _to_exponential(p, q):
    return _if_within(p, 0, math.inf, q.rate * p.mean - p.entropy() - q.rate.log())


@_for_each(Beta, Exponential, Pareto, Uniform, Gamma)
def _to_gamma(p, q):
    norm = q.concentration.lgamma() - q.concentration * q.rate.log()
    result = norm - p.entropy() - (q.concentration - 1) * _mean_log(p) + q.rate * p.mean
    return _if_within(p, 0, math.inf, result)


@_for_each(Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform, Normal)
def _to_normal(p, q):
    spread = (p.variance + (p.mean - q.loc) ** 2) / q.scale**2
    return 0.5 * (spread + math.log(2 * math.pi)) + q.scale.log() - p.entropy()


@_for_each(Exponential, Gamma, Normal, Uniform, Gumbel)
def _to_gumbel(p, q):
    tail = (q.loc / q.scale).exp() * _mean_exp(p, q.scale.reciprocal())
    return q.scale.log() - p.entropy() + (p.mean - q.loc) / q.scale + tail


@_for_each(Beta, ContinuousBernoulli, Uniform)
def _to_uniform(p, q):
    result = (q.high - q.low).log() - p.entropy()
    return _n.where((q.low > 0) | (q.high < 1), math.inf, result)


@register_kl(Normal, Laplace)
def _normal_laplace(p, q):
    off = (p.loc - q.loc) / p.scale
    absolute = math.sqrt(2 / math.pi) * (-0.5 * off**2).exp() + off * (off / math.sqrt(2)).erf()
    return (2 * q.scale).log() - p.entropy() + p.scale * absolute / q.scale


@register_kl(Uniform, Beta)
def _uniform_beta(p, q):
    mirrored = Uniform(1 - p.high, 1 - p.low, validate_args=False)
    logs = (q.concentration1 - 1) * _mean_log(p) + (q.concentration0 - 1) * _mean_log(mirrored)
    norm = q._log_normalizer(q.concentration1, q.concentration0)
    return _if_within(p, 0, 1, norm - p.entropy() - logs)


@register_kl(Uniform, Pareto)
def _uniform_pareto(p, q):
    result = (q.alpha + 1) * _mean_log(p) - p.entropy() - q.alpha.log() - q.alpha * q.scale.log()
    return _if_within(p, q.scale, math.inf, result)
