"""Neura as a back end of the `onnx` package: what `onnx.backend.test.BackendTest` needs. NumPy's arrays go in and come
out, of every element type that ONNX has.
"""

import numpy as _np
import onnx as _onnx
from onnx.backend.base import Backend as _Backend
from onnx.backend.base import BackendRep as _BackendRep

import neura as _neura

# Types that Neura has no dtype for: what holds their numbers instead.
_HELD = {"uint16": "int64", "uint32": "int64", "uint64": "int64", "int4": "int8", "int2": "int8", "uint4": "uint8"}
_HELD["uint2"] = "uint8"


def _held(name):
    if name == "bfloat16" or name.startswith("float8") or name.startswith("float4"):
        return "float32"
    return _HELD.get(name)


def _into(value):
    """A tensor, a list of them or of texts, of what NumPy has."""
    if value is None:
        return None
    if isinstance(value, _onnx.TensorProto):
        value = _onnx.numpy_helper.to_array(value)
    if isinstance(value, (list, tuple)):
        return [_into(v) for v in value]
    array = _np.asarray(value)
    if array.dtype.kind in "OUS":
        return array.tolist()
    name = array.dtype.name
    held = _held(name)
    if held:
        array = array.astype(held)
    tensor = _neura.from_numpy(_np.array(array))
    return tensor.to(_neura.bfloat16) if name == "bfloat16" else tensor


def _dtype(name):
    return _np.dtype(object if name == "string" else _onnx.helper.tensor_dtype_to_np_dtype(_type_number(name)))


def _type_number(name):
    upper = {"float32": "FLOAT", "float64": "DOUBLE"}.get(name, name.upper())
    return getattr(_onnx.TensorProto, upper)


def _out_of(value, declared):
    """And back, as the model declares it."""
    kind, of, _ = declared
    if value is None:
        return None
    if kind == "optional":
        return _out_of(value, of)
    if kind == "sequence":
        return [_out_of(v, of) for v in value]
    if of == "string":
        return _np.array(value, dtype=object)
    value = value.detach()
    if of == "bfloat16":
        value = value.to(_neura.float32)
    array = value.numpy()
    return array.astype(_dtype(of)) if _held(of) else array


class NeuraRep(_BackendRep):
    """A model that is ready to run."""

    def __init__(self, module):
        self.module = module

    def run(self, inputs, **kwargs):
        """A list of arrays of the model's outputs, for a list of arrays or a dictionary of names."""
        if isinstance(inputs, dict):
            inputs = [inputs.get(name) for name in self.module.input_names]
        with _neura.no_grad():
            out = self.module(*[_into(v) for v in inputs])
        out = out if isinstance(out, tuple) else (out,)
        return tuple(_out_of(v, d) for v, d in zip(out, self.module.outputs.values()))


class NeuraBackend(_Backend):
    """`onnx.backend.base.Backend`: models, on the cpu or on CUDA devices."""

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        """Loads an onnx.ModelProto."""
        module = _neura.onnx.load(model.SerializeToString())
        if device.upper().startswith("CUDA"):
            module.to(device.lower())
        return NeuraRep(module)

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **kwargs):
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **kwargs):
        """Runs one node: a model of it alone."""
        make = _onnx.helper
        given = [
            make.make_tensor_value_info(n, make.np_dtype_to_tensor_dtype(_np.asarray(v).dtype), _np.shape(v))
            for n, v in zip([n for n in node.input if n], inputs)
        ]
        wanted = [_onnx.ValueInfoProto(name=n) for n in node.output if n]
        for info, (dtype, shape) in zip(wanted, outputs_info or []):
            info.type.CopyFrom(make.make_tensor_type_proto(make.np_dtype_to_tensor_dtype(_np.dtype(dtype)), shape))
        model = make.make_model(make.make_graph([node], "node", given, wanted))
        return cls.run_model(model, inputs, device)

    @classmethod
    def supports_device(cls, device):
        return device.upper() == "CPU" or (device.upper().startswith("CUDA") and _neura.cuda.is_available())


prepare, run_model, run_node = NeuraBackend.prepare, NeuraBackend.run_model, NeuraBackend.run_node
supports_device = NeuraBackend.supports_device
is_compatible = NeuraBackend.is_compatible
