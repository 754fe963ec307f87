"""Beta, Dirichlet, Kumaraswamy."""

import math

from .. import _neura as _n
from .._limits import finfo
from . import constraints
from ._composed import TransformedDistribution
from ._location_scale import Uniform
from ._sampling import log_gamma
from ._transform_elements import AffineTransform, PowerTransform
from .distribution import ExponentialFamily
from .utils import broadcast_all, euler_constant


class Beta(ExponentialFamily):
    """The beta distribution on (0, 1): density ~ x^(concentration1 - 1) (1 - x)^(concentration0 - 1).

    >>> from neura.distributions import Beta
    >>> Beta(1.0, 3.0).mean
    tensor(0.2500)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        super().__init__(self.concentration1.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self):
        a, b = self.concentration1, self.concentration0
        peak = (a - 1) / (a + b - 2)
        return _n.where((a < 1) & (b < 1), (a >= b).to(a.dtype), peak.clamp(min=0, max=1))

    @property
    def variance(self):
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total**2 * (total + 1))

    def rsample(self, sample_shape=()):
        shape, info = self._extended_shape(sample_shape), finfo(self.concentration1.dtype)
        odds = log_gamma(self.concentration1.expand(shape)) - log_gamma(self.concentration0.expand(shape))
        return odds.sigmoid().clamp(min=info.tiny, max=1 - info.eps / 2)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        a, b = self.concentration1, self.concentration0
        return _n.xlogy(a - 1, value) + _n.xlogy(b - 1, 1 - value) - self._log_normalizer(a, b)

    def entropy(self):
        a, b = self.concentration1, self.concentration0
        total = a + b
        slopes = (a - 1) * a.digamma() + (b - 1) * b.digamma() - (total - 2) * total.digamma()
        return self._log_normalizer(a, b) - slopes

    @property
    def _natural_params(self):
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x, y):
        return x.lgamma() + y.lgamma() - (x + y).lgamma()


class Dirichlet(ExponentialFamily):
    """Probabilities of k outcomes: density ~ prod x^(concentration - 1); concentration: [..., k].

    Raises ShapeError for a concentration of 0 dimensions.

    >>> from neura.distributions import Dirichlet
    >>> Dirichlet(neura.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration, validate_args=None):
        if concentration.dim() < 1:
            raise _n.errors.ShapeError(
                "Dirichlet: expected a concentration of at least 1 dimension, got 0; give one number for each outcome"
            )
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    @property
    def mean(self):
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self):
        above = (self.concentration - 1).clamp(min=0)
        peak = above / above.sum(-1, True)
        corner = _n.zeros_like(peak).scatter_(-1, self.concentration.argmax(-1, True), 1.0)
        return _n.where((self.concentration < 1).all(-1, True), corner, peak)

    @property
    def variance(self):
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total**2 * (total + 1))

    def rsample(self, sample_shape=()):
        logs = log_gamma(self.concentration.expand(self._extended_shape(sample_shape)))
        return logs.softmax(-1).clamp(min=finfo(logs.dtype).tiny)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return _n.xlogy(self.concentration - 1, value).sum(-1) - self._log_normalizer(self.concentration)

    def entropy(self):
        a = self.concentration
        total = a.sum(-1)
        slopes = (a.shape[-1] - total) * total.digamma() + ((a - 1) * a.digamma()).sum(-1)
        return self._log_normalizer(a) - slopes

    @property
    def _natural_params(self):
        return (self.concentration,)

    def _log_normalizer(self, x):
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()


def _moment(a, b, n):
    """E[x^n] of a Kumaraswamy distribution: b * B(1 + n / a, b)."""
    shifted = 1 + n / a
    return b * (shifted.lgamma() + b.lgamma() - (shifted + b).lgamma()).exp()


class Kumaraswamy(TransformedDistribution):
    """The Kumaraswamy distribution on (0, 1): cdf 1 - (1 - x^a)^b, a concentration1 and b concentration0.

    >>> from neura.distributions import Kumaraswamy
    >>> Kumaraswamy(1.0, 1.0).mean
    tensor(0.5000)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        a, b = self.concentration1, self.concentration0
        base = Uniform(_n.zeros_like(a), _n.ones_like(a), validate_args)
        steps = [PowerTransform(b.reciprocal()), AffineTransform(1.0, -1.0), PowerTransform(a.reciprocal())]
        super().__init__(base, steps, validate_args)

    @property
    def mean(self):
        return _moment(self.concentration1, self.concentration0, 1)

    @property
    def mode(self):
        a, b = self.concentration1, self.concentration0
        peak = ((a - 1) / (a * b - 1)) ** a.reciprocal()
        return _n.where((a < 1) | (b < 1), math.nan, peak)

    @property
    def variance(self):
        return _moment(self.concentration1, self.concentration0, 2) - self.mean**2

    def entropy(self):
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return 1 - b.reciprocal() + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
