"""From a constraint to a transform of unconstrained numbers: biject_to, always a bijection, and transform_to.

>>> from neura.distributions import biject_to, constraints
>>> biject_to(constraints.positive)(neura.zeros(2))
tensor([1., 1.])
"""

from .. import _neura as _n
from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Functions from a constraint to a transform, by the constraint's class."""

    def __init__(self):
        self._registry = {}

    def register(self, constraint, factory=None):
        """Says how to make the transform for a constraint, given as an object or as its class; also as a decorator.

        factory (function): gets the constraint and gives the transform. Raises TypeError for what is no constraint.
        """
        if factory is None:
            return lambda f: self.register(constraint, f)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(f"register: expected a constraint or its class, got {constraint!r}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint):
        """The transform to the constraint; NotImplementedError where none is registered."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise _n.errors.NotImplementedError(
                f"{type(constraint).__name__}: has no transform to it; register one with `register`"
            )
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(*kinds):
    def add(factory):
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return add


@_both(constraints.real)
def _to_real(constraint):
    return transforms.identity_transform


def _independent(registry):
    def make(constraint):
        inner = registry(constraint.base_constraint)
        return transforms.IndependentTransform(inner, constraint.reinterpreted_batch_ndims)

    return make


@_both(constraints.greater_than, constraints.greater_than_eq)
def _to_greater_than(constraint):
    affine = transforms.AffineTransform(constraint.lower_bound, 1)
    return transforms.ComposeTransform([transforms.ExpTransform(), affine])


@_both(constraints.less_than)
def _to_less_than(constraint):
    affine = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([transforms.ExpTransform(), affine])


@_both(constraints.interval, constraints.half_open_interval)
def _to_interval(constraint):
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


@_both(constraints.corr_cholesky)
def _to_corr_cholesky(constraint):
    return transforms.CorrCholeskyTransform()


def _cat(registry):
    def make(constraint):
        parts = [registry(c) for c in constraint.cseq]
        return transforms.CatTransform(parts, constraint.dim, constraint.lengths)

    return make


def _stack(registry):
    return lambda constraint: transforms.StackTransform([registry(c) for c in constraint.cseq], constraint.dim)


for _registry in (biject_to, transform_to):
    _registry.register(constraints.independent, _independent(_registry))
    _registry.register(constraints.cat, _cat(_registry))
    _registry.register(constraints.stack, _stack(_registry))
del _registry

biject_to.register(constraints.simplex, lambda constraint: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda constraint: transforms.LowerCholeskyTransform())
for _kind in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_kind, lambda constraint: transforms.PositiveDefiniteTransform())
del _kind
