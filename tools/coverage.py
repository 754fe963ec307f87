#!/usr/bin/env python3
"""Reads what a build of the preset `coverage` counted, and writes which lines and which errors the tests execute.

    coverage.py build/coverage                      # prints the table and every error that no test raises
    coverage.py build/coverage --write docs/coverage.md
    coverage.py build/coverage --check              # fails on an error that no test raises and no line explains

The build may be any with -DNEURA_COVERAGE=ON whose tests have run: --source names the folder that it was made from, if
that is not this one; GCOV in the environment the gcov of its compiler, such as gcov-13; --commit what the page names.

An error is a `check<Type>(claim, [&] { return text; })`, raised where its lambda ran, or a `throw`. Those that no test
can raise stand in tools/coverage.reasons, one a line: file, a piece of the source line, why; separated by tabs.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = "core backend backend/cpu op ops autograd sparse graph cuda profile nn models optim data io onnx text".split()
FOLDERS += "train serve capi surface".split()
SITE = re.compile(r"\b(?:check|fail_with)<[\w:]+>\(|\bthrow\b(?! *;)")
LAMBDA = re.compile(r"\[[&=]?[\w, &]*\](?=\s*[({])")


def folder_of(path):
    return max((f for f in FOLDERS if path.startswith(f"neura/{f}/")), key=len, default=None)


class Counts:
    def __init__(self, source=ROOT):
        self.source = source
        self.lines = collections.defaultdict(int)  # (file, line): how often
        self.branches = {}  # (file, line): of each branch that is no exception's, by instance
        self.functions = collections.defaultdict(int)  # (file, line, column)

    def add(self, report):
        for file in report["files"]:
            path = os.path.relpath(os.path.join(report["current_working_directory"], file["file"]), self.source)
            if not folder_of(path):
                continue
            for line in file["lines"]:
                key = path, line["line_number"]
                self.lines[key] += line["count"]
                taken = [b["count"] for b in line["branches"] if not b["throw"]]
                known = self.branches.setdefault((*key, len(taken)), [0] * len(taken))
                self.branches[(*key, len(taken))] = [a + b for a, b in zip(known, taken)]
            for f in file["functions"]:
                self.functions[path, f["start_line"], f["start_column"]] += f["execution_count"]

    def both_ways(self, path, line):
        """Was every branch of the line taken, in some instance of its function?"""
        found = [taken for (p, n, _), taken in self.branches.items() if (p, n) == (path, line) and taken]
        return any(all(taken) for taken in found) if found else self.lines[path, line] > 0


def counted(build, source):
    counts, notes = Counts(source), sorted(str(p) for p in pathlib.Path(build).resolve().rglob("*.gcno"))
    said = collections.Counter()

    def gcov(note):
        command = [os.environ.get("GCOV", "gcov"), "--branch-probabilities", "--json-format", "--stdout", note]
        out = subprocess.run(command, capture_output=True, text=True)
        said.update(re.sub(r"^[^ ]*:", "", line) for line in out.stderr.splitlines())
        return [json.loads(line) for line in out.stdout.splitlines() if line.startswith("{")]

    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", os.cpu_count()))) as pool:
        for reports in pool.map(gcov, notes):
            for report in reports:
                counts.add(report)
    if not any(
        counts.lines.values()
    ):  # none, or of another compiler, or of sources elsewhere, or the tests did not run
        print(*(f"{text} ({times} times)" for text, times in said.most_common(5)), sep="\n")
        sys.exit(
            f"coverage: expected the counts of a build with NEURA_COVERAGE in {build}, made from {source}, got none of "
            f"{len(notes)} units; run its tests, or set GCOV or --source"
        )
    return counts


def without_comments(text):
    """The same text with blanks for comments and for what strings say, so that places stay."""
    blank = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
    return blank.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def end_of_call(text, begin):
    depth = 0
    for i in range(begin, len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if text[i] in ")]}" and depth == 0:
            return i
    return len(text)


def errors(counts):
    """(file, line, whether it was raised) of every error in the sources; None: not compiled in this build."""
    for file in sorted(p for p in (ROOT / "neura").rglob("*") if p.suffix in (".h", ".cpp")):
        path = str(file.relative_to(ROOT))
        if not folder_of(path) or path.startswith("neura/backend/cuda/") or path == "neura/core/error.h":
            continue
        source = file.read_text()
        text = without_comments(source)
        for match in SITE.finditer(text):
            at = match.start()
            line = text.count("\n", 0, at) + 1
            if match.group() != "throw":
                call = end_of_call(text, match.end() - 1)
                inner = [m.start() for m in LAMBDA.finditer(text, match.end(), call)]
                if not inner:
                    continue  # the template itself, or a text that a function makes
                at = inner[-1]
                key = path, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
                yield path, line, counts.functions[key] > 0 if key in counts.functions else None
            elif (path, line) not in counts.lines:
                yield path, line, None
            else:
                alone = not text[:at].split("\n")[-1].strip()
                yield path, line, counts.lines[path, line] > 0 if alone else counts.both_ways(path, line)


def reasons():
    file = ROOT / "tools/coverage.reasons"
    rows = [line.split("\t") for line in file.read_text().splitlines() if line] if file.exists() else []
    return [tuple(row) for row in rows]


def judged(counts):
    """By folder: lines, executed lines, errors, raised ones; and those that are not, with their reasons."""
    table = {f: [0, 0, 0, 0] for f in FOLDERS}
    for (path, _), count in counts.lines.items():
        table[folder_of(path)][0] += 1
        table[folder_of(path)][1] += count > 0
    known, missing = reasons(), []
    for path, line, raised in errors(counts):
        if raised is None:
            continue
        table[folder_of(path)][2] += 1
        table[folder_of(path)][3] += raised
        if not raised:
            text = (ROOT / path).read_text().splitlines()[line - 1].strip()
            why = next((r[2] for r in known if r[0] == path and r[1] in text), None)
            missing.append((path, line, text, why))
    return table, missing


def page(table, missing, commit):
    if not commit:
        said = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
        commit = said.stdout.strip() or "unknown"
    lines = [
        "# What the tests execute",
        "",
        f"Of commit {commit}, {time.strftime('%Y-%m-%d')}, by `make coverage` (`tools/coverage.sh`):",
        "a build that counts (preset `coverage`: one instruction set, no CUDA), every C++ test, then",
        "`tools/coverage.py`. The Python tests are not in it. An error is a place that raises one, by `check<Type>`",
        "or `throw`.",
        "",
        "| folder | lines | executed | | errors | raised |",
        "|---|---|---|---|---|---|",
    ]
    total = [sum(column) for column in zip(*table.values())]
    for name, (all_lines, executed, errors_, raised) in [*table.items(), ("all", total)]:
        share = f"{100 * executed / all_lines:.1f} %" if all_lines else ""
        lines.append(f"| {name} | {all_lines} | {executed} | {share} | {errors_} | {raised} |")
    lines += ["", "## Errors that no test raises", ""]
    for path, _, text, why in missing:
        lines.append(f"- `{path}`: `{text}`. {why or 'No reason known.'}")
    return "\n".join(lines + ([] if missing else ["None."])) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--write", metavar="PAGE")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--source", metavar="FOLDER", type=pathlib.Path, default=ROOT)
    parser.add_argument("--commit")
    args = parser.parse_args()
    table, missing = judged(counted(args.build, args.source.resolve()))
    total = [sum(column) for column in zip(*table.values())]
    for name, row in [*table.items(), ("all", total)]:
        print(f"{name:12} lines {row[0]:6} executed {row[1]:6}   errors {row[2]:4} raised {row[3]:4}")
    for path, line, text, why in missing:
        print(f"{path}:{line}: {text}" + (f"   [{why}]" if why else ""))
    if args.write:
        (ROOT / args.write).write_text(page(table, missing, args.commit))
    unexplained = sum(why is None for *_, why in missing)
    print(f"coverage: {len(missing)} errors that no test raises, {unexplained} of them unexplained")
    return args.check and unexplained > 0


if __name__ == "__main__":
    sys.exit(main())
