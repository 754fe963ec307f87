"""Distributions made of others: TransformedDistribution, Independent, MixtureSameFamily."""

from .. import _neura as _n
from ..autograd.grad_mode import no_grad
from . import constraints
from ._transform import ComposeTransform, Transform, sum_rightmost
from .distribution import Distribution


class TransformedDistribution(Distribution):
    """The distribution of transforms(x), x of a base distribution; transforms: one, or a list, the first one first.

    Densities follow from log_abs_det_jacobian, so they need bijective transforms. Raises ValueError for what is no
    transform, and where the base's shape does not fit.

    >>> from neura.distributions import ExpTransform, Normal, TransformedDistribution
    >>> log_normal = TransformedDistribution(Normal(0.0, 1.0), ExpTransform())
    >>> log_normal.log_prob(neura.tensor(1.0))
    tensor(-0.9189)
    """

    arg_constraints = {}

    def __init__(self, base_distribution, transforms, validate_args=None):
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(self.transforms, list) or not all(isinstance(t, Transform) for t in self.transforms):
            raise _n.errors.ValueError(
                f"{type(self).__name__}: expected transforms to be a Transform or a list of them, got {transforms!r}"
            )
        whole = ComposeTransform(self.transforms)
        shape = _n.Size((*base_distribution.batch_shape, *base_distribution.event_shape))
        need = whole.domain.event_dim
        if len(shape) < need:
            raise _n.errors.ShapeError(
                f"{type(self).__name__}: expected a base distribution of at least {need} dimensions, got "
                f"{list(shape)}"
            )
        after = _n.Size(whole.forward_shape(shape))
        expanded = _n.Size(whole.inverse_shape(after))
        base = base_distribution
        if expanded != shape:
            base = base.expand(expanded[: len(expanded) - len(base.event_shape)])
        lacking = need - len(base.event_shape)
        self.base_dist = Independent(base, lacking) if lacking > 0 else base
        grown = max(len(self.base_dist.event_shape) - need, 0)
        cut = len(after) - whole.codomain.event_dim - grown
        super().__init__(after[:cut], after[cut:], validate_args)

    def _inner_shape(self, name, shape):
        shape = ComposeTransform(self.transforms).inverse_shape(_n.Size((*shape, *self._event_shape)))
        return shape[: len(shape) - len(self.base_dist.event_shape)]

    @constraints.dependent_property(is_discrete=False)
    def support(self):
        """The support: the codomain of the last transform."""
        if not self.transforms:
            return self.base_dist.support
        last = self.transforms[-1].codomain
        lacking = len(self._event_shape) - last.event_dim
        return constraints.independent(last, lacking) if lacking > 0 else last

    @property
    def has_rsample(self):
        return self.base_dist.has_rsample

    def _forward(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape=()):
        with no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=()):
        return self._forward(self.base_dist.rsample(sample_shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        dims, correction, y = len(self._event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            slope = transform.log_abs_det_jacobian(x, y)
            correction = correction + sum_rightmost(slope, dims - transform.domain.event_dim)
            y = x
        return sum_rightmost(self.base_dist.log_prob(y), dims - len(self.base_dist.event_shape)) - correction

    def _mirrored(self, probability):
        """The probability, or 1 minus it where the transforms decrease."""
        sign = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return probability if isinstance(sign, int) and sign == 1 else sign * (probability - 0.5) + 0.5

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return self._mirrored(self.base_dist.cdf(value))

    def icdf(self, value):
        return self._forward(self.base_dist.icdf(self._mirrored(value)))


class Independent(Distribution):
    """A distribution whose last `reinterpreted_batch_ndims` batch dimensions count as dimensions of the event.

    Raises ValueError where the base has fewer.

    >>> from neura.distributions import Independent, Normal
    >>> Independent(Normal(neura.zeros(3), 1.0), 1).log_prob(neura.zeros(3))
    tensor(-2.7568)
    """

    arg_constraints = {}

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        if reinterpreted_batch_ndims > len(base_distribution.batch_shape):
            raise _n.errors.ValueError(
                f"Independent: expected at most {len(base_distribution.batch_shape)} batch dimensions, as many as the "
                f"base distribution has, got {reinterpreted_batch_ndims}"
            )
        shape = _n.Size((*base_distribution.batch_shape, *base_distribution.event_shape))
        cut = len(base_distribution.batch_shape) - reinterpreted_batch_ndims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:], validate_args)

    def _inner_shape(self, name, shape):
        return _n.Size((*shape, *self._event_shape[: self.reinterpreted_batch_ndims]))

    has_rsample = property(lambda self: self.base_dist.has_rsample)
    mean = property(lambda self: self.base_dist.mean)
    mode = property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    @property
    def has_enumerate_support(self):
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self):
        """The support of the distribution."""
        inner = self.base_dist.support
        dims = self.reinterpreted_batch_ndims
        return constraints.independent(inner, dims) if dims else inner

    def sample(self, sample_shape=()):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self):
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand=True):
        if self.reinterpreted_batch_ndims > 0:
            raise _n.errors.NotImplementedError(
                "Independent: has no enumerate_support of several dimensions; enumerate those of the base distribution"
            )
        return self.base_dist.enumerate_support(expand)

    def __repr__(self):
        return f"Independent({self.base_dist!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamily(Distribution):
    """A mixture: a Categorical over k components picks one, the last batch dimension of another distribution.

    Raises ValueError where the mixture is no Categorical or its shape is not the components'.

    >>> from neura.distributions import Categorical, MixtureSameFamily, Normal
    >>> m = MixtureSameFamily(Categorical(neura.ones(2)), Normal(neura.tensor([-1.0, 1.0]), 1.0))
    >>> m.mean, m.variance
    (tensor(0.), tensor(2.))
    """

    arg_constraints = {}
    has_rsample = False

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        from ._categorical import Categorical

        if not isinstance(mixture_distribution, Categorical) or not isinstance(component_distribution, Distribution):
            raise _n.errors.ValueError(
                "MixtureSameFamily: expected a Categorical and a distribution, got "
                f"{type(mixture_distribution).__name__} and {type(component_distribution).__name__}"
            )
        mixture, component = tuple(mixture_distribution.batch_shape), tuple(component_distribution.batch_shape)
        outcomes = mixture_distribution.logits.shape[-1]
        shape = _n.broadcast_shapes(mixture, component[:-1]) if component else None
        if not component or component[-1] != outcomes or tuple(shape) != component[:-1]:
            raise _n.errors.ShapeError(
                f"MixtureSameFamily: expected components of batch shape {[*mixture, outcomes]}, got {list(component)}"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        super().__init__(component[:-1], component_distribution.event_shape, validate_args)

    def _inner_shape(self, name, shape):
        count = self._component_distribution.batch_shape[-1]
        return _n.Size((*shape, count)) if name == "_component_distribution" else shape

    mixture_distribution = property(lambda self: self._mixture_distribution)
    component_distribution = property(lambda self: self._component_distribution)

    @constraints.dependent_property
    def support(self):
        """The support: the union of the supports of the components."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    def _weights(self):
        """The probabilities of the components, of the shape [..., k, 1, ...] of a component's values."""
        probs = self._mixture_distribution.probs
        return probs.reshape((*probs.shape, *[1] * len(self._event_shape)))

    @property
    def mean(self):
        return (self._weights() * self._component_distribution.mean).sum(-1 - len(self._event_shape))

    @property
    def variance(self):
        dim, weights = -1 - len(self._event_shape), self._weights()
        means = self._component_distribution.mean
        within = (weights * self._component_distribution.variance).sum(dim)
        mean = (weights * means).sum(dim, keepdim=True)
        return within + (weights * (means - mean) ** 2).sum(dim)

    def _pad(self, value):
        return value.unsqueeze(-1 - len(self._event_shape))

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return (self._component_distribution.cdf(self._pad(value)) * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        each = self._component_distribution.log_prob(self._pad(value))
        return _n.logsumexp(each + self._mixture_distribution.logits.log_softmax(-1), -1)

    def sample(self, sample_shape=()):
        with no_grad():
            wanted = (*sample_shape, *self._batch_shape)
            picked = self._mixture_distribution.expand(self._batch_shape).sample(sample_shape)
            values = self._component_distribution.sample(sample_shape)
            dims = len(self._event_shape)
            at = picked.reshape((*wanted, 1, *[1] * dims)).expand((*wanted, 1, *self._event_shape))
            return values.gather(-1 - dims, at).squeeze(-1 - dims)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self._mixture_distribution!r},\n  {self._component_distribution!r})"
