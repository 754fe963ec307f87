"""Gamma, Chi2, InverseGamma, Exponential, FisherSnedecor."""

import math

from .. import _neura as _n
from .._limits import finfo
from . import constraints
from ._composed import TransformedDistribution
from ._sampling import gamma_cdf, log_gamma, open_uniform
from ._transform_elements import PowerTransform
from .distribution import Distribution, ExponentialFamily
from .utils import broadcast_all


class Gamma(ExponentialFamily):
    """The gamma distribution of shape `concentration` and `rate`: density rate^a x^(a - 1) exp(-rate x) / Gamma(a).

    Samples have the implicit gradient of Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients", 2018.

    >>> from neura.distributions import Gamma
    >>> Gamma(3.0, 2.0).mean
    tensor(1.5000)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0.0

    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate**2)

    def _log_sample(self, sample_shape):
        """log of a sample, which does not underflow."""
        return log_gamma(self.concentration.expand(self._extended_shape(sample_shape))) - self.rate.log()

    def rsample(self, sample_shape=()):
        return self._log_sample(sample_shape).exp().clamp(min=finfo(self.rate.dtype).tiny)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        a, rate = self.concentration, self.rate
        return _n.xlogy(a, rate) + _n.xlogy(a - 1, value) - rate * value - a.lgamma()

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return gamma_cdf(*_n.broadcast_tensors(self.concentration, self.rate * value))

    def entropy(self):
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1 - a) * a.digamma()

    @property
    def _natural_params(self):
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x, y):
        return (x + 1).lgamma() - (x + 1) * (-y).log()


class Chi2(Gamma):
    """The chi-squared distribution of `df` degrees of freedom: Gamma(df / 2, 1 / 2).

    >>> from neura.distributions import Chi2
    >>> Chi2(3.0).variance
    tensor(6.)
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df, validate_args=None):
        super().__init__(0.5 * df, 0.5, validate_args)

    df = property(lambda self: 2 * self.concentration)


class InverseGamma(TransformedDistribution):
    """The distribution of 1 / x, x gamma of shape `concentration` and `rate`.

    >>> from neura.distributions import InverseGamma
    >>> InverseGamma(3.0, 2.0).mean
    tensor(1.)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration, rate, validate_args=None):
        base = Gamma(concentration, rate, validate_args)
        super().__init__(base, PowerTransform(-1.0), validate_args)

    concentration = property(lambda self: self.base_dist.concentration)
    rate = property(lambda self: self.base_dist.rate)

    @property
    def mean(self):
        return _n.where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    @property
    def mode(self):
        return self.rate / (self.concentration + 1)

    @property
    def variance(self):
        a = self.concentration
        return _n.where(a > 2, self.rate**2 / ((a - 1) ** 2 * (a - 2)), math.inf)

    def entropy(self):
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class Exponential(ExponentialFamily):
    """The exponential distribution: density rate * exp(-rate * x) for x >= 0.

    >>> from neura.distributions import Exponential
    >>> Exponential(2.0).mean
    tensor(0.5000)
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0.0

    def __init__(self, rate, validate_args=None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    mean = property(lambda self: self.rate.reciprocal())
    mode = property(lambda self: _n.zeros_like(self.rate))
    stddev = property(lambda self: self.rate.reciprocal())
    variance = property(lambda self: self.rate.pow(-2))

    def rsample(self, sample_shape=()):
        return -open_uniform(self.rate, self._extended_shape(sample_shape)).log() / self.rate

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return -(-self.rate * value).expm1()

    def icdf(self, value):
        return -(-value).log1p() / self.rate

    def entropy(self):
        return 1 - self.rate.log()

    @property
    def _natural_params(self):
        return (-self.rate,)

    def _log_normalizer(self, x):
        return -(-x).log()


class FisherSnedecor(Distribution):
    """The F distribution: the ratio of two chi-squared numbers, each over its degrees of freedom, df1 and df2.

    >>> from neura.distributions import FisherSnedecor
    >>> FisherSnedecor(2.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1, df2, validate_args=None):
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._above = Gamma(self.df1 / 2, self.df1 / 2, validate_args=False)
        self._below = Gamma(self.df2 / 2, self.df2 / 2, validate_args=False)
        super().__init__(self.df1.shape, validate_args=validate_args)

    @property
    def mean(self):
        return _n.where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan)

    @property
    def mode(self):
        value = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return _n.where(self.df1 > 2, value, math.nan)

    @property
    def variance(self):
        a, b = self.df1, self.df2
        value = 2 * b**2 * (a + b - 2) / (a * (b - 2) ** 2 * (b - 4))
        return _n.where(b > 4, value, math.nan)

    def rsample(self, sample_shape=()):
        ratio = (self._above._log_sample(sample_shape) - self._below._log_sample(sample_shape)).exp()
        return ratio.clamp(min=finfo(ratio.dtype).tiny)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        a, b, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        log_beta = a.lgamma() + b.lgamma() - (a + b).lgamma()
        return a * ratio.log() + (a - 1) * value.log() - (a + b) * (ratio * value).log1p() - log_beta
