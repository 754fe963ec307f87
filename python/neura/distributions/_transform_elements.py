"""Transforms of each number by itself."""

import math

from .. import _neura as _n
from .._limits import finfo
from . import constraints
from ._transform import Transform, sum_rightmost
from .utils import softplus


def _same(a, b):
    """Are two parameters, numbers or tensors, equal?"""
    return bool((_n.as_tensor(a) == _n.as_tensor(b)).all())


def _broadcast(shape, parameter):
    return _n.Size(_n.broadcast_shapes(shape, getattr(parameter, "shape", ())))


class _Alike:
    """Mixin of transforms without parameters: all of one class are equal."""

    def __eq__(self, other):
        return type(self) is type(other)

    __hash__ = object.__hash__


class ExpTransform(_Alike, Transform):
    """y = exp(x)."""

    domain, codomain = constraints.real, constraints.positive
    bijective, sign = True, 1

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class PowerTransform(Transform):
    """y = x**exponent for x > 0; exponent: a tensor or number, not 0."""

    domain = codomain = constraints.positive
    bijective = True

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size)
        self.exponent = exponent

    @property
    def sign(self):
        return _n.as_tensor(self.exponent).sign()

    def __eq__(self, other):
        return isinstance(other, PowerTransform) and _same(self.exponent, other.exponent)

    __hash__ = object.__hash__

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        return _broadcast(shape, self.exponent)

    inverse_shape = forward_shape


class SigmoidTransform(_Alike, Transform):
    """y = 1 / (1 + exp(-x)), and its inverse, the logit."""

    domain, codomain = constraints.real, constraints.unit_interval
    bijective, sign = True, 1

    def _call(self, x):
        info = finfo(x.dtype)
        return x.sigmoid().clamp(min=info.tiny, max=1 - info.eps)

    def _inverse(self, y):
        info = finfo(y.dtype)
        y = y.clamp(min=info.tiny, max=1 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Alike, Transform):
    """y = log(1 + exp(x))."""

    domain, codomain = constraints.real, constraints.positive
    bijective, sign = True, 1

    def _call(self, x):
        return softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x)


class TanhTransform(_Alike, Transform):
    """y = tanh(x); more precise than a composition of AffineTransform and SigmoidTransform."""

    domain, codomain = constraints.real, constraints.interval(-1.0, 1.0)
    bijective, sign = True, 1

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def log_abs_det_jacobian(self, x, y):
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(_Alike, Transform):
    """y = |x|; its inverse gives the positive one."""

    domain, codomain = constraints.real, constraints.positive

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class AffineTransform(Transform):
    """y = loc + scale * x; loc and scale: tensors or numbers. event_dim: 0, or 1 for vectors, or 2 for matrices.

    >>> from neura.distributions import AffineTransform
    >>> AffineTransform(1.0, neura.tensor([2.0, 3.0]))(neura.ones(2))
    tensor([3., 4.])
    """

    bijective = True

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    event_dim = property(lambda self: self._event_dim)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        """Where values come from."""
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    codomain = domain

    @property
    def sign(self):
        if isinstance(self.scale, _n.Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def __eq__(self, other):
        return isinstance(other, AffineTransform) and _same(self.loc, other.loc) and _same(self.scale, other.scale)

    __hash__ = object.__hash__

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        scale = _n.as_tensor(self.scale, dtype=x.dtype, device=x.device)
        each = scale.abs().log().expand(tuple(_n.broadcast_shapes(x.shape, scale.shape)))
        return sum_rightmost(each, self._event_dim)

    def forward_shape(self, shape):
        return _broadcast(_broadcast(shape, self.loc), self.scale)

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """The cdf of a distribution over numbers; its inverse is icdf. Two of them couple variables by a copula.

    >>> from neura.distributions import CumulativeDistributionTransform, Uniform
    >>> CumulativeDistributionTransform(Uniform(0.0, 4.0))(neura.tensor(1.0))
    tensor(0.2500)
    """

    bijective, sign = True, 1
    codomain = constraints.unit_interval

    def __init__(self, distribution, cache_size=0):
        super().__init__(cache_size)
        self.distribution = distribution

    domain = property(lambda self: self.distribution.support)

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)
