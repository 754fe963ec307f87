#!/usr/bin/env python3
"""Times the cases of bench.py that are compiled (B.compile), on PyTorch: a file as bench.py writes it with --json.

    compiled.py BENCH.PY RESULT.json [--device cuda] [--seconds 150] [--budget 0.5]

Every case is a process of its own, so that one that fails or takes too long is a row that says so. First all of them
compile at the same time into one cache; then each is timed alone. Without what a compiler on a GPU needs (Triton, a C
compiler, Python's headers) it says what is missing, and writes nothing.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time


def missing(device):
    """What compiling needs and is not there, as a text."""
    compiler = os.environ.get("CC") or next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    if not compiler or not shutil.which(compiler):
        return "no C compiler"
    if not pathlib.Path(sysconfig.get_paths()["include"], "Python.h").exists():
        return "no Python.h, which the launchers of compiled kernels are built with"
    if device == "cuda" and not importlib.util.find_spec("triton"):
        return "no Triton"
    return ""


def cases(path, device):
    spec = importlib.util.spec_from_file_location("bench", path)
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    return [name for name, c in bench.CASES.items() if c["compile"] and c["device"] in ("any", device)]


class Run:
    """One case in a process of its own."""

    def __init__(self, args, name, folder, budget):
        self.name, self.json, self.log = name, folder / "case.json", tempfile.TemporaryFile()
        folder.mkdir(parents=True)
        command = [sys.executable, args.bench, "--backend", "torch", "--device", args.device, "--mode", "compile"]
        command += ["--only", name, "--budget", str(budget), "--json", str(self.json)]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True)

    def result(self, until):
        """(version, row), at that time at the latest."""
        try:
            self.process.wait(max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)  # with the compilers it has started
            self.process.wait()
            return None, {"error": "it took too long to compile"}
        if not self.json.exists():
            self.log.seek(0)
            last = self.log.read().decode(errors="replace").strip().splitlines()[-1:]
            return None, {"error": f"bench.py ended with {self.process.returncode}: {''.join(last)}"[:300]}
        found = json.loads(self.json.read_text())
        return found["version"], found["cases"][self.name]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("result")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=150, help="for compiling all; and then for timing each")
    parser.add_argument("--budget", type=float, default=0.5, help="seconds a case")
    args = parser.parse_args()
    if lacking := missing(args.device):
        print(f"compiled: left out: {lacking}")
        return
    with tempfile.TemporaryDirectory() as folder:
        folder, names = pathlib.Path(folder), cases(args.bench, args.device)
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "inductor")
        os.environ["TRITON_CACHE_DIR"] = str(folder / "triton")
        until = time.monotonic() + args.seconds
        compiling = [Run(args, name, folder / f"first{i}", 0.01) for i, name in enumerate(names)]
        first = [(run.name, *run.result(until)) for run in compiling]
        rows, version = {}, None
        for i, (name, seen, row) in enumerate(first):
            if "s" in row:
                seen, row = Run(args, name, folder / f"second{i}", args.budget).result(time.monotonic() + args.seconds)
            rows[name], version = row, version or seen
            print(f"{name:42s} {row['s'] * 1e6:12.2f} us" if "s" in row else f"{name:42s} ERROR {row['error'][:160]}")
    with open(args.result, "w") as file:
        result = {"backend": "torch", "version": version, "device": args.device, "mode": "compile", "cases": rows}
        json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
