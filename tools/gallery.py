#!/usr/bin/env python3
"""Writes docs/gallery.md: what each program of examples/ shows, by its header comment, and what it prints.

    gallery.py BUILD [NAME ...]                   runs those programs (all), and writes what they print
    gallery.py BUILD --device cuda:0 [NAME ...]   runs them there, and adds the device to those that end well
    gallery.py --check                            is every program on the page, with the text that it has now?
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[1]
PAGE = ROOT / "docs" / "gallery.md"
HEAD = """# Examples

Each program stands in [examples](../examples), is a lesson of about a hundred lines, checks what it shows, and ends
with 1 where that does not hold. `--device` says where it computes, `--quick` makes it short, `--help` says the rest.
Those in C++ are built by `ninja -C build/release example_NAME` and lie in `build/release/bin/examples`; those in
Python run where the package is installed. `make test` runs all of them. This page is made by `tools/gallery.py` of
the programs' first comments and of what they print; times are those of a small machine that did other things as well.
"""
MOST = 14  # lines of a program's output
FOLDERS = re.compile(r"(?<![\w.])/(?:[\w.-]+/)+")  # of this machine
ABSENT = "nothing to show"  # is what a program prints where a device or data are missing


def about(path):
    """Its first comment, as paragraphs; lines that are indented, or begin with `python`, are shown as they are."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        lines = text.split('"""')[1].splitlines()
    else:
        lines = [line[2:].removeprefix(" ") for line in re.match(r"(//.*\n)+", text).group().splitlines()]
    parts, code = [], False
    for line in lines:
        shown = line.startswith("    ") or line.startswith(("python ", "dot ", "pip "))
        if shown != code and parts and parts[-1]:
            parts.append("")
        parts.append("    " + line.strip() if shown else line)
        code = shown
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).strip()


def programs():
    """Path by name, as on the page: C++ first, each in the order of names."""
    found = sorted(ROOT.glob("examples/*.cpp")) + sorted(ROOT.glob("examples/python/*.py"))
    return {f"{p.stem}{p.suffix}": p for p in found if p.stem != "example"}


def run(path, build, device):
    """What it prints. Ends this program where that one does not end well."""
    if path.suffix == ".cpp":
        command = [build / "bin" / "examples" / path.stem]
    else:
        command = [sys.executable, path]
    if device != "cpu":
        command += ["--device", device]
    environment = os.environ | {"PYTHONPATH": str(build / "site")}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=600)
    if done.returncode:
        sys.exit(f"{path.name} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    lines = [FOLDERS.sub("", line.rstrip()) for line in done.stdout.rstrip().splitlines()]
    if len(lines) > MOST:
        lines = lines[: MOST // 2] + ["..."] + lines[-MOST // 2 :]
    return "\n".join(line if len(line) <= 120 else line[:116] + " ..." for line in lines)


def entry(name, path, devices, output):
    link = f"../{path.relative_to(ROOT)}"
    where = ", ".join(devices) or "none so far"
    return f"### {name}\n\n{about(path)}\n\n[Source]({link}). Run on: {where}.\n\n```text\n{output}\n```\n"


def entries():
    """Devices and output by name, as the page has them now."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    pattern = r"^### (\S+)\n.*?Run on: (.*?)\.\n\n```text\n(.*?)\n```$"
    found = re.findall(pattern, text, re.DOTALL | re.MULTILINE)
    return {n: ([] if d == "none so far" else d.split(", "), o) for n, d, o in found}


def page(found):
    parts = [HEAD]
    for title, suffix in (("C++", ".cpp"), ("Python", ".py")):
        parts.append(f"## {title}\n")
        parts += [entry(n, p, *found[n]) for n, p in programs().items() if p.suffix == suffix and n in found]
    return "\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    found = entries()
    if args.check:
        missing = programs().keys() - found.keys()
        if missing or page(found) != PAGE.read_text(encoding="utf-8"):
            print("docs/gallery.md is out of date; run: tools/gallery.py BUILD", *sorted(missing))
            return 1
        return 0
    for name, path in programs().items():
        if args.names and name not in args.names and path.stem not in args.names:
            continue
        output = run(path, args.build.resolve(), args.device)
        devices, before = found.get(name, ([], output))
        there = [] if output.startswith(ABSENT) else [args.device]
        devices = sorted({d for d in devices if d != args.device} | set(there))
        found[name] = (devices, output if args.device == "cpu" or before.startswith(ABSENT) else before)
        print(name)
    PAGE.write_text(page(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
