"""Transform, the base of transforms, its inverse, and transforms made of others."""

import weakref

from .. import _neura as _n
from . import constraints
from .utils import sum_rightmost


class Transform:
    """A differentiable function between two sets, with its inverse and the logarithm of its Jacobian's determinant.

    A class defines `domain` and `codomain` (constraints), `bijective`, `_call` and `_inverse`, and, if bijective,
    `log_abs_det_jacobian`; `sign` if it is a monotonic function of numbers.

    cache_size (int): 1 keeps the last pair of value and result, so that the inverse of a result is that very value.

    >>> from neura.distributions import ExpTransform
    >>> t = ExpTransform()
    >>> t(neura.zeros(2)), t.inv(neura.ones(2))
    (tensor([1., 1.]), tensor([0., 0.]))
    """

    bijective = False

    def __init__(self, cache_size=0):
        if cache_size not in (0, 1):
            raise _n.errors.ValueError(f"{type(self).__name__}: expected cache_size 0 or 1, got {cache_size}")
        self._cache_size = cache_size
        self._inv = None
        self._cached = None, None

    def __getstate__(self):
        return {**self.__dict__, "_inv": None, "_cached": (None, None)}

    @property
    def event_dim(self):
        """How many last dimensions one value has, in domain and codomain alike."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise _n.errors.ValueError(
            f"{type(self).__name__}: expected one event_dim, got {self.domain.event_dim} and {self.codomain.event_dim};"
            " ask domain or codomain"
        )

    @property
    def inv(self):
        """The inverse, itself a transform; its inverse is this one."""
        inverse = self._inv and self._inv()
        if inverse is None:
            inverse = _Inverse(self)
            self._inv = weakref.ref(inverse)
        return inverse

    @property
    def sign(self):
        """1 where the function increases, -1 where it decreases."""
        raise _n.errors.NotImplementedError(f"{type(self).__name__}: has no sign; it is not monotonic")

    def with_cache(self, cache_size=1):
        """The same transform with that cache_size."""
        if self._cache_size == cache_size:
            return self
        new = object.__new__(type(self))
        new.__dict__.update(self.__getstate__(), _cache_size=cache_size)
        return new

    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__

    def __call__(self, x):
        """The result of `x`, a tensor."""
        if not self._cache_size:
            return self._call(x)
        old, result = self._cached
        if x is not old:
            result = self._call(x)
            self._cached = x, result
        return result

    def _inv_call(self, y):
        if not self._cache_size:
            return self._inverse(y)
        value, old = self._cached
        if y is not old:
            value = self._inverse(y)
            self._cached = value, y
        return value

    def _call(self, x):
        raise _n.errors.NotImplementedError(f"{type(self).__name__}: has no _call; define it")

    def _inverse(self, y):
        raise _n.errors.NotImplementedError(f"{type(self).__name__}: has no inverse")

    def log_abs_det_jacobian(self, x, y):
        """log |det dy/dx| at x and its result y, of the shape of x without the event's dimensions."""
        raise _n.errors.NotImplementedError(f"{type(self).__name__}: has no log_abs_det_jacobian; it is not bijective")

    def forward_shape(self, shape):
        """The shape of the result of a value of that shape."""
        return shape

    def inverse_shape(self, shape):
        """The shape of the value that has a result of that shape."""
        return shape

    def __repr__(self):
        return f"{type(self).__name__}()"


class _Inverse(Transform):
    """The inverse of a transform."""

    def __init__(self, transform):
        super().__init__()
        self._of = transform

    domain = constraints.dependent_property(lambda self: self._of.codomain)
    codomain = constraints.dependent_property(lambda self: self._of.domain)
    bijective = property(lambda self: self._of.bijective)
    sign = property(lambda self: self._of.sign)
    inv = property(lambda self: self._of)

    def with_cache(self, cache_size=1):
        return self._of.with_cache(cache_size).inv

    def __getstate__(self):
        return self.__dict__

    def __eq__(self, other):
        return isinstance(other, _Inverse) and self._of == other._of

    __hash__ = object.__hash__

    def __call__(self, x):
        return self._of._inv_call(x)

    def _inv_call(self, y):
        return self._of(y)

    def log_abs_det_jacobian(self, x, y):
        return -self._of.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._of.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._of.forward_shape(shape)

    def __repr__(self):
        return f"{self._of!r}.inv"


def _at_least(constraint, dims):
    extra = dims - constraint.event_dim
    return constraints.independent(constraint, extra) if extra > 0 else constraint


class ComposeTransform(Transform):
    """Transforms one after the other, the first of `parts` (list) first.

    >>> from neura.distributions import AffineTransform, ComposeTransform, ExpTransform
    >>> ComposeTransform([AffineTransform(0.0, 2.0), ExpTransform()])(neura.zeros(()))
    tensor(1.)
    """

    def __init__(self, parts, cache_size=0):
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else list(parts)

    def _event_dims(self):
        """How many event dimensions the value and the result have so that all parts find theirs."""
        before = after = 0
        for part in self.parts:
            lacking = max(0, part.domain.event_dim - after)
            before += lacking
            after += lacking + part.codomain.event_dim - part.domain.event_dim
        return before, after

    @constraints.dependent_property
    def domain(self):
        """Where values come from."""
        return _at_least(self.parts[0].domain, self._event_dims()[0]) if self.parts else constraints.real

    @constraints.dependent_property
    def codomain(self):
        """The codomain of the transform."""
        return _at_least(self.parts[-1].codomain, self._event_dims()[1]) if self.parts else constraints.real

    bijective = property(lambda self: all(part.bijective for part in self.parts))

    @property
    def sign(self):
        sign = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self):
        inverse = self._inv and self._inv()
        if inverse is None:
            inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv = weakref.ref(inverse)
            inverse._inv = lambda: self  # keeps the parts and their caches alive
        return inverse

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    def __eq__(self, other):
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def _inv_call(self, y):
        for part in reversed(self.parts):
            y = part._inv_call(y)
        return y

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return _n.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        terms, dims = [], self.domain.event_dim
        for part, before, after in zip(self.parts, values, values[1:]):
            terms.append(sum_rightmost(part.log_abs_det_jacobian(before, after), dims - part.domain.event_dim))
            dims += part.codomain.event_dim - part.domain.event_dim
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

    def forward_shape(self, shape):
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self):
        return "ComposeTransform(\n    " + ",\n    ".join(repr(part) for part in self.parts) + "\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform of the elements of a larger event: `reinterpreted_batch_ndims` more dimensions are summed over.

    >>> from neura.distributions import ExpTransform, IndependentTransform
    >>> x = neura.ones(3, 2)
    >>> IndependentTransform(ExpTransform(), 1).log_abs_det_jacobian(x, x.exp())
    tensor([2., 2., 2.])
    """

    def __init__(self, base_transform, reinterpreted_batch_ndims, cache_size=0):
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def _independent(self, constraint):
        return constraints.independent(constraint, self.reinterpreted_batch_ndims)

    domain = constraints.dependent_property(lambda self: self._independent(self.base_transform.domain))
    codomain = constraints.dependent_property(lambda self: self._independent(self.base_transform.codomain))
    bijective = property(lambda self: self.base_transform.bijective)
    sign = property(lambda self: self.base_transform.sign)

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    def _check(self, value, constraint):
        if value.dim() < constraint.event_dim:
            raise _n.errors.ShapeError(
                f"IndependentTransform: expected at least {constraint.event_dim} dimensions, got shape "
                f"{list(value.shape)}"
            )

    def _call(self, x):
        self._check(x, self.domain)
        return self.base_transform(x)

    def _inverse(self, y):
        self._check(y, self.codomain)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x, y):
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape):
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        return self.base_transform.inverse_shape(shape)

    def __repr__(self):
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"
