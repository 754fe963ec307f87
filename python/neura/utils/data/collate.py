"""From a list of items to a batch."""

import collections.abc as abc
import copy
import sys

from ... import _neura

Tensor = _neura.Tensor


def _array_type(value):
    """NumPy's kind of this value: "array", "number" or None. NumPy is not loaded to find out."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, (numpy.ndarray, numpy.generic)):
        return None
    return "array" if isinstance(value, numpy.ndarray) else "number"


def _rebuilt(like, values):
    """A sequence of the type of ``like`` with these values; a plain list where that type cannot be made."""
    try:
        if isinstance(like, abc.MutableSequence):
            clone = copy.copy(like)
            for i, value in enumerate(values):
                clone[i] = value
            return clone
        return type(like)(values)
    except TypeError:
        return values


def _mapped(like, values):
    """A mapping of the type of ``like`` with these values (a dict); a plain dict where that type cannot be made."""
    try:
        if isinstance(like, abc.MutableMapping):
            clone = copy.copy(like)
            clone.update(values)
            return clone
        return type(like)(values)
    except TypeError:
        return values


def walk(value, leaf, tuples=tuple):
    """``leaf(part)`` of every part of nested mappings, named tuples and sequences; text is a part. ``tuples``: what a
    tuple becomes."""
    if isinstance(value, (str, bytes, Tensor)) or _array_type(value):
        return leaf(value)
    if isinstance(value, abc.Mapping):
        return _mapped(value, {k: walk(v, leaf, tuples) for k, v in value.items()})
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(walk(v, leaf, tuples) for v in value))
    if isinstance(value, tuple):
        return tuples(walk(v, leaf, tuples) for v in value)
    if isinstance(value, abc.Sequence):
        return _rebuilt(value, [walk(v, leaf, tuples) for v in value])
    return leaf(value)


def default_convert(data):
    """Arrays and numbers of NumPy become tensors, inside of mappings, named tuples and sequences too; what else there
    is stays as it is.

    >>> from neura.utils.data import default_convert
    >>> default_convert({"x": 1, "text": "a"})
    {'x': 1, 'text': 'a'}
    """

    def leaf(value):
        kind = _array_type(value)
        if kind == "array" and value.dtype.kind in "SUO":
            return value
        return _neura.as_tensor(value) if kind else value

    return walk(data, leaf, tuples=list)  # as in torch


def _tensors(batch):
    if any(type(t) is not Tensor for t in batch):
        return _neura.stack(list(batch), 0)
    return _neura._data.stack(batch)


def _arrays(batch):
    if batch[0].dtype.kind in "SUO":
        raise TypeError(f"default_collate: expected arrays of numbers, got dtype {batch[0].dtype}")
    return default_collate([_neura.as_tensor(a) for a in batch])


def _named(batch):
    return type(batch[0])(*(default_collate(part) for part in zip(*batch)))


def _sequences(batch):
    first = batch[0]
    if any(len(item) != len(first) for item in batch):
        sizes = sorted({len(item) for item in batch})
        raise RuntimeError(
            f"default_collate: expected items of equal size in a batch, got sizes {sizes}; "
            "pad them in a collate_fn of your own"
        )
    parts = [default_collate(part) for part in zip(*batch)]
    return parts if isinstance(first, tuple) else _rebuilt(first, parts)


def default_collate(batch):
    """Collates a list of items into a batch: tensors are stacked along a new first dimension, numbers become a tensor
    (float: float64, int: int64, bool: bool), arrays become tensors and are stacked, text stays a list, and mappings,
    tuples and sequences are collated part by part (a tuple gives a list, a named tuple one of its kind).

    Raises TypeError for other types, ShapeError for tensors and RuntimeError for sequences of unequal size.

    >>> from neura.utils.data import default_collate
    >>> default_collate([0, 1, 2])
    tensor([0, 1, 2])
    >>> default_collate([("a", 1.5), ("b", 2.5)])
    [('a', 'b'), tensor([1.5000, 2.5000], dtype=neura.float64)]
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return _tensors(batch)
    if isinstance(first, (str, bytes)):
        return batch
    kind = _array_type(first)
    if kind:
        return _arrays(batch) if kind == "array" and first.shape else _neura.as_tensor(_numbers(batch, first))
    if isinstance(first, float):
        return _neura.tensor(batch, dtype=_neura.float64)
    if isinstance(first, int):
        return _neura.tensor(batch)
    if isinstance(first, abc.Mapping):
        return _mapped(first, {key: default_collate([item[key] for item in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return _named(batch)
    if isinstance(first, abc.Sequence):
        return _sequences(batch)
    raise TypeError(
        "default_collate: expected items of tensors, arrays, numbers, text, mappings and sequences, got "
        f"{type(first).__module__}.{type(first).__qualname__}; give the loader a collate_fn of your own"
    )


def _numbers(batch, first):
    return sys.modules["numpy"].array(batch, dtype=first.dtype)


def collate(batch, *, collate_fn_map=None):
    """default_collate, where collate_fn_map defines for types how a list of values becomes a batch.

    collate_fn_map: {type or tuple of types: function(values, collate_fn_map=...)}; what it does not know, also inside
    of lists, tuples and dictionaries, becomes what default_collate makes of it.
    """
    first = batch[0]
    for kinds, function in (collate_fn_map or {}).items():
        if isinstance(first, kinds):
            return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, abc.Mapping):
        return _mapped(first, {key: collate([b[key] for b in batch], collate_fn_map=collate_fn_map) for key in first})
    if isinstance(first, abc.Sequence) and not isinstance(first, (str, bytes)):
        if any(len(b) != len(first) for b in batch):
            return default_collate(batch)  # which says what is wrong
        columns = [collate(list(values), collate_fn_map=collate_fn_map) for values in zip(*batch)]
        if isinstance(first, tuple):
            return type(first)(*columns) if hasattr(first, "_fields") else columns
        return _rebuilt(first, columns)
    return default_collate(batch)


default_collate_fn_map = {}  # types that a program adds for collate
