#!/usr/bin/env python3
"""Writes the tables of operators on docs/onnx.md from what the built package knows.

    onnx_page.py SITE [--check]
"""
import pathlib
import sys

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "onnx.md"
WRITTEN, HEAD = "## Written operations\n", "## Operators\n"


def table(operators):
    """One line per domain and name; several spans of versions are several meanings."""
    spans = {}
    for domain, name, first, last in operators:
        spans.setdefault((domain, name), []).append(f"{first}–{last}" if last else f"{first}–")
    lines = []
    for wanted in sorted({domain for domain, _ in spans}):
        rows = sorted((name, ", ".join(v)) for (domain, name), v in spans.items() if domain == wanted)
        lines.append(f"\n**{wanted or 'ai.onnx'}** ({len(rows)}): " + ", ".join(f"{n} ({v})" for n, v in rows) + ".")
    return "\n".join(lines) + "\n"


def written(rows):
    def line(name, operators, since):
        parts = ([f"{since}–"] if since > 13 else []) + ([operators] if operators else [])
        return f"{name} ({': '.join(parts)})" if parts else name

    return "\n" + ", ".join(line(*row) for row in sorted(rows)) + ".\n\n"


def main():
    sys.path.insert(0, sys.argv[1])
    import neura

    old = PAGE.read_text(encoding="utf-8")
    new = old[: old.index(WRITTEN) + len(WRITTEN)] + WRITTEN_INTRO + written(neura.onnx.exported())
    new += HEAD + INTRO + table([("", "Constant", 1, None)] + neura.onnx.operators())
    if "--check" in sys.argv:
        if new != old:
            print("docs/onnx.md is out of date; run: python tools/onnx_page.py SITE")
        return int(new != old)
    PAGE.write_text(new, encoding="utf-8")
    return 0


WRITTEN_INTRO = """
Of Neura, with the operators that they become; `(14–)` needs that version. This list is made by `tools/onnx_page.py`.
"""
INTRO = """
With the versions of the operators' set for which each is implemented; two spans are two meanings. Functions that a
model brings along need no line here. This list is made by `tools/onnx_page.py`.
"""

if __name__ == "__main__":
    sys.exit(main())
