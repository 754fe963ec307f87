#!/usr/bin/env python3
"""Writes the type stubs (.pyi) of the package, from what it is when imported: signatures of bound functions as nanobind
says them, of rows from their tables, of Python code from inspect.

    stubs.py SITE [OUT]    SITE: the folder that holds neura/; OUT: where neura/*.pyi go, by default there
"""
import ast
import importlib
import inspect
import keyword
import pathlib
import pkgutil
import re
import sys
import types

HEAD = """# mypy: disable-error-code="overload-overlap,overload-cannot-match,override,misc"
import builtins as _b
import collections.abc as _c
from typing import Any as _Any
from typing import Callable as _Callable
from typing import TypeVar as _TypeVar
"""
# What C++ and PyTorch's documentation call a type, as a type checker knows it.
TYPES = {
    "neura.Tensor": "_t.Tensor",
    "neura.dtype": "_t.dtype",
    "neura.device": "_t.device",
    "number": "_b.complex",
    "object": "_Any",
    "Sequence": "_c.Sequence",
    "collections.abc.Sequence": "_c.Sequence",
    "collections.abc.Callable": "_Callable[..., _Any]",
    "None": "None",
}
GENERIC = {"tuple": "[_Any, ...]", "list": "[_Any]", "set": "[_Any]", "dict": "[_Any, _Any]", "type": "[_Any]"}
GENERIC["Sequence"] = "[_Any]"
BUILTIN = {"int", "float", "bool", "complex", "str", "tuple", "list", "dict", "bytes", "type", "set"}
# Attributes whose type introspection does not see.
ATTRIBUTES = {
    "shape": "_b.tuple[_b.int, ...]",
    "dtype": "_t.dtype",
    "device": "_t.device",
    "ndim": "_b.int",
    "itemsize": "_b.int",
    "nbytes": "_b.int",
    "requires_grad": "_b.bool",
    "grad": "_t.Tensor | None",
    "is_leaf": "_b.bool",
    "is_cpu": "_b.bool",
    "is_cuda": "_b.bool",
    "is_meta": "_b.bool",
    **{name: "_t.Tensor" for name in ("data", "T", "mT", "H", "mH", "real", "imag")},
}
TENSOR_NUMBERS = "add sub mul truediv floordiv mod pow and or xor lshift rshift".split()
FIXED = {  # methods whose types no signature says
    ("Tensor", "__init__"): "def __init__(self, *args: _Any) -> None: ...",
    ("Tensor", "__getitem__"): "def __getitem__(self, key: _Any) -> _t.Tensor: ...",
    ("Tensor", "__setitem__"): "def __setitem__(self, key: _Any, value: _Any) -> None: ...",
    ("Tensor", "__iter__"): "def __iter__(self) -> _c.Iterator[_t.Tensor]: ...",
    ("Tensor", "__len__"): "def __len__(self) -> _b.int: ...",
    ("Tensor", "__bool__"): "def __bool__(self) -> _b.bool: ...",
    ("Tensor", "__int__"): "def __int__(self) -> _b.int: ...",
    ("Tensor", "__index__"): "def __index__(self) -> _b.int: ...",
    ("Tensor", "__float__"): "def __float__(self) -> _b.float: ...",
    ("Tensor", "__contains__"): "def __contains__(self, value: _Any) -> _b.bool: ...",
    ("Tensor", "__matmul__"): "def __matmul__(self, other: _t.Tensor) -> _t.Tensor: ...",
    ("Tensor", "size"): "def size(self, dim: _Any = ...) -> _Any: ...",
    ("Tensor", "item"): "def item(self) -> _Any: ...",
    ("Tensor", "requires_grad_"): "def requires_grad_(self, requires_grad: _b.bool = ...) -> _t.Tensor: ...",
    **{("Tensor", f"__{n}__"): f"def __{n}__(self) -> _t.Tensor: ..." for n in ("neg", "pos", "abs", "invert")},
    **{
        ("Tensor", f"__{prefix}{n}__"): f"def __{prefix}{n}__(self, other: _t.Tensor | _b.complex) -> _t.Tensor: ..."
        for n in TENSOR_NUMBERS
        for prefix in ("", "r", "i")
    },
    **{
        ("Tensor", f"__{n}__"): f"def __{n}__(self, other: _t.Tensor | _b.complex) -> _t.Tensor: ..."
        for n in ("lt", "le", "gt", "ge")
    },
    **{("Tensor", f"__{n}__"): f"def __{n}__(self, other: _Any) -> _t.Tensor: ..." for n in ("eq", "ne")},
}
for mode in ("no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "detect_anomaly", "set_detect_anomaly"):
    FIXED[mode, "__call__"] = "def __call__(self, function: _F) -> _F: ..."
    FIXED[mode, "__enter__"] = "def __enter__(self) -> None: ..."
COMMON = {  # of any class
    "__init__": "None",
    "__exit__": "None",
    "__len__": "_b.int",
    "__iter__": "_c.Iterator[_Any]",
    "__contains__": "_b.bool",
    "__repr__": "_b.str",
}
SPECIAL = set(COMMON) | {
    "__enter__",
    "__call__",
    "__getitem__",
    "__setitem__",
    "__delitem__",
    "__next__",
    "__getattr__",
}


def annotation(text, default="_Any"):
    """A type as C++ writes it, for a type checker."""
    if not isinstance(text, str) or not text.strip():
        return default
    text = re.sub(r"collections\.abc\.(\w+)", r"\1", text)
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        return default

    def walk(node, whole=True):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return f"{walk(node.left)} | {walk(node.right)}"
        if isinstance(node, ast.Subscript):
            inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return f"{walk(node.value, False)}[{', '.join(walk(e) for e in inner)}]"
        if isinstance(node, ast.Constant):
            return "..." if node.value is ... else repr(node.value)
        name = ast.unparse(node)
        known = f"_b.{name}" if name in BUILTIN else TYPES.get(name, "_Any")
        return known + (GENERIC.get(name, "") if whole else "")

    return walk(tree)


def render(parameters, result, method, static=False):
    """The parameters of a def; the names of Python's keywords get an underscore."""
    parts, kinds = [], inspect.Parameter
    star = positional = False
    for i, p in enumerate(parameters):
        name = p.name + "_" if keyword.iskeyword(p.name) else p.name
        kind = annotation(p.annotation).replace("_b.tuple[_b.int, ...]", "_c.Sequence[_b.int]")  # any will do
        if positional and p.kind is not kinds.POSITIONAL_ONLY:
            parts.append("/")
            positional = False
        if p.kind is kinds.VAR_POSITIONAL:
            parts.append(f"*{name}: {kind}")
            star = True
        elif p.kind is kinds.VAR_KEYWORD:
            parts.append(f"**{name}: {kind}")
        else:
            if p.kind is kinds.KEYWORD_ONLY and not star:
                parts.append("*")
                star = True
            positional = positional or p.kind is kinds.POSITIONAL_ONLY
            typed = name if method and i == 0 and not static else f"{name}: {kind}"
            parts.append(typed + ("" if p.default is kinds.empty else " = ..."))
    if positional:
        parts.append("/")
    return f"({', '.join(parts)}) -> {result}: ..."


def signature_lines(name, f, method):
    """The overloads of a callable, as lines of a stub."""
    lines = []
    if hasattr(f, "__nb_signature__"):
        from neura import _signatures

        for entry in f.__nb_signature__:
            try:
                parameters, result = _signatures._parameters(entry[0], entry[2] or ())
            except (SyntaxError, ValueError, IndexError):
                parameters, result = None, None
            if parameters is None:
                lines.append(f"def {name}(*args: _Any, **kwargs: _Any) -> _Any: ...")
            else:
                lines.append(f"def {name}" + render(parameters, annotation(result), method))
    elif type(f).__name__ == "row_function":
        names = [p for p in inspect.signature(f).parameters.values()]
        for i, p in enumerate(names):
            operand = i == 0 or p.default is inspect.Parameter.empty
            names[i] = p.replace(annotation="neura.Tensor | number" if operand else "object")
        names[0] = names[0].replace(annotation="neura.Tensor")
        lines.append(f"def {name}" + render(names, "_t.Tensor", method))
    else:
        try:
            parameters = list(inspect.signature(f).parameters.values())
        except (TypeError, ValueError):
            return [f"def {name}({'self, ' if method else ''}*args: _Any, **kwargs: _Any) -> _Any: ..."]
        result = COMMON.get(name, "_Any") if method else annotation(getattr(f, "__annotations__", {}).get("return"))
        lines.append(f"def {name}" + render(parameters, result, method))
    lines = list(dict.fromkeys(lines))
    if len(lines) > 1:
        lines = [line for each in lines for line in ("@_overload", each)]
    return lines


def public_bases(cls, known):
    """The nearest bases that have a public name: what lies between has none."""
    return [found for b in cls.__bases__ for found in ([b] if b in known else public_bases(b, known))]


def members(cls, known):
    """What a class shows: its own members and those of Neura's bases that have no public name."""
    inherited = {above for base in public_bases(cls, known) for above in base.__mro__}
    found = {}
    for base in reversed(cls.__mro__):
        if base is cls or (base not in inherited and base.__module__.partition(".")[0] == "neura"):
            found.update(vars(base))
    return found


def class_lines(name, cls, known):
    shown = ["_t." + known[b].partition(".")[2] for b in public_bases(cls, known)]
    if not shown and issubclass(cls, BaseException):
        shown = [f"_b.{b.__name__}" for b in cls.__bases__ if b.__module__ == "builtins"]
    lines, body = [f"class {name}" + (f"({', '.join(shown)})" if shown else "") + ":"], []
    for key, value in sorted(members(cls, known).items()):
        if (key.startswith("_") and key not in SPECIAL and (name, key) not in FIXED) or key in ("__dict__", "__doc__"):
            continue
        if (name, key) in FIXED:
            body.append(FIXED[name, key])
        elif isinstance(value, property) or type(value).__name__ in ("getset_descriptor", "member_descriptor"):
            kind = ATTRIBUTES.get(key, "_Any") if name == "Tensor" else "_Any"
            body += ["@property", f"def {key}(self) -> {kind}: ..."]
            if isinstance(value, property) and value.fset or name != "Tensor":
                body += [f"@{key}.setter", f"def {key}(self, value: {kind}) -> None: ..."]
        elif isinstance(value, (staticmethod, classmethod)):
            f = value.__func__
            kind = "staticmethod" if isinstance(value, staticmethod) else "classmethod"
            rendered = signature_lines(key, f, kind == "classmethod")
            body += [f"@{kind}"] + rendered[-1:]
        elif isinstance(value, type):
            body.append(f"{key}: _Any")
        elif type(value).__name__ == "instancemethod":
            body += signature_lines(key, getattr(cls, key), True)
        elif callable(value) and not key.startswith("__") or key in SPECIAL:
            body += signature_lines(key, value, True)
        else:
            body.append(f"{key}: _Any")
    if cls.__init__ is object.__init__ and "__init__" not in members(cls, known) and name not in ("Tensor",):
        body.append("def __init__(self, *args: _Any, **kwargs: _Any) -> None: ...")
    return lines + ["    " + line for line in body or ["..."]]


def module_text(where, module, known, modules):
    lines = []
    for name in public_names(module):
        value = getattr(module, name)
        if isinstance(value, types.ModuleType):
            there = next((key for key, m in modules.items() if m is value), "")
            if there:
                parent, _, leaf = there.rpartition(".")
                lines.append(f"from {'.' if parent == where else parent} import {leaf} as {name}")
        elif isinstance(value, type):
            home = known.get(value, "")
            if home == f"{where}.{value.__name__}" and name == value.__name__:
                lines += class_lines(name, value, known)
            elif home:
                lines.append(f"from {home.rpartition('.')[0]} import {value.__name__} as {name}")
            else:
                lines.append(f"{name}: _Any")
        elif type(value).__name__ == "dtype":
            lines.append(f"{name}: _t.dtype")
        elif isinstance(value, (int, float, str)) and not callable(value):
            lines.append(f"{name}: _b.{type(value).__name__}")
        elif callable(value):
            lines += signature_lines(name, value, False)
        else:
            lines.append(f"{name}: _Any")
    text = "\n".join(lines)
    head = HEAD + ("from typing import overload as _overload\n" if "@_overload" in text else "")
    return head + 'import neura as _t\n\n_F = _TypeVar("_F", bound=_Callable[..., _Any])\n\n' + text + "\n"


def public_names(module):
    """What a module offers: __all__, or what has no underscore and is no module of another package."""
    if "__all__" in vars(module):
        return sorted(module.__all__)
    return sorted(
        name
        for name, value in ((name, getattr(module, name)) for name in dir(module))
        if not name.startswith("_")
        and not (isinstance(value, types.ModuleType) and not value.__name__.startswith("neura"))
        and not (isinstance(value, types.FunctionType) and not value.__module__.startswith("neura"))
    )


def public_modules(neura):
    """Every module of the package by name; those that C++ makes are among them."""
    found = {"neura": neura, "neura.errors": neura.errors}
    for info in pkgutil.walk_packages(neura.__path__, "neura."):
        if not any(part.startswith("_") for part in info.name.split(".")):
            try:
                module = importlib.import_module(info.name)
            except ModuleNotFoundError as error:  # of those who have another package
                if error.name.partition(".")[0] == "neura":
                    raise
                continue
            package, _, leaf = info.name.rpartition(".")
            named = vars(sys.modules[package]).get("__all__", [leaf])
            if info.ispkg or "__all__" in vars(module) or leaf in named:  # else it is the package's own business
                found[info.name] = module
    return dict(sorted(found.items()))


def homes(modules):
    """Where each class lives: in its own module if that is public and shows it, else in the first that shows it."""
    known = {}
    for name, module in sorted(modules.items(), key=lambda item: item[0].count(".")):
        for key in public_names(module):
            value = getattr(module, key)
            if isinstance(value, type) and value.__name__ == key:
                if value.__module__ == name:
                    known[value] = f"{name}.{key}"
                else:
                    known.setdefault(value, f"{name}.{key}")
    return known


def main():
    site = pathlib.Path(sys.argv[1]).resolve()
    out = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else site
    sys.path.insert(0, str(site))
    import neura

    modules = public_modules(neura)
    known = homes(modules)
    for name, module in modules.items():
        folder = out.joinpath(*name.split("."))
        package = hasattr(module, "__path__")
        target = folder / "__init__.pyi" if package else folder.with_suffix(".pyi")
        text = module_text(name, module, known, modules)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_text() != text:
            target.write_text(text)


if __name__ == "__main__":
    main()
