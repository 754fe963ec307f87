"""Neura as a back end of the `onnx` package, which it needs: what `onnx.backend.test.BackendTest` asks for. NumPy's
arrays go in and come out, of every element type that ONNX has.
"""

import neura as _neura

# Types that Neura has no dtype for: what holds their numbers instead.
_HELD = {"uint16": "int64", "uint32": "int64", "uint64": "int64", "int4": "int8", "int2": "int8", "uint4": "uint8"}
_HELD["uint2"] = "uint8"


def _held(name):
    if name == "bfloat16" or name.startswith(("float8", "float4")):
        return "float32"
    return _HELD.get(name)


def _into(value):
    """A tensor, a list of them or of texts, of what NumPy has."""
    import numpy
    import onnx

    if value is None:
        return None
    if isinstance(value, onnx.TensorProto):
        value = onnx.numpy_helper.to_array(value)
    if isinstance(value, (list, tuple)):
        return [_into(v) for v in value]
    array = numpy.asarray(value)
    if array.dtype.kind in "OUS":
        return array.tolist()
    name = array.dtype.name
    if held := _held(name):
        array = array.astype(held)
    tensor = _neura.from_numpy(numpy.array(array))
    return tensor.to(_neura.bfloat16) if name == "bfloat16" else tensor


def _dtype(name):
    import numpy
    import onnx

    if name == "string":
        return numpy.dtype(object)
    number = getattr(onnx.TensorProto, {"float32": "FLOAT", "float64": "DOUBLE"}.get(name, name.upper()))
    return onnx.helper.tensor_dtype_to_np_dtype(number)


def _out_of(value, declared):
    """And back, as the model declares it."""
    import numpy

    kind, of, sizes = declared
    if value is None:
        return None
    if kind == "optional":
        return _out_of(value, of)
    if kind == "sequence":
        return [_out_of(v, of) for v in value]
    if of == "string":
        array = numpy.array(value, dtype=object)
        if array.size == 0 and sizes:  # an empty list does not say the sizes within: the declared ones, or 0
            array = array.reshape(array.shape + tuple(s if isinstance(s, int) else 0 for s in sizes[array.ndim :]))
        return array
    value = value.detach()
    if of == "bfloat16":
        value = value.to(_neura.float32)
    array = value.numpy()
    return array.astype(_dtype(of)) if _held(of) else array


class NeuraRep:
    """A model that is ready to run."""

    def __init__(self, module):
        self.module = module

    def run(self, inputs, **kwargs):
        """A tuple of arrays of the model's outputs, for a list of arrays or a dictionary of names."""
        if isinstance(inputs, dict):
            inputs = [inputs.get(name) for name in self.module.input_names]
        with _neura.no_grad():
            out = self.module(*[_into(v) for v in inputs])
        out = out if isinstance(out, tuple) else (out,)
        return tuple(_out_of(v, d) for v, d in zip(out, self.module.outputs.values()))


def prepare(model, device="CPU", **kwargs):
    """An onnx.ModelProto as a `NeuraRep` on a device: "CPU" or "CUDA:0"."""
    module = _neura.onnx.load(model.SerializeToString())
    if device.upper().startswith("CUDA"):
        module.to(device.lower())
    return NeuraRep(module)


def run_model(model, inputs, device="CPU", **kwargs):
    """The outputs of an onnx.ModelProto."""
    return prepare(model, device, **kwargs).run(inputs)


def run_node(node, inputs, device="CPU", outputs_info=None, **kwargs):
    """The outputs of an onnx.NodeProto: of a model of it alone."""
    import numpy
    import onnx

    def info(name, dtype, shape):
        number = onnx.helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))
        return onnx.helper.make_tensor_value_info(name, number, shape)

    names = [n for n in node.input if n]
    given = [info(n, numpy.asarray(v).dtype, numpy.shape(v)) for n, v in zip(names, inputs)]
    wanted = [onnx.ValueInfoProto(name=n) for n in node.output if n]
    for i, (dtype, shape) in enumerate(outputs_info or []):
        wanted[i] = info(wanted[i].name, dtype, shape)
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "node", given, wanted))
    return run_model(model, inputs, device)


def supports_device(device):
    """True if the device, "CPU" or "CUDA", can be used."""
    return device.upper() == "CPU" or (device.upper().startswith("CUDA") and _neura.cuda.is_available())


def is_compatible(model, device="CPU", **kwargs):
    """True if the model can be loaded."""
    try:
        _neura.onnx.load(model.SerializeToString())
    except _neura.errors.NotImplementedError:
        return False
    return True
