"""Tensors that share bytes, for files: which of them do, and how one is a view of another."""

from . import _neura


def _extent(tensor):
    """The addresses of its first byte and of the first one after it."""
    begin = tensor.data_ptr()
    last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride()))
    return begin, begin + (last + 1) * tensor.element_size()


def clusters(tensors):
    """Lists of the positions of those whose bytes overlap, as [(first address, address after, positions)]."""
    spans = [(str(t.device), *_extent(t), i) for i, t in enumerate(tensors) if t.numel()]
    found, place = [], None
    for where, begin, end, i in sorted(spans):
        if where == place and begin < found[-1][1]:
            found[-1][1] = max(found[-1][1], end)
            found[-1][2].append(i)
        else:
            found.append([begin, end, [i]])
        place = where
    return [tuple(c) for c in found if len(c[2]) > 1]


def whole(tensors, begin, end):
    """The tensor that holds the bytes from begin to end: one of these if it can be, else a flat one over all of them.

    None where the tensors are of several storages, which no tensor can show together.
    """
    for t in tensors:
        if _extent(t) == (begin, end) and t.is_contiguous():
            return t
    t = min(tensors, key=lambda t: t.element_size())
    size = t.element_size()
    offset = t.storage_offset() - (t.data_ptr() - begin) // size
    try:
        return t.detach().as_strided(((end - begin) // size,), (1,), offset)
    except RuntimeError:
        return None


def as_view(tensor, base, name):
    """How `tensor` is found within `base`, as JSON."""
    view = {
        "of": name,
        "dtype": str(tensor.dtype).split(".")[-1],
        "offset": (tensor.data_ptr() - base.data_ptr()) // tensor.element_size(),
        "size": list(tensor.shape),
        "stride": list(tensor.stride()),
    }
    return {**view, "requires_grad": True} if tensor.requires_grad else view


def from_view(view, tensors):
    """The tensor that `as_view` described. ValueError, KeyError or TypeError where that is damaged."""
    dtype = getattr(_neura, view["dtype"], None)
    base = tensors[view["of"]]
    numbers = [view["offset"], *view["size"], *view["stride"]]
    if not isinstance(dtype, _neura.dtype) or not all(type(n) is int and 0 <= n < 2**62 for n in numbers):
        raise ValueError("view")
    if dtype is _neura.bool and base.dtype is not dtype:
        bytes = _neura._io.strided(base, _neura.uint8, 0, [base.numel() * base.element_size()], [1])
        if not _neura._io.all_bools(bytes.cpu()):
            raise ValueError("view")
    result = _neura._io.strided(base, dtype, view["offset"], view["size"], view["stride"])
    return result.requires_grad_() if view.get("requires_grad") is True else result
