"""Laplace, Cauchy, HalfCauchy, Gumbel, StudentT, Uniform."""

import math

from .. import _neura as _n
from .._limits import finfo
from . import constraints
from ._composed import TransformedDistribution
from ._gamma import Chi2
from ._half import Half
from ._sampling import normal, open_uniform, uniform
from ._transform_elements import AffineTransform, ExpTransform
from .distribution import Distribution
from .utils import broadcast_all, euler_constant


class Laplace(Distribution):
    """The Laplace distribution: density exp(-|x - loc| / scale) / (2 scale).

    >>> from neura.distributions import Laplace
    >>> Laplace(0.0, 1.0).log_prob(neura.tensor(0.0))
    tensor(-0.6931)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)
    variance = property(lambda self: 2 * self.scale**2)
    stddev = property(lambda self: math.sqrt(2) * self.scale)

    def rsample(self, sample_shape=()):
        return self._quantile(open_uniform(self.loc, self._extended_shape(sample_shape)) - 0.5)

    def _quantile(self, above):
        """The quantile of 0.5 + above."""
        return self.loc - self.scale * above.sign() * (-2 * above.abs()).log1p()

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        off = value - self.loc
        return 0.5 - 0.5 * off.sign() * (-off.abs() / self.scale).expm1()

    def icdf(self, value):
        return self._quantile(value - 0.5)

    def entropy(self):
        return 1 + (2 * self.scale).log()


class Cauchy(Distribution):
    """The Cauchy distribution of median `loc` and half width at half maximum `scale`; it has no mean.

    >>> from neura.distributions import Cauchy
    >>> Cauchy(0.0, 1.0).cdf(neura.tensor(1.0))
    tensor(0.7500)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    mean = property(lambda self: _n.full_like(self.loc, math.nan))
    mode = property(lambda self: self.loc)
    variance = property(lambda self: _n.full_like(self.loc, math.inf))

    def rsample(self, sample_shape=()):
        return self.icdf(open_uniform(self.loc, self._extended_shape(sample_shape)))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value):
        return self.loc + self.scale * (math.pi * (value - 0.5)).tan()

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()


class HalfCauchy(Half):
    """The distribution of |x|, x Cauchy of median 0 and width `scale`.

    >>> from neura.distributions import HalfCauchy
    >>> HalfCauchy(2.0).cdf(neura.tensor(2.0))
    tensor(0.5000)
    """

    def __init__(self, scale, validate_args=None):
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args)

    mean = property(lambda self: _n.full_like(self.scale, math.inf))
    variance = property(lambda self: self.base_dist.variance)


class Uniform(Distribution):
    """The uniform distribution on [low, high]. Raises ValueError unless low < high everywhere.

    >>> from neura.distributions import Uniform
    >>> Uniform(0.0, 4.0).mean
    tensor(2.)
    """

    has_rsample = True

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)

    @property
    def arg_constraints(self):
        """The constraints of the parameters: each is on its side of the other."""
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        """The support of the distribution."""
        return constraints.interval(self.low, self.high)

    mean = property(lambda self: (self.low + self.high) / 2)
    mode = property(lambda self: _n.full_like(self.low, math.nan))
    variance = property(lambda self: (self.high - self.low) ** 2 / 12)
    stddev = property(lambda self: (self.high - self.low) / math.sqrt(12))

    def rsample(self, sample_shape=()):
        return self.icdf(uniform(self.low, self._extended_shape(sample_shape)))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        inside = (self.low <= value) & (value < self.high)
        return _n.where(inside, -(self.high - self.low).log(), -math.inf)

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value):
        return self.low + (self.high - self.low) * value

    def entropy(self):
        return (self.high - self.low).log()


class Gumbel(TransformedDistribution):
    """The Gumbel distribution of largest values: loc - scale * log(-log u), u uniform.

    >>> from neura.distributions import Gumbel
    >>> Gumbel(1.0, 2.0).mean
    tensor(2.1544)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        info = finfo(self.loc.dtype)
        base = Uniform(_n.full_like(self.loc, info.tiny), _n.full_like(self.loc, 1 - info.eps), validate_args)
        to_exponential = [ExpTransform().inv, AffineTransform(0.0, -_n.ones_like(self.scale))]
        last = [ExpTransform().inv, AffineTransform(self.loc, -self.scale)]
        super().__init__(base, to_exponential + last, validate_args)

    mean = property(lambda self: self.loc + self.scale * euler_constant)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: math.pi / math.sqrt(6) * self.scale)
    variance = property(lambda self: self.stddev**2)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return (-((self.loc - value) / self.scale).exp()).exp()

    def icdf(self, value):
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self):
        return self.scale.log() + (1 + euler_constant)


class StudentT(Distribution):
    """Student's t distribution of `df` degrees of freedom, shifted by `loc` and scaled by `scale`.

    >>> from neura.distributions import StudentT
    >>> StudentT(3.0).variance
    tensor(3.)
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df, validate_args=False)
        super().__init__(self.df.shape, validate_args=validate_args)

    mean = property(lambda self: _n.where(self.df > 1, self.loc, math.nan))
    mode = property(lambda self: self.loc)

    @property
    def variance(self):
        above = _n.where(self.df > 2, self.scale**2 * self.df / (self.df - 2), math.inf)
        return _n.where(self.df > 1, above, math.nan)

    def rsample(self, sample_shape=()):
        x = normal(self.df, self._extended_shape(sample_shape))
        return self.loc + self.scale * x * (self._chi2.rsample(sample_shape) / self.df).rsqrt()

    def _log_beta(self):
        """log of the beta function at 1/2 and df/2."""
        half = 0.5 * self.df
        return 0.5 * math.log(math.pi) + half.lgamma() - (half + 0.5).lgamma()

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        tail = -0.5 * (self.df + 1) * (y**2 / self.df).log1p()
        return tail - self.scale.log() - 0.5 * self.df.log() - self._log_beta()

    def entropy(self):
        half = 0.5 * self.df
        tail = (half + 0.5) * ((half + 0.5).digamma() - half.digamma())
        return self.scale.log() + tail + 0.5 * self.df.log() + self._log_beta()
