"""VonMises."""

import math

from .. import _neura as _n
from ..autograd.grad_mode import no_grad
from . import constraints
from ._sampling import rejection, uniform
from .distribution import Distribution
from .utils import broadcast_all


class VonMises(Distribution):
    """The von Mises distribution of angles: density ~ exp(concentration * cos(x - loc)).

    loc: the mean angle in radians. Samples lie in [-pi, pi); Best and Fisher, "Efficient simulation of the von Mises
    distribution", 1979.

    >>> from neura.distributions import VonMises
    >>> VonMises(0.0, 1.0).log_prob(neura.tensor(0.0))
    tensor(-1.0738)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    @property
    def variance(self):
        """The circular variance, 1 - I1(concentration) / I0(concentration)."""
        return 1 - _n.i1e(self.concentration) / _n.i0e(self.concentration)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        log_bessel = self.concentration + _n.i0e(self.concentration).log()
        return self.concentration * (value - self.loc).cos() - math.log(2 * math.pi) - log_bessel

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with no_grad():
            loc = self.loc.double().expand(shape)
            angle = _draw(self.concentration.double().expand(shape).reshape(-1)).reshape(shape)
            value = (angle + loc + math.pi) % (2 * math.pi) - math.pi
            return value.to(self.loc.dtype)


def _draw(k):
    """Angles around 0 of concentrations k, a vector in float64, by rejection from a wrapped Cauchy distribution."""
    tau = 1 + (1 + 4 * k * k).sqrt()
    rho = (tau - (2 * tau).sqrt()) / (2 * k)
    r = _n.where(k < 1e-5, 1 / k + k, (1 + rho * rho) / (2 * rho))
    wrong = ~((k > 0) & (k < math.inf))
    narrow = k > 1e12  # so that r is almost 1, and then 1, when nothing would be accepted
    known = wrong | narrow

    def propose(at, shape):
        z = (math.pi * uniform(k, shape)).cos()
        f = (1 + r[at] * z) / (r[at] + z)
        c = k[at] * (r[at] - f)
        u = uniform(k, shape)
        accepted = (c * (2 - c) > u) | ((c / u).log() + 1 - c >= 0) | known[at]
        side = (uniform(k, shape) - 0.5).sign()
        return side * f.clamp(min=-1, max=1).acos(), accepted

    angle = rejection(propose, _n.empty_like(k))
    if narrow.any():  # the limit is a normal distribution
        angle = _n.where(narrow, _n.randn_like(k) / k.sqrt(), angle)
    return _n.where(wrong, math.nan, angle)
