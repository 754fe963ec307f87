"""Distribution, the base of all distributions, and ExponentialFamily."""

import warnings

from .. import _neura as _n
from ..autograd import grad as _grad
from ..autograd.grad_mode import enable_grad, no_grad
from . import constraints
from .utils import lazy_property

__all__ = ["Distribution", "ExponentialFamily"]


class Distribution:
    """A distribution over values of shape `event_shape`, one for each index of `batch_shape`.

    A class defines `arg_constraints` (dict of constraints by the names of its parameters), `support`, and those of the
    methods below that it has; what it does not have raises NotImplementedError.

    validate_args (bool): are parameters checked against `arg_constraints`, and values against `support`? Then a wrong
    one raises ValueError. By default set_default_validate_args decides.

    >>> from neura.distributions import Normal
    >>> d = Normal(neura.zeros(2), 1.0)
    >>> d.batch_shape, d.event_shape
    (neura.Size([2]), neura.Size([]))
    >>> d.log_prob(neura.zeros(3, 2)).shape
    neura.Size([3, 2])
    """

    has_rsample = False
    has_enumerate_support = False
    arg_constraints = None
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value):
        """Sets the default of validate_args: True unless Python runs with -O."""
        if value not in (True, False):
            raise _n.errors.ValueError(f"set_default_validate_args: expected True or False, got {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch_shape = _n.Size(batch_shape)
        self._event_shape = _n.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if not self._validate_args:
            return
        if self.arg_constraints is None:
            warnings.warn(f"{type(self).__name__}: has no arg_constraints; define them, or give validate_args=False")
            return
        for name, constraint in self.arg_constraints.items():
            if not constraints.is_dependent(constraint) and self._is_given(name):
                self._check_parameter(name, constraint, getattr(self, name))

    def _is_given(self, name):
        """Is this parameter known without computing it?"""
        return name in self.__dict__ or not isinstance(getattr(type(self), name, None), lazy_property)

    def _check_parameter(self, name, constraint, value):
        if not constraint.check(value).all():
            raise _n.errors.ValueError(
                f"{type(self).__name__}: expected parameter {name} within {constraint!r}, got\n{value}\n"
                "correct it, or give validate_args=False"
            )

    @property
    def batch_shape(self):
        """The shape of the parameters: one distribution for each index."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of one value."""
        return self._event_shape

    @property
    def support(self):
        """The constraint that samples satisfy."""
        raise self._lacks("support")

    @property
    def mean(self):
        """The mean, of shape batch_shape + event_shape."""
        raise self._lacks("mean")

    @property
    def mode(self):
        """The most likely value, of shape batch_shape + event_shape."""
        raise self._lacks("mode")

    @property
    def variance(self):
        """The variance, of shape batch_shape + event_shape."""
        raise self._lacks("variance")

    @property
    def stddev(self):
        """The standard deviation, of shape batch_shape + event_shape."""
        return self.variance.sqrt()

    def _lacks(self, what):
        return _n.errors.NotImplementedError(f"{type(self).__name__}: has no {what}; there is no formula for it here")

    def sample(self, sample_shape=()):
        """Draws a tensor of shape sample_shape + batch_shape + event_shape, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=()):
        """Draws as `sample` does, and gradients reach the parameters through the sample."""
        raise self._lacks("rsample")

    def sample_n(self, n):
        """sample((n,)), with a warning."""
        warnings.warn("sample_n: is replaced by sample; call sample((n,))", UserWarning, stacklevel=2)
        return self.sample((n,))

    def log_prob(self, value):
        """The logarithm of the density, or mass, at `value`; the event dimensions are summed over."""
        raise self._lacks("log_prob")

    def cdf(self, value):
        """The probability of values up to `value`."""
        raise self._lacks("cdf")

    def icdf(self, value):
        """The inverse of cdf: the quantile of the probability `value`."""
        raise self._lacks("icdf")

    def entropy(self):
        """The entropy in nats, of shape batch_shape."""
        raise self._lacks("entropy")

    def enumerate_support(self, expand=True):
        """All values of a discrete distribution along a new first dimension; expand=False: of sizes 1 in the batch."""
        raise self._lacks("enumerate_support")

    def perplexity(self):
        """exp(entropy), of shape batch_shape."""
        return _n.exp(self.entropy())

    def expand(self, batch_shape, _instance=None):
        """The distribution with its parameters expanded to another batch_shape; no memory is copied.

        >>> from neura.distributions import Normal
        >>> Normal(0.0, 1.0).expand((3,)).batch_shape
        neura.Size([3])
        """
        if not type(self).__init__.__module__.startswith(__package__ + ".") and _instance is None:
            raise _n.errors.NotImplementedError(f"{type(self).__name__}: has no expand; define it along with __init__")
        new = object.__new__(type(self)) if _instance is None else _instance
        shape, lead = _n.Size(batch_shape), len(self._batch_shape)
        for name, value in self.__dict__.items():
            if isinstance(value, Distribution):
                value = value.expand(self._inner_shape(name, shape))
            elif isinstance(value, _n.Tensor) and name[0] != "_":
                value = value.expand((*shape, *value.shape[lead:]))
            new.__dict__.setdefault(name, value)
        new._batch_shape = shape
        return new

    def _inner_shape(self, name, shape):
        """The batch shape of the distribution in attribute `name` when this one has batch shape `shape`."""
        return shape

    def _get_checked_instance(self, cls, _instance=None):
        """An empty instance for a subclass's own `expand`; refused where the subclass has another __init__."""
        if _instance is None and type(self).__init__ != cls.__init__:
            raise _n.errors.NotImplementedError(f"{type(self).__name__}: has no expand; define it along with __init__")
        return object.__new__(type(self)) if _instance is None else _instance

    def _extended_shape(self, sample_shape=()):
        return _n.Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value):
        """Raises ValueError unless `value` is a tensor that fits the shapes and is in the support."""
        who = type(self).__name__
        if not isinstance(value, _n.Tensor):
            raise _n.errors.ValueError(f"{who}: expected value to be a tensor, got {type(value).__name__}")
        dims = value.dim() - len(self._event_shape)
        if dims < 0 or tuple(value.shape[dims:]) != tuple(self._event_shape):
            raise _n.errors.ShapeError(
                f"{who}: expected a value whose last sizes are {list(self._event_shape)}, got {list(value.shape)}"
            )
        wanted = self._extended_shape()
        for have, want in zip(reversed(value.shape), reversed(wanted)):
            if have != 1 and want != 1 and have != want:
                raise _n.errors.ShapeError(
                    f"{who}: expected a value that broadcasts to {list(wanted)}, got {list(value.shape)}"
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(f"{who}: has no support to check values against; give validate_args=False")
            return
        if not support.check(value).all():
            raise _n.errors.ValueError(
                f"{who}: expected a value within the support {support!r}, got\n{value}\nmend it, or give "
                "validate_args=False"
            )

    def __repr__(self):
        parts = []
        for name in self.arg_constraints or ():
            if name in self.__dict__ or isinstance(getattr(type(self), name, None), property):
                value = getattr(self, name)
                parts.append(f"{name}: {value.item() if value.numel() == 1 else value.shape}")
        return f"{type(self).__name__}({', '.join(parts)})"


class ExponentialFamily(Distribution):
    """Base of distributions with the density exp(<natural parameters, statistics> - log normaliser + carrier).

    A class gives `_natural_params` (tuple of tensors), `_log_normalizer(*natural_params)` and `_mean_carrier_measure`
    (E[carrier]); entropy and divergences then follow from the gradient of the log normaliser: Nielsen and Nock,
    "Entropies and cross-entropies of exponential families", 2010.

    >>> from neura.distributions import Bernoulli, ExponentialFamily
    >>> isinstance(Bernoulli(0.5), ExponentialFamily)
    True
    """

    @property
    def _natural_params(self):
        raise self._lacks("natural parameters")

    def _log_normalizer(self, *natural_params):
        raise self._lacks("log normaliser")

    @property
    def _mean_carrier_measure(self):
        raise self._lacks("mean of the carrier measure")

    def entropy(self):
        given = self._natural_params
        with enable_grad():
            natural = [p if p.requires_grad else p.detach().requires_grad_() for p in given]
            normalizer = self._log_normalizer(*natural)
            slopes = _grad(normalizer.sum(), natural, create_graph=True)
            result = normalizer - self._mean_carrier_measure
            for parameter, slope in zip(natural, slopes):
                inner = tuple(range(len(self._batch_shape), parameter.dim()))
                result = result - ((parameter * slope).sum(inner) if inner else parameter * slope)
        return result if any(p.requires_grad for p in given) else result.detach()
