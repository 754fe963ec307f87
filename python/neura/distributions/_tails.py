"""Pareto, GeneralizedPareto, Weibull."""

import math

from .. import _neura as _n
from .._limits import finfo
from . import constraints
from ._composed import TransformedDistribution
from ._gamma import Exponential
from ._sampling import open_uniform
from ._transform_elements import AffineTransform, ExpTransform, PowerTransform
from .distribution import Distribution
from .utils import broadcast_all, euler_constant


class Pareto(TransformedDistribution):
    """The Pareto distribution of x >= scale: density alpha * scale^alpha / x^(alpha + 1).

    >>> from neura.distributions import Pareto
    >>> Pareto(1.0, 2.0).mean
    tensor(2.)
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale, alpha, validate_args=None):
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(0.0, self.scale)], validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        """The support of the distribution."""
        return constraints.greater_than_eq(self.scale)

    mode = property(lambda self: self.scale)

    @property
    def mean(self):
        return _n.where(self.alpha > 1, self.alpha * self.scale / (self.alpha - 1), math.inf)

    @property
    def variance(self):
        a = self.alpha
        return _n.where(a > 2, self.scale**2 * a / ((a - 1) ** 2 * (a - 2)), math.inf)

    def entropy(self):
        return (self.scale / self.alpha).log() + 1 + self.alpha.reciprocal()


class GeneralizedPareto(Distribution):
    """The generalised Pareto distribution: survival (1 + c z)^(-1 / c), z = (x - loc) / scale, c the concentration.

    With c = 0 it is exponential; with c < 0 it ends at loc - scale / c.

    >>> from neura.distributions import GeneralizedPareto
    >>> GeneralizedPareto(0.0, 1.0, 0.5).mean
    tensor(2.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        """The support of the distribution."""
        if (self.concentration >= 0).all():
            return constraints.greater_than_eq(self.loc)
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, _n.where(self.concentration < 0, end, math.inf))

    def _split(self):
        """Where c is 0, to rounding, so that series in c are taken, and c with 1 in those places."""
        flat = self.concentration.abs() < finfo(self.concentration.dtype).eps
        return flat, _n.where(flat, 1.0, self.concentration)

    def rsample(self, sample_shape=()):
        return self.icdf(open_uniform(self.loc, self._extended_shape(sample_shape)))

    def log_survival_function(self, value):
        """log(1 - cdf(value))."""
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        flat, c = self._split()
        return _n.where(flat, z * (0.5 * self.concentration * z - 1), -(c * z).log1p() / c)

    def log_prob(self, value):
        return (1 + self.concentration) * self.log_survival_function(value) - self.scale.log()

    def log_cdf(self, value):
        """log(cdf(value))."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value):
        return -self.log_survival_function(value).expm1()

    def icdf(self, value):
        flat, c = self._split()
        above = (-value).log1p()
        series = above * (0.5 * self.concentration * above - 1)
        return self.loc + self.scale * _n.where(flat, series, (-c * above).expm1() / c)

    mode = property(lambda self: self.loc)

    @property
    def mean(self):
        value = self.loc + self.scale / (1 - self.concentration)
        return _n.where(self.concentration < 1, value, math.nan)

    @property
    def variance(self):
        c = self.concentration
        return _n.where(c < 0.5, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), math.nan)

    def entropy(self):
        return self.scale.log() + self.concentration + 1


class Weibull(TransformedDistribution):
    """The Weibull distribution: scale * x^(1 / concentration), x exponential of rate 1.

    >>> from neura.distributions import Weibull
    >>> Weibull(2.0, 1.0).mean
    tensor(2.)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(_n.ones_like(self.scale), validate_args)
        steps = [PowerTransform(self.concentration.reciprocal()), AffineTransform(0.0, self.scale)]
        super().__init__(base, steps, validate_args)

    def _moment(self, n):
        """E[(x / scale)^n]."""
        return (1 + n / self.concentration).lgamma().exp()

    mean = property(lambda self: self.scale * self._moment(1))

    @property
    def mode(self):
        share = (1 - self.concentration.reciprocal()).clamp(min=0)
        return self.scale * share ** self.concentration.reciprocal()

    @property
    def variance(self):
        return self.scale**2 * (self._moment(2) - self._moment(1) ** 2)

    def entropy(self):
        shape = self.concentration
        return euler_constant * (1 - shape.reciprocal()) + (self.scale / shape).log() + 1
