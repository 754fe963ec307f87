"""Kullback-Leibler divergences by pairs of classes: kl_divergence and register_kl."""

import warnings

from .. import _neura as _n
from .distribution import Distribution

__all__ = ["kl_divergence", "register_kl"]

_registry = {}
_found = {}


def register_kl(type_p, type_q):
    """Decorator: the function of (p, q) that kl_divergence calls for these two classes and those derived from them.

    Raises TypeError for what is no class of distributions.

    >>> from neura.distributions import Normal, kl_divergence, register_kl
    >>> class Sharp(Normal):
    ...     pass
    >>> @register_kl(Sharp, Sharp)
    ... def kl_of_sharp(p, q):
    ...     return neura.zeros(())
    >>> kl_divergence(Sharp(0.0, 1.0), Sharp(1.0, 1.0))
    tensor(0.)
    """
    for kind in (type_p, type_q):
        if not isinstance(kind, type) or not issubclass(kind, Distribution):
            raise TypeError(f"register_kl: expected classes of distributions, got {kind!r}")

    def add(fun):
        _registry[type_p, type_q] = fun
        _found.clear()
        return fun

    return add


def _distance(kind, base):
    return kind.__mro__.index(base)


def _find(type_p, type_q):
    """The function of the nearest pair of classes; of two equally near, the one nearer to p, with a warning."""
    fits = [(p, q) for p, q in _registry if issubclass(type_p, p) and issubclass(type_q, q)]
    if not fits:
        return None
    left = min(fits, key=lambda pair: (_distance(type_p, pair[0]), _distance(type_q, pair[1])))
    right = min(fits, key=lambda pair: (_distance(type_q, pair[1]), _distance(type_p, pair[0])))
    if _registry[left] is not _registry[right]:
        names = [f"({p.__name__}, {q.__name__})" for p, q in (left, right)]
        warnings.warn(
            f"kl_divergence({type_p.__name__}, {type_q.__name__}): both {names[0]} and {names[1]} fit, and the first "
            "is taken; register the pair itself",
            RuntimeWarning,
            stacklevel=3,
        )
    return _registry[left]


def kl_divergence(p, q):
    """KL(p || q), the mean under p of log p - log q, of the common batch shape.

    Raises NotImplementedError where no function is registered for the two classes.

    >>> from neura.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    pair = type(p), type(q)
    if pair not in _found:
        _found[pair] = _find(*pair)
    if _found[pair] is None:
        raise _n.errors.NotImplementedError(
            f"kl_divergence: has no formula for {pair[0].__name__} and {pair[1].__name__}; register one by register_kl"
        )
    return _found[pair](p, q)


from . import _kl_pairs, _kl_same  # noqa: E402,F401
