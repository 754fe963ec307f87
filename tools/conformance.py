#!/usr/bin/env python3
"""Runs PyTorch's stored cases against the Python package and compares the counts with tests/conformance/expected.json.

    tools/conformance.py SITE [--device cuda] [--compiled] [--update] [--jobs N] [--only NAME,...]

SITE is the folder that holds the package `neura`. Fails where a file has fewer passing cases than before, or a crash.
expected.json: by file, how many cases pass; under "different", by file and case, why our answer is another on purpose;
under "cuda", by file and case, why a case that passes on the CPU does not on CUDA.
--update raises the counts of the files that ran, and never lowers one. --compiled runs each case as a compiled
function.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUNNER = ROOT / "tests/conformance/run.py"
EXPECTED = ROOT / "tests/conformance/expected.json"
GROUPS = {  # by the first folder or the beginning of the name
    "network functions": ("ops/nn.functional.",),
    "modules": ("modules/",),
    "optimizers": ("optimizers/", "schedulers.json"),
    "special": ("ops/special.",),
    "linear algebra": ("ops/linalg.",),
}


def run(site, only, device):
    """The rows of run.py: [file, case, label, end, why]."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [sys.executable, str(RUNNER), "--device", device, "--json", out.name] + (
            ["--only", only] if only else []
        )
        done = subprocess.run(command, env={**os.environ, "PYTHONPATH": site}, stdout=subprocess.DEVNULL)
        if done.returncode:
            sys.exit(f"conformance: run.py ended with {done.returncode}")
        return json.load(open(out.name))["rows"]


def run_in_parts(site, only, jobs, device):
    """The same by several processes, each with its own first letters."""
    if only or jobs == 1:
        return run(site, only, device)
    names = [p.name for folder in ("ops", "modules", "optimizers") for p in (RUNNER.parent / folder).iterdir()]
    letters = sorted({n[0] for n in names} | {"s"})
    parts = [",".join(letters[i::jobs]) for i in range(jobs)]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return [row for rows in pool.map(lambda part: run(site, part, device), parts) for row in rows]


def group_of(path):
    for name, beginnings in GROUPS.items():
        if path.startswith(beginnings):
            return name
    return "tensor functions"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--compiled", action="store_true", help="run each case by compile()")
    parser.add_argument("--update", action="store_true", help="write what passes now into expected.json")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="comma-separated beginnings of file names")
    args = parser.parse_args()
    os.environ["NEURA_TEST_COMPILED"] = str(int(args.compiled))
    rows = run_in_parts(os.path.abspath(args.site), args.only, args.jobs, args.device)
    passing, ends = collections.Counter(), collections.defaultdict(collections.Counter)
    for path, _, _, end, _ in rows:
        passing[path] += end == "pass"
        ends[group_of(path)][end] += 1
    for group, count in sorted(ends.items()):
        rest = ", ".join(f"{n} {end}" for end, n in sorted(count.items()) if end != "pass")
        print(f"conformance: {group:18} {count['pass']:5} of {sum(count.values()):5} pass; {rest}")
    expected = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    different, on_cuda = expected.pop("different", {}), expected.pop("cuda", {})
    if args.device != "cpu":
        expected = {path: n - len(on_cuda.get(path, {})) for path, n in expected.items()}
    elif args.update:
        for path in passing:
            expected[path] = max(passing[path], expected.get(path, 0))
        whole = {**dict(sorted(expected.items())), "different": different, "cuda": on_cuda}
        EXPECTED.write_text(json.dumps(whole, indent=0) + "\n")
    worse = [p for p in passing if passing[p] < expected.get(p, 0)]
    crashed = [f"{path}: {why}" for path, _, _, end, why in rows if end == "crash"]
    for path in worse:
        print(f"conformance: {path}: {passing[path]} cases pass, {expected[path]} did")
        print("\n".join(f"  [{i}] {end}: {why}" for p, i, _, end, why in rows if p == path and end != "pass"))
    print("\n".join(f"conformance: crash: {c}" for c in crashed), end="\n" if crashed else "")
    reasons = [different[p][str(n)] for p, n, _, end, _ in rows if end != "pass" and str(n) in different.get(p, {})]
    print(
        f"conformance: {sum(passing.values())} of {len(rows)} cases pass, {len(reasons)} differ on purpose, "
        f"{len(worse)} files are worse than expected"
    )
    return bool(worse or crashed)


if __name__ == "__main__":
    sys.exit(main())
