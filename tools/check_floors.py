#!/usr/bin/env python3
"""Reads every source and fails on

- an include that goes up: an include goes to the same floor or below;
- an include by which neura/neura.h, at any depth, shows the engine to every program;
- a way around the dispatcher: the engine alone asks for a back end, everything else is an operation;
- a struct operation that is not in the list of all operations;
- a variable of the environment that is read past the table of settings, or one in that table that nothing reads;
- in CUDA's sources, an assignment of designated members: nvcc 13.0 writes those that follow a gap into the gap, in
  templates.

    check_floors.py [ROOT]
"""
import pathlib
import re
import subprocess
import sys

# What a floor may include beside itself. tables/ holds rows and formulas: every floor may read it.
LOWER = {
    "tables": [],
    "core": ["tables"],
    "backend": ["core"],
    "op": ["backend"],
    "ops": ["op"],
    "autograd": ["ops"],
    "graph": ["cuda"],
    "profile": ["autograd", "cuda"],
    "cuda": ["ops"],
    "sparse": ["autograd"],
    "nn": ["sparse"],
    "models": ["nn"],
    "optim": ["nn", "cuda"],
    "data": ["autograd", "cuda"],
    "surface": ["nn", "cuda"],
    "io": ["nn", "optim", "data", "graph"],
    "onnx": ["io"],
    "text": ["core"],
    "dist": ["io"],
    "train": ["io"],
    "serve": ["onnx"],
    "capi": ["onnx"],
    "hub": ["io"],
}
# Library code names the family it needs, never everything.
UMBRELLAS = {"neura/neura.h", "neura/tensor.h"}
# What a program that includes UMBRELLA does not see: kernels, calls, and what an operation is made of.
UMBRELLA = "neura/neura.h"
SHOWN = r"op/(?:attributes|autocast|operand|registry|pointwise/(?:declare_\w+|promotion|row_literals|rows))\.h"
ENGINE_HEADER = re.compile(rf"neura/(?!{SHOWN}$)(?:backend|op)/")
# The engine reduces a gradient to its operand's shape, copies and checks: these operations of the floor above it.
ENGINE_CALLS = {
    "neura/ops/create/copy.h",
    "neura/ops/pointwise/composed.h",
    "neura/ops/reduce/expect.h",
    "neura/ops/reduce/reduce.h",
    "neura/ops/shape/strided.h",
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"(neura/[^"]+)"', re.MULTILINE)
# Who may ask for a device's back end, beside the back ends themselves.
ENGINE = {"neura/op/apply.cpp", "neura/op/border.cpp", "neura/op/pointwise/pointwise.cpp"}
GAPS = re.compile(r"^\s*(?:\w+(?:\[\w*\])?(?:->|\.))*\w+ = \{\s*\.\w", re.MULTILINE)
BACK_END = re.compile(r"\b(?:backend_of|cpu_backend)\(")
STRUCT = re.compile(
    r"\bstruct (\w+)(<[^;{]*>)?[^;{<]*(?:<[^;{]*)?\{|^\s+static constexpr (?:Operation|auto) op =", re.MULTILINE
)
# Also those that a table makes, in both places by a macro.
DEFINED = re.compile(r"^(?:#define \w+\(.*?\) )?NEURA_DEFINE_OPERATION\(([\w#]+), (.*)\);$", re.MULTILINE)
LISTED = re.compile(r"^(?:#define \w+\(.*?\) )?NEURA_OPERATION\(([\w#]+), (.*)\)$", re.MULTILINE)
ALL_OPS = "neura/op/all_ops.def"
PUBLIC = re.compile(r"^OPERATION\((\w+), ([\w:<>]+),", re.MULTILINE)
FUNCTIONS = "neura/tables/functions.def"  # all_ops.def reads it, and it the tables of the families
TABLE = re.compile(r'^#include "(neura/tables/[\w/]+\.def)"', re.MULTILINE)
SETTINGS = "neura/tables/settings.def"
READS = "neura/core/settings.h"
SETTING = re.compile(r'^SETTING\((\w+),\s*"(\w+)"', re.MULTILINE)
# In C++ the table's name of a variable alone, in Python the variable, which the table has to list.
ENVIRONMENT = re.compile(r'\b(?:secure_)?getenv\(|"NEURA_[A-Z0-9_]+"')
PYTHON_ENVIRONMENT = re.compile(r"(?:environ(?:\.get\(|\[)|getenv\()\s*([^,)\]]*)")


def reach(floor):
    seen, todo = set(), [floor]
    while todo:
        f = todo.pop()
        if f not in seen:
            seen.add(f)
            todo += LOWER[f]
    return seen | {"tables"}


def problems(path, text):
    parts = path.split("/")
    floor = parts[1] if len(parts) > 2 else None
    if floor is None:
        return
    if floor not in LOWER:
        yield f"{path}: neura/{floor} is not a floor that tools/check_floors.py knows"
        return
    allowed = reach(floor)
    for match in INCLUDE.finditer(text):
        target, line = match.group(1), text.count("\n", 0, match.start()) + 1
        where = f"{path}:{line}"
        if target in UMBRELLAS:
            yield f"{where}: library code includes the family it needs, got {target}"
        elif floor == "op" and target in ENGINE_CALLS:
            continue
        elif target.split("/")[1] not in allowed:
            yield f"{where}: {floor} may include {', '.join(sorted(allowed))}, got {target}"
        elif floor == "backend" and target == "neura/core/tensor.h":
            yield f"{where}: a kernel knows views (backend/view.h), got {target}"
        elif floor in ("op", "ops") and target.startswith(("neura/backend/cpu/", "neura/backend/cuda/")):
            yield f"{where}: {floor} knows kernels by their tables (backend/kernels), got {target}"
    for match in GAPS.finditer(text) if path.endswith((".cu", ".cuh")) else ():
        line = text.count("\n", 0, match.start()) + 1
        yield f"{path}:{line}: assign the members one by one: nvcc may put designated ones into other places"
    if floor != "backend" and path not in ENGINE:
        for match in BACK_END.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: {match[0]} is the engine's alone: make an operation of it, and call it by apply()"


def shown_engine(texts):
    """Includes that bring a header of the engine to whoever includes UMBRELLA."""
    seen, todo = {UMBRELLA}, [UMBRELLA]
    while todo:
        path = todo.pop()
        for target in INCLUDE.findall(texts.get(path, "")):
            if ENGINE_HEADER.match(target) and target.endswith(".h"):
                yield f"{path}: {UMBRELLA} would show {target} to every program; declare what it needs"
            elif target not in seen:
                seen.add(target)
                todo.append(target)


def tables_of_functions(texts):
    seen = [FUNCTIONS]
    for path in seen:  # which grows meanwhile
        seen += [table for table in TABLE.findall(texts.get(path, "")) if table not in seen]
    return seen


def unlisted(texts):
    """Struct operations without a line in all_ops.def or a table of functions, or with one that says something else."""
    defined = [(*pair, path) for path, text in texts.items() for pair in DEFINED.findall(text)]
    listed = set(LISTED.findall(texts.get(ALL_OPS, "")))
    listed.update(pair for table in tables_of_functions(texts) for pair in PUBLIC.findall(texts.get(table, "")))
    for identifier, kind, path in defined:
        if (identifier, kind) not in listed:
            yield f"{path}: {ALL_OPS} lacks NEURA_OPERATION({identifier}, {kind})"
    known = {re.match(r"(?:\w+::)*(\w+)", kind)[1] for _, kind, _ in defined}
    for path, text in texts.items():
        struct = None
        for match in STRUCT.finditer(text):
            if match[1]:
                struct = None if match[2] else match[1]  # a specialisation is no operation of its own
            elif struct and struct not in known:
                line = text.count("\n", 0, match.start()) + 1
                yield f"{path}:{line}: end a source with NEURA_DEFINE_OPERATION(name, {struct}) and add it to {ALL_OPS}"


def past_settings(texts):
    """Variables of the environment past the table of settings."""
    settings = dict(SETTING.findall(texts.get(SETTINGS, "")))
    for path, text in texts.items():
        pattern = PYTHON_ENVIRONMENT if path.endswith(".py") else ENVIRONMENT
        for match in pattern.finditer(text) if path not in (SETTINGS, READS) else ():
            if path.endswith(".py") and match[1].strip("\"'") in settings.values():
                continue
            line = text.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: {match[0]} is no row of {SETTINGS}, or not read as one: see {READS}"
    for name, variable in settings.items():
        read = re.compile(rf"\bSetting::{name}\b|environ.*[\"']{variable}[\"']")
        if not any(read.search(text) for path, text in texts.items() if path != SETTINGS):
            yield f"{SETTINGS}: nothing reads {variable}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "neura", "cli", "python"],
        capture_output=True,
        text=True,
        check=True,
    )
    kinds = (".h", ".cpp", ".def", ".cu", ".cuh", ".py")
    every = {p: (root / p).read_text() for p in listed.stdout.split() if p.endswith(kinds) and (root / p).exists()}
    texts = {path: text for path, text in every.items() if path.startswith("neura/")}
    found = [p for path, text in texts.items() for p in problems(path, text)]
    found += [*shown_engine(texts), *unlisted(texts), *past_settings(every)]
    print("\n".join([*found, f"floors: {len(texts)} files, {len(found)} problems"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
