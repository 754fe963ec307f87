"""Samplers: gamma numbers with their derivatives, binomial numbers, uniform and normal numbers like a parameter."""

import functools
import math

from .. import _neura as _n
from .._limits import finfo
from ..autograd.function import Function, once_differentiable

_CHUNK = 4096  # values integrated at a time


def uniform(like, shape, generator=None):
    """Uniform numbers in [0, 1) in dtype and on the device of `like`."""
    return _n.rand(tuple(shape), dtype=like.dtype, device=like.device, generator=generator)


def open_uniform(like, shape, generator=None):
    """Uniform numbers in (0, 1)."""
    info = finfo(like.dtype)
    return uniform(like, shape, generator).clamp(min=info.tiny, max=1 - info.eps / 2)


def normal(like, shape):
    """Standard normal numbers in dtype and on the device of `like`."""
    return _n.randn(tuple(shape), dtype=like.dtype, device=like.device)


def rejection(propose, result):
    """Fills `result`, a vector: propose(at, shape) gives values of that shape for the elements at `at`, a slice or
    indices, and which of them are accepted."""
    at, shape = slice(None), result.shape
    while True:
        value, accepted = propose(at, shape)
        result[at] = value
        missing = (~accepted).nonzero().squeeze(-1)
        if not missing.numel():
            return result
        at, shape = missing if isinstance(at, slice) else at[missing], missing.shape


def _draw_log_gamma(a, kind=_n.float64):
    """log of gamma numbers of concentration a, a vector in float64, made of normal numbers of dtype `kind`.

    Marsaglia and Tsang, "A simple method for generating gamma variables", 2000; below 1 from a + 1, in logarithms, as
    the numbers themselves underflow.
    """
    right, few = (a > 0) & (a < math.inf), a < 1
    some_few = few.any().item()
    shifted = _n.where(right, a + few if some_few else a, 1.0)
    d = shifted - 1 / 3
    c = (9 * d).rsqrt()

    def propose(at, shape):
        x = _n.randn(tuple(shape), dtype=kind, device=a.device).double()
        v = ((1 + c[at] * x) ** 3).clamp(min=0)
        logs = v.log()
        accepted = open_uniform(a, shape).log() < x * x / 2 + d[at] * (1 - v + logs)  # -inf where v is 0
        return logs, accepted

    result = rejection(propose, _n.empty_like(a)) + d.log()
    if some_few:
        result = _n.where(few, result + open_uniform(a, a.shape).log() / a, result)
    return _n.where(right, result, math.nan)


def _series(a, log_z):
    """d log z / d a for z <= 1: minus the derivative of the power series of P(a, z) over its density."""
    n = _n.arange(1, 19, dtype=a.dtype, device=a.device)
    steps = a.unsqueeze(-1) + n
    terms = (log_z.exp().unsqueeze(-1) / steps).cumprod(-1)
    first = log_z - _n.digamma(a + 1)
    later = first.unsqueeze(-1) - (1 / steps).cumsum(-1)
    return -(first + (terms * later).sum(-1)) / a


def _gauss_legendre(count):
    """Nodes and weights of the integral over [0, 1], by Newton's method for the roots of Legendre's polynomial."""
    nodes, weights = [], []
    for i in range(count):
        x = math.cos(math.pi * (i + 0.75) / (count + 0.5))
        for _ in range(8):
            before, now = 1.0, x
            for k in range(2, count + 1):
                before, now = now, ((2 * k - 1) * x * now - (k - 1) * before) / k
            slope = count * (x * now - before) / (x * x - 1)
            x -= now / slope
        nodes.append((x + 1) / 2)
        weights.append(1 / ((1 - x * x) * slope * slope))
    return nodes, weights


@functools.cache
def _rule(count, device):
    """Nodes as a row, and as columns the weights of the integrals of f(s) and of s f(s)."""
    nodes, weights = (_n.tensor(r, dtype=_n.float64, device=device) for r in _gauss_legendre(count))
    return nodes, _n.stack([weights, nodes * weights], -1)


def _integral(a, log_z, fine):
    """d log z / d a for z > 1, by an integral over the tail that z is in, of a positive function.

    With p the density of z and t = z exp(+-s), dz/da = -1/p(z) * integral of (log t - digamma(a)) p(t) over all t < z,
    or minus that over all t > z; in the tail on z's side of exp(digamma(a)) the integrand does not change its sign.
    """
    nodes, weights = _rule(24 if fine else 14, a.device)
    far = 34.0 if fine else 20.0  # where the density is below exp(-far) of its greatest it is left out
    z, delta = log_z.exp(), log_z - _n.digamma(a)
    right = (0.5 + (0.25 + 2 * far * z).sqrt()) / z
    left = _n.minimum(far / (a - z).clamp(min=1e-300), (far / 3 + (far * far / 9 + 2 * far * z).sqrt()) / z)
    end = _n.where(delta < 0, -left, right)
    for _ in range(4):  # Newton from outside, towards where the density has fallen to exp(-far)
        grown = end.expm1()
        end = end - (z * grown - a * end - far) / (z * grown + (z - a))
    s = end.unsqueeze(-1) * nodes
    density = (a.unsqueeze(-1) * s).addcmul_(z.unsqueeze(-1), s.expm1(), value=-1).exp_()
    below, above = (density @ weights).unbind(-1)
    return end * (delta * below + end * above)


def log_gamma_slope(a, log_z, fine=True):
    """d log z / d a of gamma numbers z at fixed probability, in float64, of tensors of one shape.

    fine: to about 1e-10 relative, else 1e-7. The implicit derivative of Figurnov, Mohamed and Mnih, "Implicit
    reparameterization gradients", 2018.
    """
    shape = a.shape
    parts = []
    for some, logs in zip(a.reshape(-1).split(_CHUNK), log_z.reshape(-1).split(_CHUNK)):
        low = logs <= 0.0
        small, large = low.nonzero().squeeze(-1), (~low).nonzero().squeeze(-1)
        slope = _n.empty_like(some)
        if small.numel():
            slope[small] = _series(some[small], logs[small])
        if large.numel():
            slope[large] = _integral(some[large], logs[large], fine)
        parts.append(slope)
    return _n.cat(parts).reshape(shape) if parts else _n.empty_like(a)


class _LogGamma(Function):
    @staticmethod
    def forward(ctx, concentration):
        a = concentration.double()
        kind = a.dtype if concentration.dtype is a.dtype else _n.float32  # of the normal numbers
        drawn = _draw_log_gamma(a.reshape(-1), kind).reshape(a.shape)
        ctx.save_for_backward(a, drawn)
        return drawn.to(concentration.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        return (grad * log_gamma_slope(*ctx.saved_tensors, grad.dtype is _n.float64)).to(grad.dtype)


def log_gamma(concentration):
    """Logarithms of gamma numbers of rate 1, of the shape of concentration, with gradients."""
    return _LogGamma.apply(concentration)


class _GammaCdf(Function):
    @staticmethod
    def forward(ctx, a, z):
        ctx.save_for_backward(a, z)
        return _n.gammainc(a, z)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        a, z = (t.double() for t in ctx.saved_tensors)
        of_a, log_norm = None, z + _n.lgamma(a)
        if ctx.needs_input_grad[0]:
            log_z = z.clamp(min=1e-300).log()
            of_a = (-grad * (a * log_z - log_norm).exp() * log_gamma_slope(a, log_z)).to(grad.dtype)
        return of_a, (grad * (_n.xlogy(a - 1, z) - log_norm).exp()).to(grad.dtype)


def gamma_cdf(a, z):
    """The regularised lower incomplete gamma function of tensors of one shape, with the gradients of both."""
    return _GammaCdf.apply(a, z)


def _count_jumps(n, p, generator):
    """Binomial numbers of small mean: how many geometric jumps fit into n trials."""
    count, at = _n.zeros_like(n), _n.zeros_like(n)
    scale = _n.log1p(-p)
    while True:
        at = at + (uniform(n, n.shape, generator).log() / scale).floor() + 1
        within = at <= n
        if not within.any():
            return count
        count = count + within


def _transformed_rejection(n, p, generator):
    """Binomial numbers of mean 10 or more: Hoermann, "The generation of binomial random variates", 1993."""
    spread = (n * p * (1 - p)).sqrt()
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    quick, alpha = 0.92 - 4.2 / b, (2.83 + 5.1 / b) * spread
    odds, mode = (p / (1 - p)).log(), ((n + 1) * p).floor()
    peak = _n.lgamma(mode + 1) + _n.lgamma(n - mode + 1)

    def propose(at, shape):
        u, v = uniform(n, shape, generator) - 0.5, open_uniform(n, shape, generator)
        some = n[at]
        us = (0.5 - u.abs()).clamp(min=1e-300)
        k = ((2 * a[at] / us + b[at]) * u + some * p[at] + 0.5).floor()
        inside = (k >= 0) & (k <= some)
        kept = _n.where(inside, k, 0.0)
        bound = peak[at] - _n.lgamma(kept + 1) - _n.lgamma(some - kept + 1) + (kept - mode[at]) * odds[at]
        exact = (v * alpha[at] / (a[at] / (us * us) + b[at])).log() <= bound
        return kept, inside & (((us >= 0.07) & (v <= quick[at])) | exact)

    return rejection(propose, _n.empty_like(n))


def binomial(count, prob, generator=None):
    """How many of `count` trials succeed, each with probability `prob`: floating tensors that broadcast; prob's dtype.

    NaN where a count or a probability is none. generator: where random numbers come from, else the default one. Raises
    DTypeError for other dtypes, ShapeError where shapes do not broadcast.

    >>> neura.binomial(neura.full((2,), 10.0), neura.tensor([0.0, 1.0]))
    tensor([ 0., 10.])
    """
    if not (count.is_floating_point() and prob.is_floating_point()):
        raise _n.errors.DTypeError(f"binomial: expected floating tensors, got {count.dtype} and {prob.dtype}")
    count, prob = _n.broadcast_tensors(count.detach(), prob.detach())
    n, p = count.double().reshape(-1), prob.double().reshape(-1)
    wrong = ~((n >= 0) & (n < math.inf) & (p >= 0) & (p <= 1))
    n, p = _n.where(wrong, 0.0, n), _n.where(wrong, 0.0, p)
    flipped = p > 0.5
    p = _n.where(flipped, 1 - p, p)
    many = n * p >= 10
    drawn = _n.empty_like(n)
    drawn[~many] = _count_jumps(n[~many], p[~many], generator)
    drawn[many] = _transformed_rejection(n[many], p[many], generator)
    drawn = _n.where(wrong, math.nan, _n.where(flipped, n - drawn, drawn))
    return drawn.reshape(prob.shape).to(prob.dtype)
