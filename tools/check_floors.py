#!/usr/bin/env python3
"""Reads the includes of every source and fails on one that goes up: an include goes to the same floor or below.

    check_floors.py [ROOT]
"""
import pathlib
import re
import subprocess
import sys

# What a floor may include beside itself. tables/ holds rows and formulas: every floor may read it, it includes nothing.
LOWER = {
    "tables": [],
    "core": ["tables"],
    "backend": ["core"],
    "ops": ["backend"],
    "autograd": ["ops"],
    "graph": ["ops"],
    "cuda": ["ops"],
    "nn": ["autograd"],
    "optim": ["nn", "cuda"],
    "data": ["autograd", "cuda"],
    "amp": ["nn"],
    "io": ["nn", "optim", "data", "amp", "graph"],
    "onnx": ["io"],
    "quant": ["io"],
    "dist": ["io"],
    "train": ["io"],
    "hub": ["io"],
}
# Library code names the family it needs, never everything.
UMBRELLAS = {"neura/neura.h", "neura/tensor.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"(neura/[^"]+)"', re.MULTILINE)


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
        if floor == "tables":
            yield f"{where}: tables include nothing, got {target}"
        elif target in UMBRELLAS:
            yield f"{where}: library code includes the family it needs, got {target}"
        elif target.split("/")[1] not in allowed:
            yield f"{where}: {floor} may include {', '.join(sorted(allowed))}, got {target}"
        elif floor == "backend" and target == "neura/core/tensor.h":
            yield f"{where}: a kernel knows views (backend/view.h), got {target}"
        elif floor == "ops" and target.startswith(("neura/backend/cpu/", "neura/backend/cuda/")):
            yield f"{where}: ops knows kernels by their tables (backend/kernels), got {target}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "neura"],
        capture_output=True,
        text=True,
        check=True,
    )
    paths = [
        p for p in listed.stdout.split() if p.endswith((".h", ".cpp", ".def", ".cu", ".cuh")) and (root / p).exists()
    ]
    found = [p for path in paths for p in problems(path, (root / path).read_text())]
    print("\n".join(found + [f"floors: {len(paths)} files, {len(found)} includes go up"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
