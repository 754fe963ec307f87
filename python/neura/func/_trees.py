"""Nested structures of tensors: dicts, lists, tuples and named tuples, and the leaves in them."""

from collections import OrderedDict, defaultdict

_LEAF = object()


def _is_namedtuple(value):
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _children(value):
    """The parts of a node in order, and what makes a node of as many parts; None for a leaf."""
    kind = type(value)
    if kind is dict or kind is OrderedDict or kind is defaultdict:
        keys = list(value)
        if kind is defaultdict:
            made_by = value.default_factory
            return [value[k] for k in keys], lambda parts: defaultdict(made_by, zip(keys, parts))
        return [value[k] for k in keys], lambda parts: kind(zip(keys, parts))
    if kind is list or kind is tuple:
        return list(value), kind
    if _is_namedtuple(value):
        return list(value), lambda parts: kind(*parts)
    return None


def _walk(value, leaves):
    found = _children(value)
    if found is None:
        leaves.append(value)
        return _LEAF
    parts, make = found
    return [_walk(p, leaves) for p in parts], make


def _build(shape, values):
    if shape is _LEAF:
        return next(values)
    parts, make = shape
    return make([_build(p, values) for p in parts])


def flatten(tree):
    """The leaves in order, and a function that makes the same structure of other leaves."""
    leaves = []
    shape = _walk(tree, leaves)
    return leaves, lambda values: _build(shape, iter(values))


def map_leaves(function, tree):
    """The same structure of function(leaf)."""
    leaves, build = flatten(tree)
    return build([function(x) for x in leaves])


def spread(prefix, tree, is_leaf, what):
    """prefix for every leaf of tree: a leaf of it stands for all that is at its place.

    is_leaf says what is a leaf of prefix. Raises ValueError where the structures do not fit; what names prefix.
    """
    if is_leaf(prefix):
        return [prefix] * len(flatten(tree)[0])
    given, found = _children(prefix), _children(tree)
    same = given is not None and found is not None and len(given[0]) == len(found[0])
    same = same and (isinstance(prefix, dict) == isinstance(tree, dict))
    if same and isinstance(prefix, dict):
        same = set(prefix) == set(tree)
    if not same:
        raise ValueError(f"{what}: expected the structure of what it is for, or a prefix of it, got {prefix!r}")
    if isinstance(prefix, dict):
        pairs = [(prefix[k], tree[k]) for k in tree]
    else:
        pairs = list(zip(given[0], found[0]))
    return [d for a, b in pairs for d in spread(a, b, is_leaf, what)]
