"""Categorical, OneHotCategorical, OneHotCategoricalStraightThrough, RelaxedOneHotCategorical."""

import math

from .. import _neura as _n
from .._limits import finfo
from . import constraints
from ._bernoulli import ByProbs, one_of
from ._composed import TransformedDistribution
from ._sampling import open_uniform
from ._transform_elements import ExpTransform
from .distribution import Distribution
from .utils import clamp_probs


def normalised(who, probs, logits):
    """The given one of probs and logits, [..., k], normalised over its last dimension."""
    value = one_of(who, probs, logits)
    if value.dim() < 1:
        name = "logits" if probs is None else "probs"
        raise _n.errors.ShapeError(
            f"{who}: expected {name} of at least 1 dimension, got 0; give one number for each outcome"
        )
    return value - value.logsumexp(-1, True) if probs is None else value / value.sum(-1, True)


class Categorical(ByProbs, Distribution):
    """One of the outcomes 0 to k - 1; probs or logits: [..., k], normalised over the last dimension.

    Raises ValueError unless exactly one of them is given, ShapeError where it has no dimension.

    >>> from neura.distributions import Categorical
    >>> Categorical(neura.tensor([1.0, 3.0])).log_prob(neura.tensor(1))
    tensor(-0.2877)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _is_binary = False

    def __init__(self, probs=None, logits=None, validate_args=None):
        value = normalised("Categorical", probs, logits)
        self._give(probs is not None, value)
        self._num_events = value.shape[-1]
        super().__init__(value.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        """The outcomes."""
        return constraints.integer_interval(0, self._num_events - 1)

    def _unknown(self):
        like = self._param
        return _n.full(tuple(self._extended_shape()), math.nan, dtype=like.dtype, device=like.device)

    mean = property(_unknown)
    variance = property(_unknown)
    mode = property(lambda self: self.probs.argmax(-1))

    def sample(self, sample_shape=()):
        count = _n.Size(sample_shape).numel()
        rows = self.probs.detach().reshape((-1, self._num_events))
        if count == 0 or rows.numel() == 0:
            return _n.empty(tuple(self._extended_shape(sample_shape)), dtype=_n.int64, device=rows.device)
        return _n.multinomial(rows, count, True).mT.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        at = value.long().unsqueeze(-1)
        lead = _n.broadcast_shapes(at.shape[:-1], self.logits.shape[:-1])
        return self.logits.expand((*lead, self._num_events)).gather(-1, at.expand((*lead, 1))).squeeze(-1)

    def entropy(self):
        lowest = finfo(self.logits.dtype).min
        return -(self.logits.clamp(min=lowest) * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        values = _n.arange(self._num_events, device=self._param.device)
        values = values.reshape((-1, *[1] * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values


class OneHotCategorical(Distribution):
    """A Categorical whose outcomes are one-hot vectors of k numbers; probs or logits: [..., k].

    >>> from neura.distributions import OneHotCategorical
    >>> OneHotCategorical(neura.tensor([0.0, 1.0])).sample()
    tensor([0., 1.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits, validate_args=False)
        shape = self._categorical._param.shape
        super().__init__(shape[:-1], shape[-1:], validate_args)

    def _is_given(self, name):
        return name in self._categorical.__dict__

    _param = property(lambda self: self._categorical._param)
    param_shape = property(lambda self: self._categorical.param_shape)
    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    def _one_hot(self, at):
        spots = _n.arange(self._event_shape[0], device=at.device)
        return (at.unsqueeze(-1) == spots).to(self._param.dtype)

    mode = property(lambda self: self._one_hot(self._categorical.mode))

    def sample(self, sample_shape=()):
        return self._one_hot(self._categorical.sample(sample_shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        return self._one_hot(self._categorical.enumerate_support(expand))


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """A OneHotCategorical whose rsample passes gradients on to the probabilities as if it were the mean.

    Bengio, Leonard and Courville, "Estimating or propagating gradients through stochastic neurons", 2013.

    >>> from neura.distributions import OneHotCategoricalStraightThrough
    >>> p = neura.tensor([0.0, 1.0], requires_grad=True)
    >>> OneHotCategoricalStraightThrough(probs=p).rsample().requires_grad
    True
    """

    has_rsample = True

    def rsample(self, sample_shape=()):
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class ExpRelaxedCategorical(Distribution):
    """The logarithm of a RelaxedOneHotCategorical: log_softmax of (logits + Gumbel numbers) / temperature.

    Maddison, Mnih and Teh, "The concrete distribution", 2017.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector  # whose exponentials add up to 1
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        self._temperature = temperature
        shape = self._categorical._param.shape
        super().__init__(shape[:-1], shape[-1:], validate_args)

    def _is_given(self, name):
        return name in self._categorical.__dict__

    temperature = property(lambda self: self._temperature)
    param_shape = property(lambda self: self._categorical.param_shape)
    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)

    def rsample(self, sample_shape=()):
        u = clamp_probs(open_uniform(self.logits, self._extended_shape(sample_shape)))
        return ((self.logits - (-u.log()).log()) / self.temperature).log_softmax(-1)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        k = self._event_shape[0]
        temperature = _n.as_tensor(self.temperature, dtype=value.dtype, device=value.device)
        score = (self.logits - value * temperature).log_softmax(-1).sum(-1)
        return score + math.lgamma(k) + (k - 1) * temperature.log()


class RelaxedOneHotCategorical(TransformedDistribution):
    """Probabilities near the one-hot vectors of a Categorical, with gradients; smaller `temperature`: nearer.

    temperature: a tensor or number above 0. Maddison, Mnih and Teh, "The concrete distribution", 2017; Jang, Gu and
    Poole, "Categorical reparameterization with Gumbel-softmax", 2017.

    >>> from neura.distributions import RelaxedOneHotCategorical
    >>> RelaxedOneHotCategorical(neura.tensor(2.0), probs=neura.ones(3)).sample().shape
    neura.Size([3])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args)
        super().__init__(base, ExpTransform(), validate_args)

    def _is_given(self, name):
        return self.base_dist._is_given(name)

    temperature = property(lambda self: self.base_dist.temperature)
    probs = property(lambda self: self.base_dist.probs)
    logits = property(lambda self: self.base_dist.logits)
