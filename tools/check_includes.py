#!/usr/bin/env python3
"""Sees that neighbouring lines #include "neura/...", "cli/..." or "tests/..." are in the order of their paths, and those
of <...> among themselves; a source's own header comes first. Not in neura/backend, where the order has reasons: there
files are included inside namespaces and between macros.

    check_includes.py [--fix] [ROOT]
"""
import pathlib
import re
import subprocess
import sys

LINES = [re.compile(r'#include "((?:neura|cli|tests)/[^"]+\.h)"'), re.compile(r"#include <([^>]+)>")]
PATTERNS = ("*.h", "*.cpp", "*.cu", "*.cuh", ":!neura/backend")


def runs(lines, kind):
    """Places of neighbouring lines that include headers of a kind."""
    begin = None
    for i, line in enumerate([*lines, ""]):
        if kind.match(line):
            begin = i if begin is None else begin
        elif begin is not None:
            yield begin, i
            begin = None


def in_order(path, lines):
    """The lines as they should be."""
    lines = list(lines)
    own = str(pathlib.PurePosixPath(path).with_suffix(".h"))
    for kind in LINES:
        for begin, end in runs(lines, kind):
            names = {line: kind.match(line)[1] for line in lines[begin:end]}
            lines[begin:end] = sorted(lines[begin:end], key=lambda line: (names[line] != own, names[line]))
    return lines


def main():
    arguments = [a for a in sys.argv[1:] if a != "--fix"]
    root = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).parent.parent)
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", *PATTERNS],
        capture_output=True,
        text=True,
        check=True,
    )
    paths = [p for p in listed.stdout.split() if (root / p).exists()]
    found = []
    for path in paths:
        lines = (root / path).read_text().split("\n")
        wanted = in_order(path, lines)
        if wanted == lines:
            continue
        line = next(i for i, pair in enumerate(zip(lines, wanted)) if pair[0] != pair[1])
        found.append(f"{path}:{line + 1}: expected {wanted[line]} here; tools/check_includes.py --fix sorts")
        if "--fix" in sys.argv:
            (root / path).write_text("\n".join(wanted))
    print("\n".join([*found, f"includes: {len(paths)} files, {len(found)} out of order"]))
    return bool(found) and "--fix" not in sys.argv


if __name__ == "__main__":
    sys.exit(main())
