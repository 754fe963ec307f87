"""Finds the programs of this folder, runs one, and keeps what it returns as JSON does."""

import functools
import importlib.util
import inspect
import json
import pathlib
import sys

FOLDER = pathlib.Path(__file__).parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent / "snippets")]
import collect  # noqa: E402

TOPICS = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem not in ("make", "program_runner", "program_helpers"))


@functools.cache
def programs(topic):
    """The functions of a topic whose only argument is `torch`, by name."""
    spec = importlib.util.spec_from_file_location(f"programs_{topic}", FOLDER / f"{topic}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    own = {n: f for n, f in vars(module).items() if inspect.isfunction(f) and f.__module__ == spec.name}
    return {n: f for n, f in own.items() if list(inspect.signature(f).parameters) == ["torch"]}


def answer(torch, topic, name):
    """{"arrays": {path: {dtype, sizes, data}}, "values": {path: value}} of what a program returns."""
    dtype = torch.get_default_dtype()
    arrays, values = {}, {}
    try:
        collect.flatten(torch, programs(topic)[name](torch), "result", arrays, values)
    finally:
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(True)
        torch.set_printoptions(profile="default")
    packed = {k: {"dtype": d, "sizes": list(a.shape), "data": numbers(a)} for k, (d, a) in arrays.items()}
    return {"arrays": packed, "values": values}


def numbers(array):
    """The elements in order; a complex one is two, and a float32 is written with its own digits."""
    if array.dtype.kind == "c":
        array = array.ravel().view(array.real.dtype)
    return [float(str(v)) if array.dtype.kind == "f" else v.item() for v in array.ravel()]


def stored(topic):
    path = FOLDER / f"{topic}.json"
    return json.loads(path.read_text()) if path.exists() else {}
