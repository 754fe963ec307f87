"""Finds the snippets, runs one, and flattens what it returns into arrays and plain values."""

import importlib.util
import pathlib
import sys

import numpy

FOLDER = pathlib.Path(__file__).parent
STORED = FOLDER / "results.npz"
sys.path.insert(0, str(FOLDER))  # snippets import fixed.py


def names():
    return sorted(f"{p.parent.name}/{p.stem}" for p in FOLDER.glob("*/*.py"))


def run(name, torch):
    """Runs a snippet; returns ({path: (dtype, array)}, {path: plain value})."""
    spec = importlib.util.spec_from_file_location(name.replace("/", "_"), FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    dtype = torch.get_default_dtype()
    try:
        results = module.run(torch)
    finally:
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(True)
    arrays, values = {}, {}
    flatten(torch, results, name, arrays, values)
    return arrays, values


def flatten(torch, value, path, arrays, values):
    if isinstance(value, torch.Tensor):
        dtype = value.dtype
        value = value.detach().resolve_conj()
        if dtype == torch.bfloat16:
            value = value.float()
        arrays[path] = (name_of(dtype), value.numpy())
    elif isinstance(value, numpy.ndarray):
        arrays[path] = (f"numpy.{value.dtype}", value)
    elif isinstance(value, dict):
        for key, item in value.items():
            flatten(torch, item, f"{path}:{key}", arrays, values)
        values[f"{path} keys"] = [str(key) for key in value]
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            flatten(torch, item, f"{path}:{i}", arrays, values)
        values[f"{path} length"] = len(value)
    elif value is None or isinstance(value, (bool, int, float)):
        values[path] = value
    elif isinstance(value, str):
        values[path] = value.replace("neura.", "torch.")
    else:
        raise TypeError(f"{path}: a result is a tensor, a number, a string or a container of them, not {type(value)}")


def name_of(dtype):
    return str(dtype).split(".")[-1]
