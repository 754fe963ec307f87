"""Poisson, Geometric, NegativeBinomial, Binomial, Multinomial."""

import math

from .. import _neura as _n
from ..autograd.grad_mode import no_grad
from . import constraints
from ._bernoulli import ByProbs, cross_entropy, one_of
from ._categorical import Categorical
from ._gamma import Gamma
from ._sampling import binomial, open_uniform
from .distribution import Distribution, ExponentialFamily
from .utils import broadcast_all, softplus


class Poisson(ExponentialFamily):
    """Counts of mean `rate`, 0 or more: mass rate^k exp(-rate) / k!.

    >>> from neura.distributions import Poisson
    >>> Poisson(2.0).log_prob(neura.tensor(0.0))
    tensor(-2.)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate, validate_args=None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    mean = property(lambda self: self.rate)
    mode = property(lambda self: self.rate.floor())
    variance = property(lambda self: self.rate)

    def sample(self, sample_shape=()):
        with no_grad():
            return _n.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        value, rate = _n.broadcast_tensors(value, self.rate)
        return _n.xlogy(value, rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self):
        return (self.rate.log(),)

    def _log_normalizer(self, x):
        return x.exp()


class Geometric(ByProbs, Distribution):
    """How many trials fail before the first that succeeds, each with probability `probs`, the sigmoid of `logits`.

    Raises ValueError unless exactly one of the two is given.

    >>> from neura.distributions import Geometric
    >>> Geometric(0.25).mean
    tensor(3.)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs=None, logits=None, validate_args=None):
        (value,) = broadcast_all(one_of("Geometric", probs, logits))
        self._give(probs is not None, value)
        super().__init__(value.shape, validate_args=validate_args)
        if self._validate_args and probs is not None:
            self._check_parameter("probs", constraints.greater_than(0.0), value)

    mean = property(lambda self: 1 / self.probs - 1)
    mode = property(lambda self: _n.zeros_like(self.probs))
    variance = property(lambda self: (1 / self.probs - 1) / self.probs)

    def sample(self, sample_shape=()):
        with no_grad():
            u = open_uniform(self.probs, self._extended_shape(sample_shape))
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return _n.xlogy(value, 1 - self.probs) + self.probs.log()

    def entropy(self):
        return cross_entropy(self.logits, self.probs) / self.probs


class NegativeBinomial(ByProbs, Distribution):
    """How many trials succeed before `total_count` of them fail; they succeed with probability `probs`.

    total_count: a number or tensor of 0 or more, need not be whole. Raises ValueError unless exactly one of probs and
    logits is given.

    >>> from neura.distributions import NegativeBinomial
    >>> NegativeBinomial(3.0, probs=neura.tensor(0.5)).mean
    tensor(3.)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        value = one_of("NegativeBinomial", probs, logits)
        value, total_count = broadcast_all(value, total_count)
        self.total_count = total_count.to(value.dtype)
        self._give(probs is not None, value)
        super().__init__(value.shape, validate_args=validate_args)

    mean = property(lambda self: self.total_count * self.logits.exp())
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0))
    variance = property(lambda self: self.mean / (-self.logits).sigmoid())

    def sample(self, sample_shape=()):
        with no_grad():
            rates = Gamma(self.total_count, (-self.logits).exp(), validate_args=False).sample(sample_shape)
            return _n.poisson(_n.where(self.total_count > 0, rates, 0.0))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        scores = -n * softplus(self.logits) - value * softplus(-self.logits)
        ways = (n + value).lgamma() - (1 + value).lgamma() - n.lgamma()
        return scores + _n.where(n + value == 0, 0.0, ways)


class Binomial(ByProbs, Distribution):
    """How many of `total_count` trials succeed, each with probability `probs`, the sigmoid of `logits`.

    total_count: a number or tensor of whole numbers. Raises ValueError unless exactly one of probs and logits is given.

    >>> from neura.distributions import Binomial
    >>> Binomial(10, probs=neura.tensor(0.5)).variance
    tensor(2.5000)
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        value, total_count = broadcast_all(one_of("Binomial", probs, logits), total_count)
        self.total_count = total_count.to(value.dtype)
        self._give(probs is not None, value)
        super().__init__(value.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        """The support of the distribution."""
        return constraints.integer_interval(0, self.total_count)

    mean = property(lambda self: self.total_count * self.probs)
    mode = property(lambda self: _n.minimum(((self.total_count + 1) * self.probs).floor(), self.total_count))
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return ways + value * self.logits - n * softplus(self.logits)

    def _one_count(self, what):
        most = self.total_count.max()
        if not (self.total_count == most).all():
            raise _n.errors.NotImplementedError(
                f"Binomial: has no {what} of several total_counts together; make a Binomial for each"
            )
        return int(most.item())

    def entropy(self):
        self._one_count("entropy")
        scores = self.log_prob(self.enumerate_support(False))
        return -(scores.exp() * scores).sum(0)

    def enumerate_support(self, expand=True):
        like, count = self._param, self._one_count("enumerate_support") + 1
        values = _n.arange(count, dtype=like.dtype, device=like.device).reshape((-1, *[1] * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values


class Multinomial(Distribution):
    """How often each of k outcomes occurs in `total_count` (int) trials; probs or logits: [..., k].

    >>> from neura.distributions import Multinomial
    >>> Multinomial(10, neura.ones(4)).mean
    tensor([2.5000, 2.5000, 2.5000, 2.5000])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int) or total_count < 0:
            raise _n.errors.NotImplementedError(
                f"Multinomial: has only one total_count for all, an int of 0 or more, got {total_count!r}"
            )
        self.total_count = total_count
        self._categorical = Categorical(probs, logits, validate_args=False)
        shape = self._categorical._param.shape
        super().__init__(shape[:-1], shape[-1:], validate_args)

    def _is_given(self, name):
        return name in self._categorical.__dict__

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        """The support of the distribution."""
        return constraints.multinomial(self.total_count)

    _param = property(lambda self: self._categorical._param)
    param_shape = property(lambda self: self._categorical.param_shape)
    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    mean = property(lambda self: self.total_count * self.probs)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape=()):
        drawn = self._categorical.sample((self.total_count, *sample_shape))
        rows = _n.Size((*sample_shape, *self._batch_shape)).numel()
        drawn = drawn.reshape((self.total_count, rows)).mT
        counts = self._param.detach().new_zeros((rows, self._event_shape[0]))
        counts.scatter_add_(-1, drawn, _n.ones_like(drawn).to(counts.dtype))
        return counts.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        logits, value = _n.broadcast_tensors(self.logits, value)
        scores = _n.where((value == 0) & (logits == -math.inf), 0.0, logits) * value
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + scores.sum(-1)

    def entropy(self):
        n = _n.tensor(float(self.total_count), dtype=self.logits.dtype, device=self.logits.device)
        each = Binomial(self.total_count, probs=self.probs, validate_args=False)
        counts = each.enumerate_support(False)[1:]
        ties = (each.log_prob(counts).exp() * (counts + 1).lgamma()).sum(0).sum(-1)
        return n * self._categorical.entropy() - (n + 1).lgamma() + ties
