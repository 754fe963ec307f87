"""Sets of values that parameters and samples are in: each says of a tensor which of its values belong to it.

>>> from neura.distributions import constraints
>>> constraints.positive.check(neura.tensor([-1.0, 2.0]))
tensor([False,  True])
"""

from .. import _neura as _n
from .._limits import finfo
from .. import linalg as _linalg

__all__ = (
    "Constraint MixtureSameFamilyConstraint boolean cat corr_cholesky dependent dependent_property greater_than "
    "greater_than_eq half_open_interval independent integer_interval interval is_dependent less_than lower_cholesky "
    "lower_triangular multinomial nonnegative nonnegative_integer one_hot positive positive_definite positive_integer "
    "positive_semidefinite real real_vector simplex square stack symmetric unit_interval"
).split()


class Constraint:
    """Base of sets of values. `is_discrete`: is it countable? `event_dim`: how many last dimensions one value has."""

    is_discrete = False
    event_dim = 0

    def check(self, value):
        """A bool tensor of shape value.shape without the last event_dim dimensions: which values are in the set."""
        raise _n.errors.NotImplementedError(f"{type(self).__name__}: has no check; define it")

    def __repr__(self):
        given = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"{type(self).__name__.lstrip('_')}({given})"


class _Dependent(Constraint):
    """A set that depends on other values, such as the support of a distribution on its parameters."""

    def __init__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    @property
    def is_discrete(self):
        if self._is_discrete is NotImplemented:
            raise _n.errors.NotImplementedError("Dependent: is_discrete is not known; ask an instance")
        return self._is_discrete

    @property
    def event_dim(self):
        if self._event_dim is NotImplemented:
            raise _n.errors.NotImplementedError("Dependent: event_dim is not known; ask an instance")
        return self._event_dim

    def __call__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value):
        raise _n.errors.ValueError("Dependent: expected a set that is known, got one that depends; ask an instance")

    def __repr__(self):
        return f"{type(self).__name__.lstrip('_')}()"


def is_dependent(constraint):
    """True if the constraint depends on other values."""
    return isinstance(constraint, _Dependent)


class dependent_property(property, _Dependent):
    """A property that gives a constraint; on the class itself, a constraint that depends.

    Used bare, or with what is known of all instances: @dependent_property(is_discrete=False, event_dim=0).
    """

    def __init__(self, fn=None, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        property.__init__(self, fn, doc=fn and fn.__doc__ or "Which values there are.")
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn):
        return dependent_property(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    """Values whose last dimensions belong together, and each of whose elements is in another set."""

    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        if not isinstance(base_constraint, Constraint) or not isinstance(reinterpreted_batch_ndims, int):
            raise _n.errors.ValueError(
                "independent: expected a constraint and an int, got "
                f"{type(base_constraint).__name__} and {type(reinterpreted_batch_ndims).__name__}"
            )
        if reinterpreted_batch_ndims < 0:
            raise _n.errors.ValueError(f"independent: expected 0 dimensions or more, got {reinterpreted_batch_ndims}")
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value):
        within = self.base_constraint.check(value)
        if within.dim() < self.reinterpreted_batch_ndims:
            raise _n.errors.ShapeError(
                f"independent: expected at least {self.event_dim} dimensions, got a tensor of shape {list(value.shape)}"
            )
        for _ in range(self.reinterpreted_batch_ndims):
            within = within.all(-1)
        return within

    def __repr__(self):
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The union of the supports of a mixture's components, which are a last dimension of the base constraint."""

    def __init__(self, base_constraint):
        if not isinstance(base_constraint, Constraint):
            raise _n.errors.ValueError(
                f"MixtureSameFamilyConstraint: expected a constraint, got {type(base_constraint).__name__}"
            )
        self.base_constraint = base_constraint

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim

    def check(self, value):
        inner = self.event_dim
        within = self.base_constraint.check(value.unsqueeze(-1 - inner))
        return within.any(-1)

    def __repr__(self):
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value):
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value):
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


def _whole(value):
    return value % 1 == 0


class _IntegerInterval(Constraint):
    is_discrete = True

    def __init__(self, lower_bound, upper_bound):
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def check(self, value):
        return _whole(value) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerGreaterThan(Constraint):
    is_discrete = True

    def __init__(self, lower_bound):
        self.lower_bound = lower_bound

    def check(self, value):
        return _whole(value) & (value >= self.lower_bound)


class _Multinomial(Constraint):
    """Counts along the last dimension whose sum is at most a bound."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, value):
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class _Real(Constraint):
    def check(self, value):
        return value == value  # all but NaN


class _GreaterThan(Constraint):
    def __init__(self, lower_bound):
        self.lower_bound = lower_bound

    def check(self, value):
        return self.lower_bound < value


class _GreaterThanEq(Constraint):
    def __init__(self, lower_bound):
        self.lower_bound = lower_bound

    def check(self, value):
        return self.lower_bound <= value


class _LessThan(Constraint):
    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, value):
        return value < self.upper_bound


class _Interval(Constraint):
    def __init__(self, lower_bound, upper_bound):
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def check(self, value):
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(Constraint):
    def __init__(self, lower_bound, upper_bound):
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def check(self, value):
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _Simplex(Constraint):
    """Positive values along the last dimension whose sum is 1, to 1e-6."""

    event_dim = 1

    def check(self, value):
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value):
        return (value == value.tril()).all(-1).all(-1)


class _LowerCholesky(Constraint):
    """Lower triangles with a positive diagonal."""

    event_dim = 2

    def check(self, value):
        return lower_triangular.check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(Constraint):
    """Cholesky factors of correlation matrices: lower triangles with a positive diagonal and rows of norm 1."""

    event_dim = 2

    def check(self, value):
        near = 10 * value.shape[-1] * finfo(value.dtype).eps
        rows = _linalg.vector_norm(value, dim=-1)
        return lower_cholesky.check(value) & ((rows - 1).abs() <= near).all(-1)


class _Square(Constraint):
    event_dim = 2

    def check(self, value):
        is_square = value.dim() >= 2 and value.shape[-2] == value.shape[-1]
        return _n.full(tuple(value.shape[:-2]), is_square, dtype=_n.bool, device=value.device)


class _Symmetric(_Square):
    def check(self, value):
        square = super().check(value)
        return square if not square.all() else _n.isclose(value, value.mT, atol=1e-6).all(-1).all(-1)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value):
        alike = super().check(value)
        return alike if not alike.all() else (_linalg.eigvalsh(value) >= 0).all(-1)


class _PositiveDefinite(_Symmetric):
    def check(self, value):
        alike = super().check(value)
        return alike if not alike.all() else _linalg.cholesky_ex(value).info == 0


class _Cat(Constraint):
    """Sets side by side along one dimension, each for as many elements as `lengths` says, else one."""

    def __init__(self, cseq, dim=0, lengths=None):
        self.cseq = list(cseq)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        self.dim = dim
        if len(self.lengths) != len(self.cseq) or not all(isinstance(c, Constraint) for c in self.cseq):
            raise _n.errors.ValueError(
                f"cat: expected constraints and as many lengths, got {len(self.cseq)} and {len(self.lengths)}"
            )

    @property
    def is_discrete(self):
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self):
        return max(c.event_dim for c in self.cseq)

    def check(self, value):
        parts = value.split(self.lengths, self.dim)
        return _n.cat([c.check(part) for c, part in zip(self.cseq, parts)], self.dim)


class _Stack(Constraint):
    """Sets side by side along one dimension, one for each index."""

    def __init__(self, cseq, dim=0):
        self.cseq = list(cseq)
        self.dim = dim
        if not all(isinstance(c, Constraint) for c in self.cseq):
            raise _n.errors.ValueError("stack: expected constraints, got another object")

    @property
    def is_discrete(self):
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self):
        inner = max(c.event_dim for c in self.cseq)
        return inner + 1 if self.dim + inner < 0 else inner

    def check(self, value):
        parts = value.unbind(self.dim)
        return _n.stack([c.check(part) for c, part in zip(self.cseq, parts)], self.dim)


dependent = _Dependent()
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
multinomial = _Multinomial
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
