#!/usr/bin/env python3
"""Makes sample changes in a copy of the tree, and counts how many places each touches.

    sample_changes.py --count [NAME...]           counts, and sees whether every edit still finds its place (seconds)
    sample_changes.py [--folder FOLDER] [NAME...]  also builds the copy, with all of the changes, and uses what is new

A place is a new file, or lines that are edited one after another in an old one. PLACES says how many a change may
touch (the goal) and how many it touches now, which may only become fewer. Without names, all samples.

A sample is a folder of tests/samples:

    edits.txt       what changes in old files:
                        edit PATH              the file, from the root
                        after REGEX            the one line that the lines that follow stand behind ...
                        before REGEX           ... or before, or
                        replace REGEX          that they replace
                        |a line
                    Lines that begin with # are remarks.
    new/PATH        new files
    check.cpp       a test (GoogleTest) of what is new, and
    check_*.py      one (pytest): neither counts as a place

--folder keeps the copy and its build there, so that the next run compiles only what differs. --option=OPTION goes to
CMake; --preset builds with another one than `quick`; --jobs as ninja's -j.
"""
import argparse
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "tests" / "samples"
PLACES = {  # name: (what changes, goal, now)
    "row": ("a pointwise row with options and a check", 1, 1),
    "row_family": ("a family of rows: its table, and its line in the list", 2, 2),
    "reduction": ("a reduction", 2, 2),
    "composite": ("a function of other operations", 2, 2),
    "fused": ("a fused operation with CPU and CUDA kernels and a gradient", 7, 7),
    "layer": ("a layer of a known family", 2, 1),
    "layer_family": ("a layer of a new family", 4, 4),
    "optimizer": ("an optimizer with fused kernels", 3, 3),
    "data_set": ("a data set for both languages", 3, 3),
    "surface": ("a name in the list of public functions", 1, 1),
}
PAGES = {"surface"}  # samples whose check reads pages and stubs that are made from the lists
PATIENCE = 60 * 60  # seconds that a build may take
start = time.monotonic()


def say(text):
    print(f"[{time.monotonic() - start:6.1f} s] {text}", flush=True)


class Broken(Exception):
    """A sample whose edits no longer fit."""


def edits(name):
    """(path, what, pattern, lines) of every edit of a sample, in their order."""
    found, path = [], None
    for number, line in enumerate((SAMPLES / name / "edits.txt").read_text().splitlines(), 1):
        word, _, rest = line.partition(" ")
        if line.startswith("|") and found:
            found[-1][3].append(line[1:])
        elif word == "edit":
            path = rest
        elif word in ("after", "before", "replace") and path:
            found.append((path, word, rest, []))
        elif line.strip() and not line.startswith("#"):
            raise Broken(f"{name}/edits.txt:{number}: expected edit, after, before, replace or |, got {line!r}")
    return found


def new_files(name):
    folder = SAMPLES / name / "new"
    return {str(p.relative_to(folder)): p for p in sorted(folder.rglob("*")) if p.is_file()}


def edited(name, path, lines, what, pattern, inserted):
    at = [i for i, line in enumerate(lines) if re.search(pattern, line)]
    if len(at) != 1:
        raise Broken(f"{name}: expected one line of {path} that matches {pattern!r}, got {len(at)}; mend edits.txt")
    first, last = {"after": (at[0] + 1, at[0] + 1), "before": (at[0], at[0]), "replace": (at[0], at[0] + 1)}[what]
    return lines[:first] + inserted + lines[last:]


def apply(name, root):
    """Makes the change under `root`. Gives the places, as (path, how many)."""
    before, after = {}, {}
    for path, what, pattern, inserted in edits(name):
        if path not in before:
            if not (root / path).is_file():
                raise Broken(f"{name}: expected a file {path}, got none; mend edits.txt")
            before[path] = after[path] = (root / path).read_text().splitlines()
        after[path] = edited(name, path, after[path], what, pattern, inserted)
    places = []
    for path, lines in after.items():
        matcher = difflib.SequenceMatcher(None, before[path], lines, autojunk=False)
        places.append((path, sum(tag != "equal" for tag, *_ in matcher.get_opcodes())))
        (root / path).write_text("\n".join(lines) + "\n")
    for path, source in new_files(name).items():
        if (root / path).exists():
            raise Broken(f"{name}: expected no file {path} yet, got one; the sample needs another name")
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, root / path)
        places.append((path + " (new)", 1))
    return places


def verdict(name, places):
    """What is wrong with the count, if anything, and a line that tells it."""
    what, goal, now = PLACES[name]
    count = sum(n for _, n in places)
    wrong = None
    if count > now:
        wrong = f"{name}: expected at most {now} places, got {count}"
    elif count < now:
        wrong = f"{name}: {count} places, fewer than before; write {count} into PLACES of tools/sample_changes.py"
    above = f", {count - goal} above the goal" if count > goal else ""
    return wrong, f"{name}: {what}: {count} places (goal {goal}{above}): " + ", ".join(
        path if n == 1 else f"{path} x {n}" for path, n in places
    )


def sources():
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=True,
    )
    return [path for path in listed.stdout.splitlines() if (ROOT / path).is_file()]


def count(names):
    """What is wrong with each sample, made by itself. Only the files that it edits are copied."""
    wrong = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder)
            try:
                touched = {path for path, *_ in edits(name)} | set(new_files(name))
                for path in touched:
                    if (ROOT / path).is_file():
                        (copy / path).parent.mkdir(parents=True, exist_ok=True)
                        shutil.copyfile(ROOT / path, copy / path)
                found, line = verdict(name, apply(name, copy))
            except Broken as error:
                found, line = str(error), str(error)
        say(line)
        wrong += [found] if found else []
    return wrong


def mirror(copy, names):
    """Brings the copy up to date and makes all changes in it; files that stay the same keep their time."""
    with tempfile.TemporaryDirectory() as folder:
        fresh = pathlib.Path(folder)
        for path in sources():
            (fresh / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, fresh / path)
        for name in names:
            apply(name, fresh)
            if (check := SAMPLES / name / "check.cpp").is_file():
                (fresh / "tests" / "sample_changes").mkdir(exist_ok=True)
                shutil.copyfile(check, fresh / "tests" / "sample_changes" / f"{name}_test.cpp")
        wanted = {p.relative_to(fresh) for p in fresh.rglob("*") if p.is_file()}
        for old in [p for p in copy.rglob("*") if p.is_file() and p.relative_to(copy).parts[0] != "build"]:
            if old.relative_to(copy) not in wanted:
                old.unlink()
        for path in wanted:
            if not (copy / path).is_file() or (copy / path).read_bytes() != (fresh / path).read_bytes():
                (copy / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(fresh / path, copy / path)
                shutil.copymode(fresh / path, copy / path)
    if (ROOT / "build" / "python").exists() and not (copy / "build" / "python").exists():
        (copy / "build").mkdir(exist_ok=True)
        (copy / "build" / "python").symlink_to((ROOT / "build" / "python").resolve())


def run(what, command, copy, environment=None):
    say(what)
    done = subprocess.run(
        [str(part) for part in command],
        cwd=copy,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
    )
    if done.returncode:
        print(done.stdout[-6000:], flush=True)
    return [] if done.returncode == 0 else [f"{what}: {command[0]} ended with {done.returncode}"]


def build(names, copy, options):
    python = [name for name in names if list((SAMPLES / name).glob("check_*.py"))]
    cpp = [name for name in names if (SAMPLES / name / "check.cpp").is_file()]
    say(f"a copy of the tree with {', '.join(names)} in {copy}")
    mirror(copy, names)
    build = copy / "build" / options.preset
    configure = ["cmake", "--preset", options.preset, f"-DNEURA_PYTHON={'ON' if python else 'OFF'}"]
    configure += ["-DNEURA_ONNX=AUTO", "-DNEURA_TEXT=AUTO"] * bool(python) + options.option
    wrong = run("configure", configure, copy)
    targets = (["test_sample_changes"] if cpp else []) + (["neura_python"] if python else [])
    if PAGES & set(names):
        targets += ["neura_stubs", "test_surface", "operations_page", "functions_page", "settings_page"]
    ninja = ["ninja", "-C", build] + ([f"-j{options.jobs}"] if options.jobs else [])
    wrong = wrong or run(f"build {' '.join(targets)}", ninja + targets, copy)
    if wrong:
        return wrong
    if cpp:
        wrong += run(f"C++ checks of {', '.join(cpp)}", [build / "bin" / "tests" / "sample_changes"], copy)
    if PAGES & set(names):
        wrong += run("pages", ["tools/docs.sh", build], copy)
        wrong += run("the tests of the list", [build / "bin" / "tests" / "surface", "--gtest_brief=1"], copy)
    own = copy / "build" / "python" / "bin" / "python"
    interpreter = own if own.exists() else sys.executable
    for name in python:
        checks = [p for p in sorted((SAMPLES / name).glob("check_*.py"))]
        environment = {"PYTHONPATH": str(build / "site"), "PYTHONDONTWRITEBYTECODE": "1", "NEURA_SAMPLE": str(copy)}
        pytest = [interpreter, "-m", "pytest", "-q", "-p", "no:cacheprovider", *checks]
        wrong += run(f"Python checks of {name}", pytest, copy, environment)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PLACES)}")
    parser.add_argument("--count", action="store_true", help="count alone, without a build")
    parser.add_argument("--folder", type=pathlib.Path, help="where the copy lies and stays")
    parser.add_argument("--preset", default="quick", help="of CMakePresets.json (quick)")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="-DNAME=VALUE",
        help="for CMake, written --option=-DNAME=VALUE; also twice",
    )
    parser.add_argument("--jobs", type=int, help="how many files are compiled at once")
    options = parser.parse_args()
    names = options.names or list(PLACES)
    if unknown := [name for name in names if name not in PLACES]:
        parser.error(f"expected names of {', '.join(PLACES)}, got {', '.join(unknown)}")
    unlisted = sorted({p.name for p in SAMPLES.iterdir() if p.is_dir()} ^ set(PLACES))
    wrong = [f"tests/samples and PLACES differ in {', '.join(unlisted)}"] if unlisted else []
    wrong += count(names)
    if not wrong and not options.count:
        if options.folder:
            options.folder.mkdir(parents=True, exist_ok=True)
            wrong = build(names, options.folder.resolve(), options)
        else:
            with tempfile.TemporaryDirectory() as folder:
                wrong = build(names, pathlib.Path(folder), options)
    for line in wrong:
        print(line)
    say(f"{len(names)} samples, {len(wrong)} problems")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
