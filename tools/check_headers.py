#!/usr/bin/env python3
"""Compiles the installed headers with strict warnings: each alone by one compiler, for a header includes what it needs,
and all together by every compiler that is here.

    check_headers.py [BUILD] [--each]

BUILD is a configured build folder, which says what is installed; build/release if it is left out. --each: each header
alone by every compiler.
"""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

# GCC also says that a constructor's parameter shadows the member it initialises: parameters have the members' names.
COMPILERS = {"clang++": "-Wshadow", "g++": "-Wshadow=local"}
FLAGS = "-std=c++20 -fsyntax-only -Wall -Wextra -Wconversion -Wpedantic -Werror -x c++".split()


def alone(path):
    """A fragment, which a reader includes between macros of its own, has no guard."""
    return "#pragma once" in path.read_text()


def compiled(compiler, include, headers):
    """What the compiler says of a file that includes these headers."""
    source = "".join(f'#include "{header}"\n' for header in headers)
    command = [compiler, *FLAGS, COMPILERS[compiler], "-I.", "-"]
    result = subprocess.run(command, cwd=include, input=source, capture_output=True, text=True)
    name = headers[0] if len(headers) == 1 else "all headers"
    return f"{compiler}: {name}\n{result.stderr}" if result.returncode else ""


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("build", nargs="?", default=pathlib.Path(__file__).parent.parent / "build/release")
    arguments.add_argument("--each", action="store_true")
    given = arguments.parse_args()
    compilers = [c for c in COMPILERS if shutil.which(c)]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["cmake", "--install", given.build, "--prefix", folder, "--component", "headers"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        include = pathlib.Path(folder) / "include"
        headers = sorted(str(p.relative_to(include)) for p in include.rglob("*.h") if alone(p))
        if not headers or not compilers:
            sys.exit(f"headers: expected headers and a compiler, got {len(headers)} and {compilers}")
        tasks = [(c, headers) for c in compilers]
        tasks += [(c, [h]) for c in (compilers if given.each else compilers[:1]) for h in headers]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            bad = [text for text in pool.map(lambda task: compiled(task[0], include, task[1]), tasks) if text]
    print("\n".join([*bad, f"headers: {len(headers)} by {' and '.join(compilers)}, {len(bad)} problems"]))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
