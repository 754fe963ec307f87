"""The stored calls of all operations (tests/conformance), as functions of their tensors alone."""

import glob
import os
import pathlib
import sys

import neura
import numpy as np

HERE = pathlib.Path(__file__).parent.parent / "conformance"
sys.path.insert(0, str(HERE))
import run  # noqa: E402

TOLERANCE = {"float64": 1e-8, "complex128": 1e-8, "float32": 1e-4, "complex64": 1e-4, "float16": 1e-2, "bfloat16": 1e-1}


def names():
    return sorted(os.path.basename(f)[: -len(".safetensors")] for f in glob.glob(str(HERE / "ops" / "*.safetensors")))


def tensors_in(value):
    if isinstance(value, neura.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in tensors_in(v)] if isinstance(value, (list, tuple)) else []


def _with(value, tensors):
    if isinstance(value, neura.Tensor):
        return next(tensors)
    if isinstance(value, (list, tuple)):
        return type(value)(_with(v, tensors) for v in value)
    if isinstance(value, dict):
        return {k: _with(v, tensors) for k, v in value.items()}
    return value


class Case:
    """One stored call: `tensors`, which of them are differentiable, and call(*tensors), a tuple of tensors."""

    def __init__(self, manifest, stored, number, case):
        self.function = run.resolve(neura, manifest["op"], case["kind"])
        decoder = run.Decoder(neura, "cpu", stored, number)
        args = [decoder.value(case["input"])] + [decoder.value(a) for a in case["args"]]
        self.given = args, {k: decoder.value(v) for k, v in case["kwargs"].items()}
        leaves = tensors_in(self.given)
        self.differentiable = [t.requires_grad and "grads" in case for t in leaves]
        self.tensors = [t.detach() for t in leaves]

    def call(self, *tensors):
        args, kwargs = _with(self.given, iter([t.clone() for t in tensors]))  # some write what they are given
        return tuple(tensors_in(self.function(*args, **kwargs)))

    def samples(self):
        """Two sets of operands of the same sizes, with what the call gives for each; None where that cannot be."""
        other = [t * 0.75 if t.is_floating_point() or t.is_complex() else t for t in self.tensors]
        for second in (other, self.tensors):
            try:
                results = self.call(*self.tensors), self.call(*second)
            except (neura.errors.Error, ValueError, RuntimeError):
                continue
            if results[0] and [y.shape for y in results[0]] == [y.shape for y in results[1]]:
                return (self.tensors, second), results
        return None


def cases(name, most):
    manifest, stored = run.read_safetensors(str(HERE / "ops" / f"{name}.safetensors"))
    if manifest["op"].startswith(run.UNDEFINED):
        return
    for number, case in enumerate(manifest["cases"][:most]):
        if "raises" in case:
            continue
        found = Case(manifest, stored, number, case)
        if found.tensors:
            yield found


def difference(have, want):
    """What is wrong with a tensor, in words; None where it is as it should be."""
    if have.shape != want.shape or have.dtype != want.dtype:
        return f"{have.dtype} {list(have.shape)} instead of {want.dtype} {list(want.shape)}"
    a, b = run.numpy_of(neura, have), run.numpy_of(neura, want)
    t = TOLERANCE.get(str(want.dtype).split(".")[-1], 0)
    largest = float(np.max(np.abs(b[np.isfinite(b)]), initial=1.0)) if b.dtype.kind in "fc" else 1.0
    if np.allclose(a, b, rtol=t, atol=t * largest, equal_nan=b.dtype.kind in "fc"):
        return None
    return f"{a.reshape(-1)[:4]} instead of {b.reshape(-1)[:4]}"
