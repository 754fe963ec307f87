"""Normal, LogNormal, HalfNormal, LogisticNormal."""

import math

from . import constraints
from ._composed import TransformedDistribution
from ._half import Half
from ._sampling import normal
from ._transform_elements import ExpTransform
from ._transform_vectors import StickBreakingTransform
from .distribution import ExponentialFamily
from .utils import broadcast_all

_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


class Normal(ExponentialFamily):
    """The normal distribution of mean `loc` and standard deviation `scale`, numbers or tensors that broadcast.

    >>> from neura.distributions import Normal
    >>> Normal(0.0, 2.0).cdf(neura.tensor(0.0))
    tensor(0.5000)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0.0

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.scale**2)

    def rsample(self, sample_shape=()):
        return self.loc + self.scale * normal(self.loc, self._extended_shape(sample_shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return -0.5 * ((value - self.loc) / self.scale) ** 2 - self.scale.log() - _HALF_LOG_2PI

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return 0.5 * (1 + ((value - self.loc) / (self.scale * math.sqrt(2))).erf())

    def icdf(self, value):
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self):
        return 0.5 + _HALF_LOG_2PI + self.scale.log()

    @property
    def _natural_params(self):
        return self.loc / self.scale**2, -0.5 / self.scale**2

    def _log_normalizer(self, x, y):
        return -0.25 * x**2 / y + 0.5 * (-math.pi / y).log()


class LogNormal(TransformedDistribution):
    """The distribution of exp(x), x normal of mean `loc` and standard deviation `scale`.

    >>> from neura.distributions import LogNormal
    >>> LogNormal(0.0, 1.0).mean
    tensor(1.6487)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args)
        super().__init__(base, ExpTransform(), validate_args)

    loc = property(lambda self: self.base_dist.loc)
    scale = property(lambda self: self.base_dist.scale)

    @property
    def mean(self):
        return (self.loc + self.scale**2 / 2).exp()

    @property
    def mode(self):
        return (self.loc - self.scale**2).exp()

    @property
    def variance(self):
        square = self.scale**2
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self):
        return self.base_dist.entropy() + self.loc


class HalfNormal(Half):
    """The distribution of |x|, x normal of mean 0 and standard deviation `scale`.

    >>> from neura.distributions import HalfNormal
    >>> HalfNormal(1.0).mean
    tensor(0.7979)
    """

    def __init__(self, scale, validate_args=None):
        super().__init__(Normal(0, scale, validate_args=False), validate_args)

    @property
    def mean(self):
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self):
        return self.scale**2 * (1 - 2 / math.pi)


class LogisticNormal(TransformedDistribution):
    """Probabilities of n + 1 outcomes: StickBreakingTransform of n normal numbers; loc, scale: [..., n].

    >>> from neura.distributions import LogisticNormal
    >>> LogisticNormal(neura.zeros(3), neura.ones(3)).event_shape
    neura.Size([4])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args)
        if not base.batch_shape:
            base = base.expand((1,))
        super().__init__(base, StickBreakingTransform(), validate_args)

    loc = property(lambda self: self.base_dist.base_dist.loc)
    scale = property(lambda self: self.base_dist.base_dist.scale)
