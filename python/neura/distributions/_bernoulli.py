"""Bernoulli, ContinuousBernoulli, RelaxedBernoulli, and what all distributions given by probs or logits share."""

import math

from .. import _neura as _n
from . import constraints
from ._composed import TransformedDistribution
from ._sampling import open_uniform, uniform
from ._transform_elements import SigmoidTransform
from .distribution import Distribution, ExponentialFamily
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs, probs_to_logits, softplus


def one_of(who, probs, logits):
    """The one of probs and logits that is given; ValueError unless exactly one is."""
    if (probs is None) == (logits is None):
        raise _n.errors.ValueError(
            f"{who}: expected either probs or logits, got {'neither' if probs is None else 'both'}; give one of them"
        )
    return logits if probs is None else probs


class ByProbs:
    """Mixin: one of probs and logits is given, the other one computed on first use."""

    _is_binary = True

    def _give(self, is_probs, value):
        self._is_by_probs = is_probs
        setattr(self, "probs" if is_probs else "logits", value)

    @lazy_property
    def logits(self):
        """The log-odds of 1, or, of several outcomes, their unnormalised log-probabilities."""
        return probs_to_logits(self.probs, self._is_binary)

    @lazy_property
    def probs(self):
        """The probability of 1, or of each outcome."""
        return logits_to_probs(self.logits, self._is_binary)

    @property
    def _param(self):
        return self.probs if self._is_by_probs else self.logits

    @property
    def param_shape(self):
        """The shape of the parameter that was given."""
        return self._param.shape


def cross_entropy(logits, target):
    """-log of the probability that a Bernoulli of these logits is `target`, which may be between 0 and 1."""
    return softplus(logits) - target * logits


def two_values(distribution, expand):
    """0 and 1 along a first dimension."""
    like, shape = distribution._param, distribution.batch_shape
    values = _n.arange(2, dtype=like.dtype, device=like.device).reshape((2, *[1] * len(shape)))
    return values.expand((2, *shape)) if expand else values


class Bernoulli(ByProbs, ExponentialFamily):
    """1 with probability `probs`, the sigmoid of `logits`, else 0. Raises ValueError unless one of the two is given.

    >>> from neura.distributions import Bernoulli
    >>> Bernoulli(0.25).variance
    tensor(0.1875)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0.0

    def __init__(self, probs=None, logits=None, validate_args=None):
        (value,) = broadcast_all(one_of("Bernoulli", probs, logits))
        self._give(probs is not None, value)
        super().__init__(value.shape, validate_args=validate_args)

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    @property
    def mode(self):
        return _n.where(self.probs == 0.5, math.nan, (self.probs >= 0.5).to(self.probs.dtype))

    def sample(self, sample_shape=()):
        probs = self.probs.detach()
        return (uniform(probs, self._extended_shape(sample_shape)) < probs).to(probs.dtype)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return -cross_entropy(self.logits, value)

    def entropy(self):
        return cross_entropy(self.logits, self.probs)

    def enumerate_support(self, expand=True):
        return two_values(self, expand)

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        return softplus(x)


class ContinuousBernoulli(ByProbs, ExponentialFamily):
    """The continuous Bernoulli distribution on [0, 1]: density ~ probs^x (1 - probs)^(1 - x).

    lims: where probs is between these two, near 1/2, formulas are replaced by their Taylor series. Loaiza-Ganem and
    Cunningham, "The continuous Bernoulli: fixing a pervasive error in variational autoencoders", 2019.

    >>> from neura.distributions import ContinuousBernoulli
    >>> ContinuousBernoulli(0.5).mean
    tensor(0.5000)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0.0

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        (value,) = broadcast_all(one_of("ContinuousBernoulli", probs, logits))
        self._lims = lims
        if probs is not None and (Distribution._validate_args if validate_args is None else validate_args):
            self._check_parameter("probs", constraints.unit_interval, value)
        self._give(probs is not None, clamp_probs(value) if probs is not None else value)
        super().__init__(value.shape, validate_args=validate_args)

    def _pick(self, formula, series):
        """formula(p) away from 1/2, else series(p - 1/2)."""
        near = (self.probs > self._lims[0]) & (self.probs < self._lims[1])
        away = _n.where(near, self._lims[0], self.probs)
        return _n.where(near, series(self.probs - 0.5), formula(away))

    @property
    def mean(self):
        return self._pick(
            lambda p: p / (2 * p - 1) + 1 / ((-p).log1p() - p.log()),
            lambda x: 0.5 + (1 / 3 + 16 / 45 * x**2) * x,
        )

    @property
    def variance(self):
        return self._pick(
            lambda p: p * (p - 1) / (1 - 2 * p) ** 2 + 1 / ((-p).log1p() - p.log()) ** 2,
            lambda x: 1 / 12 - (1 / 15 - 128 / 945 * x**2) * x**2,
        )

    def _log_norm(self):
        """log of what the density is multiplied by."""
        return self._pick(
            lambda p: ((-p).log1p() - p.log()).abs().log() - (1 - 2 * p).abs().log(),
            lambda x: math.log(2) + (4 / 3 + 104 / 45 * x**2) * x**2,
        )

    def rsample(self, sample_shape=()):
        return self.icdf(uniform(self.probs, self._extended_shape(sample_shape)))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return self._log_norm() - cross_entropy(self.logits, value)

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        right, slope, flat, safe = self._slopes()
        at = _n.where(right, 1 - value, value)
        level = _n.where(flat, at + 0.5 * slope * at * (at - 1), (safe * at).expm1() / safe.expm1())
        return _n.where(right, 1 - level, level).clamp(min=0, max=1)

    def icdf(self, value):
        right, slope, flat, safe = self._slopes()
        level = _n.where(right, 1 - value, value)
        at = _n.where(flat, level + 0.5 * slope * level * (1 - level), (level * safe.expm1()).log1p() / safe)
        return _n.where(right, 1 - at, at).clamp(min=0, max=1)

    def _slopes(self):
        """Where the log density rises; its slope, or minus it there; where that is nearly 0; with -1 there."""
        right = self.logits > 0
        slope = _n.where(right, -self.logits, self.logits)
        flat = slope.abs() < 1e-6
        return right, slope, flat, _n.where(flat, -1.0, slope)

    def entropy(self):
        complement = (-self.probs).log1p()
        return self.mean * (complement - self.probs.log()) - self._log_norm() - complement

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        near = (x.sigmoid() > self._lims[0]) & (x.sigmoid() < self._lims[1])
        away = _n.where(near, 1.0, x)
        return _n.where(near, x / 2 + x**2 / 24, (away.expm1() / away).log())


class LogitRelaxedBernoulli(ByProbs, Distribution):
    """The logit of a RelaxedBernoulli: (logits + a logistic number) / temperature.

    Maddison, Mnih and Teh, "The concrete distribution", 2017.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        (value,) = broadcast_all(one_of("LogitRelaxedBernoulli", probs, logits))
        self._temperature = temperature
        self._give(probs is not None, value)
        super().__init__(value.shape, validate_args=validate_args)

    temperature = property(lambda self: self._temperature)

    def rsample(self, sample_shape=()):
        probs = clamp_probs(self.probs.expand(self._extended_shape(sample_shape)))
        u = clamp_probs(open_uniform(probs, probs.shape))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        off = self.logits - value * self.temperature
        temperature = _n.as_tensor(self.temperature, dtype=off.dtype, device=off.device)
        return temperature.log() + off - 2 * softplus(off)


class RelaxedBernoulli(TransformedDistribution):
    """Numbers in (0, 1) near those of a Bernoulli, with gradients; the smaller `temperature`, the nearer.

    temperature: a tensor or number above 0. Maddison, Mnih and Teh, "The concrete distribution", 2017; Jang, Gu and
    Poole, "Categorical reparameterization with Gumbel-softmax", 2017.

    >>> from neura.distributions import RelaxedBernoulli
    >>> RelaxedBernoulli(neura.tensor(2.0), probs=neura.tensor([0.1, 0.9])).sample().shape
    neura.Size([2])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args)

    temperature = property(lambda self: self.base_dist.temperature)
    probs = property(lambda self: self.base_dist.probs)
    logits = property(lambda self: self.base_dist.logits)
