#!/usr/bin/env python3
"""Fails on a file or function that is too long to be read in one sitting: 400 lines, a header 200, a function 60.
The rows of a table within a test, which begin with a brace, a bracket or CASE, are not counted: they are data.

    check_lengths.py [ROOT]
"""
import pathlib
import re
import subprocess
import sys

SOURCE, HEADER, FUNCTION = 400, 200, 60
# A raw string, a comment, a string or a character; what may hold a brace that opens nothing.
NO_CODE = re.compile(r'R"(\w*)\(.*?\)\1"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
NOT_A_FUNCTION = re.compile(
    r"\b(namespace|struct|class|enum|union|extern|switch|if|for|while|do|else|catch|try)\b|=\s*$"
)
DATA = re.compile(r"\s*(?:[{}\[]|CASE\()")
OTHERS = ("tests/conformance/run.py", "bench/bench.py")  # kept as they are


def functions(text, tables=False):
    """(first line, lines; less those of tables) of everything in braces whose head ends with parameters."""
    code = NO_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    code = re.sub(r"^[ \t]*#.*(?:\\\n.*)*", lambda m: re.sub(r"[^\n]", " ", m.group()), code, flags=re.MULTILINE)
    opened, head = [], 0
    for i, c in enumerate(code):
        if c == "{":
            words = re.sub(r"template\s*<[^{;]*?>\s*(?=\w)", "", code[head:i])
            opened.append((i, ")" in words and not NOT_A_FUNCTION.search(words)))
            head = i + 1
        elif c == "}":
            if opened:
                start, is_function = opened.pop()
                if is_function and not any(f for _, f in opened):
                    body = code[start:i].split("\n")
                    yield code.count("\n", 0, start) + 1, sum(not (tables and DATA.match(line)) for line in body)
            head = i + 1
        elif c == ";":
            head = i + 1


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=True,
    )
    found, files = [], 0
    for path in listed.stdout.split():
        if not path.endswith((".h", ".cpp", ".cu", ".cuh", ".py")) or path in OTHERS:
            continue
        if not (root / path).exists():
            continue
        files += 1
        text = (root / path).read_text()
        lines, limit = text.count("\n"), HEADER if path.endswith((".h", ".cuh")) else SOURCE
        if lines > limit:
            found.append(f"{path}: {lines} lines, at most {limit}")
        if not path.endswith(".py"):
            found += [
                f"{path}:{line}: a function of {n} lines, at most {FUNCTION}"
                for line, n in functions(text, path.startswith("tests/"))
                if n > FUNCTION
            ]
    print("\n".join(found + [f"lengths: {files} files, {len(found)} too long"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
