#!/usr/bin/env python3
"""No two files define types of one name in one namespace: that is undefined behaviour (the one definition rule), and no
linker says so. Types in unnamed namespaces, in functions and in classes are their file's own."""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("neura", "python/bindings", "cli")
APART = {"neura/backend/cuda/pointwise/fused_kernel.cuh"}  # text for the compiler at run time, in no library
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
# Lines of the preprocessor, with those that continue them.
DIRECTIVE = re.compile(r"^[ \t]*#(?:.*\\\n)*.*$", re.M)
TOKEN = re.compile(r"[{};]|[^{};]+")
SCOPE = re.compile(r"\bnamespace\b\s*([\w:]*)\s*$")
TEMPLATE = re.compile(r"\btemplate\s*<(?:[^<>]|<[^<>]*>)*>")
TYPE = re.compile(
    r"\b(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(?:alignas\([^)]*\)\s*|\[\[[^\]]*\]\]\s*)*(\w+)([^=()]*)$"
)


def types(text):
    """The qualified names of the types that a file defines at namespace scope."""
    text = DIRECTIVE.sub("", NOISE.sub(lambda m: "\n" * m.group().count("\n"), text))
    scopes, head = [], ""  # of each open brace: a namespace's name, "" for an unnamed one, None for anything else
    for token in TOKEN.findall(text):
        if token == "}":
            if scopes:
                scopes.pop()
            head = ""
        elif token == ";":
            head = ""
        elif token != "{":
            head = token
        else:
            if scope := SCOPE.search(head):
                scopes.append(scope.group(1))
            else:
                found = TYPE.search(TEMPLATE.sub("", head))
                special = found and found.group(2).lstrip().startswith(("<", "::"))  # or a member of a class
                if found and not special and all(scopes):
                    yield "::".join([*scopes, found.group(1)])
                scopes.append(None)
            head = ""


def main():
    files = collections.defaultdict(set)
    paths = [p for f in FOLDERS for e in ("*.h", "*.cpp", "*.cu", "*.cuh") for p in (ROOT / f).rglob(e)]
    for path in (p for p in paths if str(p.relative_to(ROOT)) not in APART):
        for name in types(path.read_text()):
            if "::" in name:  # a file without a namespace is included into one
                files[name].add(str(path.relative_to(ROOT)))
    doubled = {name: sorted(where) for name, where in files.items() if len(where) > 1}
    for name, where in sorted(doubled.items()):
        print(f"{name}: {', '.join(where)}")
    print(f"names: {len(files)} types in {len(paths)} files, {len(doubled)} defined in several")
    return 1 if doubled or len(files) < 300 else 0


if __name__ == "__main__":
    sys.exit(main())
