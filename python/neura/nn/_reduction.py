"""How losses are put together, by PyTorch's words of old and by its numbers."""

from .._neura import _reductions, errors


def get_enum(reduction):
    """0, 1 or 2 for 'none', 'mean' or 'sum'."""
    if reduction not in _reductions:
        raise errors.ValueError(f"reduction: expected 'none', 'mean' or 'sum', got {reduction!r}")
    return _reductions.index(reduction)


def legacy_get_string(size_average, reduce, emit_warning=True):
    """'none', 'mean' or 'sum' for size_average and reduce, each True where it is None."""
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def legacy_get_enum(size_average, reduce, emit_warning=True):
    """get_enum of legacy_get_string."""
    return get_enum(legacy_get_string(size_average, reduce))
