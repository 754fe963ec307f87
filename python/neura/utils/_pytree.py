"""Tensors within lists, tuples, dictionaries and classes that a program registers: as a flat list and back.

>>> from neura.utils import _pytree
>>> leaves, spec = _pytree.tree_flatten({"a": [1, 2], "b": (3,)})
>>> leaves, _pytree.tree_unflatten([v * 10 for v in leaves], spec)
([1, 2, 3], {'a': [10, 20], 'b': (30,)})
"""

from collections import OrderedDict, defaultdict, deque

_nodes = {}  # how to look into a class: (flatten_fn, unflatten_fn)


def register_pytree_node(cls, flatten_fn, unflatten_fn, **kwargs):
    """Lets objects of a class be looked into: flatten_fn(x) is (children, context), unflatten_fn(children, context)."""
    if cls in _nodes:
        raise ValueError(f"register_pytree_node: expected a class that is not known yet, got {cls}")
    _nodes[cls] = (flatten_fn, unflatten_fn)


_register_pytree_node = register_pytree_node


def _fill_default(values, context):
    made = defaultdict(context[0])
    made.update(zip(context[1], values))
    return made


register_pytree_node(list, lambda x: (x, None), lambda v, c: list(v))
register_pytree_node(tuple, lambda x: (list(x), None), lambda v, c: tuple(v))
register_pytree_node(dict, lambda x: (list(x.values()), list(x)), lambda v, c: dict(zip(c, v)))
register_pytree_node(OrderedDict, lambda x: (list(x.values()), list(x)), lambda v, c: OrderedDict(zip(c, v)))
register_pytree_node(deque, lambda x: (list(x), x.maxlen), lambda v, c: deque(v, c))
register_pytree_node(defaultdict, lambda x: (list(x.values()), (x.default_factory, list(x))), _fill_default)


def _is_named(x):
    return isinstance(x, tuple) and hasattr(x, "_fields")


class TreeSpec:
    """How a structure is made of its leaves: type, context and children_specs. type None: a leaf."""

    def __init__(self, type, context, children_specs):
        self.type, self.context, self.children_specs = type, context, children_specs
        self.num_leaves = 1 if type is None else sum(c.num_leaves for c in children_specs)
        self.num_children = len(children_specs)

    def __eq__(self, other):
        return isinstance(other, TreeSpec) and all(
            getattr(self, name) == getattr(other, name) for name in ("type", "context", "children_specs")
        )

    __hash__ = None

    def __repr__(self):
        if self.type is None:
            return "*"
        return f"TreeSpec({self.type.__name__}, {self.context}, {self.children_specs})"

    def is_leaf(self):
        """True for a leaf."""
        return self.type is None

    def unflatten(self, leaves):
        """tree_unflatten(leaves, self)."""
        return tree_unflatten(leaves, self)


def tree_flatten(tree, is_leaf=None):
    """(the leaves in order, the TreeSpec). is_leaf(x): where to stop before the inside of x."""
    leaves = []

    def walk(x):
        kind = type(x)
        if (is_leaf is not None and is_leaf(x)) or not (kind in _nodes or _is_named(x)):
            leaves.append(x)
            return TreeSpec(None, None, [])
        children, context = (list(x), None) if _is_named(x) and kind not in _nodes else _nodes[kind][0](x)
        return TreeSpec(kind, context, [walk(c) for c in children])

    spec = walk(tree)
    return leaves, spec


def tree_unflatten(leaves, treespec):
    """The structure of these leaves. ValueError unless there are as many as the spec wants."""
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(f"tree_unflatten: expected {treespec.num_leaves} leaves, got {len(leaves)}")
    at = iter(leaves)

    def build(spec):
        if spec.type is None:
            return next(at)
        children = [build(c) for c in spec.children_specs]
        if spec.type in _nodes:
            return _nodes[spec.type][1](children, spec.context)
        return spec.type(*children)

    return build(treespec)


def tree_leaves(tree, is_leaf=None):
    """The leaves in order."""
    return tree_flatten(tree, is_leaf)[0]


tree_iter = tree_leaves


def tree_structure(tree, is_leaf=None):
    """The TreeSpec."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func, tree, *rests, is_leaf=None):
    """The structure of func(leaf, and the leaves of rests in the same place). ValueError where rests differ."""
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves]
    for rest in rests:
        others, other = tree_flatten(rest, is_leaf)
        if len(others) != len(leaves) or other != spec:
            raise ValueError(f"tree_map: expected trees of one structure, got {spec} and {other}")
        columns.append(others)
    return tree_unflatten([func(*values) for values in zip(*columns)], spec)


def tree_map_(func, tree, *rests, is_leaf=None):
    """Calls func as tree_map does; returns the tree."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _asks(kinds):
    return kinds if callable(kinds) and not isinstance(kinds, type) else lambda x: isinstance(x, kinds)


def tree_map_only(type_or_types_or_pred, func, tree, is_leaf=None):
    """tree_map of the leaves of these types, or of which a function says so; the others stay."""
    wanted = _asks(type_or_types_or_pred)
    return tree_map(lambda x: func(x) if wanted(x) else x, tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """True if pred is true of every leaf."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """True if pred is true of any leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(type_or_types, pred, tree, is_leaf=None):
    """True if pred is true of every leaf of these types."""
    return all(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types, pred, tree, is_leaf=None):
    """True if pred is true of any leaf of these types."""
    return any(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types))
