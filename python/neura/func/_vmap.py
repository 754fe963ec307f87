"""vmap: a function of samples becomes a function of batches."""

import functools

from .. import _neura
from ._trees import flatten, spread

_Tensor = _neura.Tensor


def _is_dim(value):
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


def _places(in_dims, args, name):
    """For every leaf of args the dimension that holds the samples, or None; and their number."""
    if not isinstance(in_dims, (int, tuple, list)) or isinstance(in_dims, bool):
        raise ValueError(f"vmap: expected in_dims to be an int or a tuple, got {in_dims!r}")
    if not args:
        raise ValueError(
            f"vmap: expected inputs of {name}, got none; a function without inputs has nothing to map over"
        )
    prefix = in_dims if isinstance(in_dims, int) else tuple(in_dims)
    leaves, build = flatten(args)
    dims = spread(prefix, args, _is_dim, "in_dims")
    size = None
    for i, (leaf, dim) in enumerate(zip(leaves, dims)):
        if not _is_dim(dim):
            raise ValueError(f"in_dims: expected integers or None, got {dim!r}")
        if dim is None:
            continue
        if not isinstance(leaf, _Tensor):
            raise ValueError(
                f"vmap: expected a tensor where in_dims says {dim}, got {type(leaf).__name__}; say None there"
            )
        if not -leaf.ndim <= dim < leaf.ndim:
            raise ValueError(
                f"vmap: expected in_dims to be a dimension of an input of {leaf.ndim} dimensions, got {dim}"
            )
        dims[i] = dim % leaf.ndim
        if size is None:
            size = leaf.shape[dim]
        elif size != leaf.shape[dim]:
            raise ValueError(
                f"vmap: expected as many samples in all mapped dimensions, got {size} and {leaf.shape[dim]}"
            )
    if size is None:
        raise ValueError("vmap: expected in_dims to name a dimension of at least one input, got None for all")
    return leaves, dims, build, size


def _run(func, leaves, dims, build, size, out_dims, randomness, kwargs):
    """The leaves of the results, their dimensions and their structure."""
    level = _neura._BatchLevel(size, randomness)
    try:
        inside = [x if d is None else level.wrap(x, d) for x, d in zip(leaves, dims)]
        result = func(*build(inside), **kwargs)
        outputs, rebuild = flatten(result)
        places = spread(out_dims, result, _is_dim, "out_dims")
        outside = []
        for y, d in zip(outputs, places):
            if not isinstance(y, _Tensor):
                raise ValueError(f"vmap: expected the function to give tensors, got {type(y).__name__}")
            if d is not None:
                outside.append((level, y, d))
            elif level.is_batched(y):
                raise ValueError(
                    "vmap: expected out_dims None only for results that are one for all samples, got a batch"
                )
            else:
                outside.append((level, y, None))
        values = [level.unwrap(y, 0) for level, y, _ in outside]
    finally:
        level.close()
    moved = [v.movedim(0, d) if d else v[0] if d is None else v for v, (_, _, d) in zip(values, outside)]
    return moved, places, rebuild


def _chunked(func, leaves, dims, build, size, out_dims, randomness, kwargs, chunk_size):
    parts = []
    for start in range(0, size, chunk_size):
        n = min(chunk_size, size - start)
        piece = [x if d is None else x.narrow(d, start, n) for x, d in zip(leaves, dims)]
        parts.append(_run(func, piece, dims, build, n, out_dims, randomness, kwargs))
    _, places, rebuild = parts[0]
    columns = zip(*(values for values, _, _ in parts))
    return rebuild([c[0] if d is None else _neura.cat(list(c), d) for c, d in zip(columns, places)])


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """Vectorises func, a function of one sample, over a batch of samples.

    in_dims: the batch dimension of each input, an int for all or a structure like the inputs', with None for inputs
    that all samples share. out_dims: the batch dimension of each result. randomness: whether drawing random numbers
    inside is an 'error', gives all samples the 'same' ones, or 'different' ones. chunk_size: at most so many at a
    time. Inside, a tensor has the sizes of one sample; its values cannot be read, so Python's control flow cannot
    depend on them. Calls nest, and go together with grad, jvp and the others.

    Raises ValueError where sizes or structures do not fit, AutogradError where a value is read or random numbers are
    drawn with 'error', InplaceError where what the samples share is written in place with what they do not.

    >>> x, y = neura.tensor([[1., 2.], [3., 4.]]), neura.tensor([[1., 0.], [0., 1.]])
    >>> neura.func.vmap(neura.dot)(x, y)
    tensor([1., 4.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"vmap: expected randomness to be 'error', 'different' or 'same', got {randomness!r}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: expected chunk_size of at least 1 or None, got {chunk_size}")

    @functools.wraps(func)
    def mapped(*args, **kwargs):
        leaves, dims, build, size = _places(in_dims, args, getattr(func, "__name__", "the function"))
        given = (func, leaves, dims, build, size, out_dims, randomness, kwargs)
        if chunk_size is not None and chunk_size < size:
            return _chunked(*given, chunk_size)
        values, _, rebuild = _run(*given)
        return rebuild(values)

    return mapped
