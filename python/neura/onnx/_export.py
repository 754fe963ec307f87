"""neura.onnx.export: what a model computes, as an ONNX file."""

import contextlib
import enum
import inspect
import os

from .. import _neura
from .._neura import errors as _errors
from ..nn.modes import in_mode


class TrainingMode(enum.Enum):
    """The mode a model is exported in: EVAL, PRESERVE (the one it is in) or TRAINING.

    >>> import neura
    >>> neura.onnx.TrainingMode.EVAL.name
    'EVAL'
    """

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


def _mode(model, training):
    if training is TrainingMode.PRESERVE or not hasattr(model, "modules"):
        return contextlib.nullcontext()
    return in_mode(model, training is TrainingMode.TRAINING)


def _is_tensor(x):
    return isinstance(x, _neura.Tensor)


def _flatten(x, path, found):
    """Tensors of nested arguments or results, with their paths."""
    if _is_tensor(x):
        found.append((path, x))
    elif isinstance(x, dict):
        for key, item in x.items():
            _flatten(item, path + (key,), found)
    elif isinstance(x, (tuple, list)):
        for i, item in enumerate(x):
            _flatten(item, path + (i,), found)


def _with_tensors(x, tensors):
    """x with its tensors replaced by the next ones."""
    if _is_tensor(x):
        return next(tensors)
    if isinstance(x, dict):
        return {key: _with_tensors(item, tensors) for key, item in x.items()}
    if isinstance(x, (tuple, list)):
        items = [_with_tensors(item, tensors) for item in x]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    return x


def _argument_names(model, args, kwargs):
    """The names of the arguments as forward() has them: one for each of args, then kwargs."""
    function = getattr(model, "forward", model)
    try:
        known = [p.name for p in inspect.signature(function).parameters.values() if p.kind in (0, 1)]
    except (TypeError, ValueError):
        known = []
    known = known if len(known) >= len(args) else [f"input_{i}" for i in range(len(args))]
    return known[: len(args)] + list(kwargs)


def _input_names(arguments, found, given, taken):
    names = list(given or [])
    for path, _ in found[len(names) :]:
        name = "_".join([arguments[path[0]], *map(str, path[1:])])
        while name in taken or name in names:
            name += "_in"
        names.append(name)
    return names


def _size_name(size, input_name, dim):
    """A dynamic size is a name, or an object that has one (torch.export.Dim); None and integers are fixed."""
    if size is None or isinstance(size, int):
        return None
    if isinstance(size, str):
        return size
    return getattr(size, "__name__", None) or f"{input_name}_{dim}"


def _dims_of(sizes, rank, input_name):
    if sizes is None:
        return
    if isinstance(sizes, dict):
        items = sizes.items()
    elif all(isinstance(s, int) for s in sizes):  # a list of dimensions
        items = [(dim, f"{input_name}_{dim}") for dim in sizes]
    else:
        items = enumerate(sizes)
    for dim, size in items:
        name = _size_name(size, input_name, dim)
        if not -rank <= dim < rank:
            raise _errors.IndexError(f'onnx.export: expected dimensions of "{input_name}" below {rank}, got {dim}')
        if name is not None:
            yield dim % rank, name


def _dynamic(found, names, arguments, dynamic_shapes, dynamic_axes):
    """(input, dimension, name) of each dynamic size. dynamic_axes goes by names of inputs, dynamic_shapes by those of
    arguments or their places."""
    out = []
    for i, (path, tensor) in enumerate(found):
        sizes = (dynamic_axes or {}).get(names[i])
        if dynamic_shapes is not None:
            sizes = dynamic_shapes
            for step in (path[0] if not isinstance(sizes, dict) else arguments[path[0]], *path[1:]):
                if isinstance(sizes, dict):
                    sizes = sizes.get(step)
                else:
                    sizes = sizes[step] if sizes is not None and step < len(sizes) else None
        out += [(i, dim, name) for dim, name in _dims_of(sizes, tensor.dim(), names[i])]
    return out


def _weights(external_data):
    places = {None: 0, False: 1, True: 2, "safetensors": 3}
    if external_data not in places:
        raise _errors.ValueError(
            f'onnx.export: expected external_data to be None, False, True or "safetensors", got {external_data!r}'
        )
    return places[external_data]


def _named(model):
    names = {}
    for member in ("named_parameters", "named_buffers"):
        if hasattr(model, member):
            names.update(getattr(model, member)(remove_duplicate=False))
    return list(names.items())


def export(
    model,
    args=(),
    f=None,
    *,
    kwargs=None,
    verbose=None,
    input_names=None,
    output_names=None,
    opset_version=None,
    external_data=None,
    dynamic_shapes=None,
    verify=False,
    export_params=True,
    dynamic_axes=None,
    training=TrainingMode.EVAL,
):
    """Writes what a model computes as an ONNX file.

    model: a module, or a function of tensors. It is called with the example, and the operations that run become nodes:
    branches and loops of Python are as in that call (see `neura.graph.trace`).
    args, kwargs: the example; a tensor, or a tuple of tensors, of nested lists, tuples and dictionaries of them, and of
    other values, which are fixed.
    f: a path, a file open for binary writing, or None: the bytes are returned.
    input_names, output_names: the first ones; the others are called as forward's arguments, and output_0, output_1.
    opset_version: 13 to 24; None: 18.
    external_data: where weights are stored. None: in the file, or next to it in `<f>.data` above 1.9 GB; True: next to
    it; False: in the file; "safetensors": in a safetensors file of the same name, which is one of its own, too.
    dynamic_shapes: sizes that the file leaves open, as {"x": {0: "batch"}} by argument, or by place; equal names
    are equal sizes. dynamic_axes: the same by names of inputs. Sizes are found by calling the model with several.
    verify: reads the file and compares its results for the example with the model's.
    export_params: False: parameters are inputs of the file, after the others.
    training: the mode of the model meanwhile. verbose: prints what was written.

    Tensors keep their names of `state_dict`; one that several modules share is there once.

    Raises NotImplementedError that names an operation which ONNX has no operators for, and the module around it;
    ValueError for a model that reads values or writes its own memory, and for sizes that do not follow from the dynamic
    ones by a product and a sum; IndexError for a dimension that is not there. No file is written then.

    >>> import neura, io
    >>> net = neura.nn.Sequential(neura.nn.Linear(3, 4), neura.nn.ReLU())
    >>> data = neura.onnx.export(net, neura.ones(2, 3), dynamic_axes={"input": {0: "batch"}})
    >>> neura.onnx.load(data)(neura.ones(5, 3)).shape
    neura.Size([5, 4])
    """
    args = args if isinstance(args, tuple) else (args,)
    values = list(args) + list((kwargs or {}).values())
    found = []
    _flatten(values, (), found)
    named = _named(model)
    arguments = _argument_names(model, args, kwargs or {})
    if input_names is not None and len(input_names) > len(found):
        raise _errors.ValueError(
            f"onnx.export: expected at most {len(found)} input_names, got {len(input_names)}; one per tensor"
        )
    names = _input_names(arguments, found, input_names, {name for name, _ in named})

    def call(*tensors):
        given = _with_tensors(values, iter(tensors))
        result = model(*given[: len(args)], **dict(zip(kwargs or {}, given[len(args) :])))
        out = []
        _flatten(result, (), out)
        return tuple(t for _, t in out)

    options = {
        "input_names": names,
        "output_names": list(output_names or []),
        "opset_version": 18 if opset_version is None else opset_version,
        "export_params": export_params,
        "weights": _weights(external_data),
        "dynamic": _dynamic(found, names, arguments, dynamic_shapes, dynamic_axes),
    }
    example = tuple(t for _, t in found)
    path = os.fspath(f) if isinstance(f, (str, os.PathLike)) else None
    with _mode(model, training):
        data = _neura._onnx.export(call, example, named, path, options)
        if verify:
            _verify(call, example, data if path is None else path)
    if verbose:
        size = os.path.getsize(path) if path is not None else len(data)
        print(f"onnx.export: {size:,} bytes, opset {options['opset_version']}, inputs {', '.join(names)}")
    if f is not None and path is None:
        f.write(data)
        return None
    return data


def _verify(call, example, written):
    from . import load

    with _neura_no_grad():
        wanted, got = call(*example), load(written)(*example)
    got = got if isinstance(got, tuple) else (got,)
    for i, (a, b) in enumerate(zip(wanted, got)):
        a, b = a.cpu(), b.cpu()
        near = a.double().sub(b.double()).abs().max().item() if a.numel() else 0.0
        scale = max(1.0, a.double().abs().max().item()) if a.numel() else 1.0
        if a.shape != b.shape or not near <= 1e-3 * scale:
            raise _errors.ValueError(f"onnx.export: expected the file to compute what the model does, got {near} away")


def _neura_no_grad():
    from .. import no_grad

    return no_grad()
