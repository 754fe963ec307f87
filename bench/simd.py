#!/usr/bin/env python3
"""Times cases of neura_bench with the best instruction set and with scalar code, by turns, and writes a table.

    simd.py build/release/bin/neura_bench bench/results/simd     # writes simd.json and simd.md
    simd.py --table bench/results/simd                           # writes simd.md again

Both are the same program: NEURA_CPU=scalar takes the kernels that are compiled without vectors, which the tests hold
the others to. The least time of each case counts, on one thread.
"""
import argparse
import json
import os
import pathlib
import subprocess
import time

from threads import processor

CASES = "^(add/(1024|65536)$|(exp|tanh|erf|sin|add_bfloat16)/|sum_(all/65536|rows/1024|columns/1024|halves)|amax_all"
CASES += "|var_rows|logsumexp_rows|cumsum_rows|sort_all/1000|BM_softmax/4096|BM_layer_norm/4096|BM_rfft/64/1024"
CASES += "|product/float(32|64)/128/128/3136/1)"

HEAD = """\
CPU time on one thread, microseconds, the least of {rounds} rounds by turns. `scalar` are the same kernels compiled for
the baseline of the architecture without vectors of ours (the compiler may still make some); tests compare the results
of all instruction sets (`KernelsOfAllInstructionSetsAgree` in `tests/ops/rows_kernels_test.cpp`).
"""


def run(program, cases, cpu):
    command = [program, f"--benchmark_filter={cases}", "--benchmark_min_time=0.05", "--benchmark_format=json"]
    env = {k: v for k, v in os.environ.items() if k != "NEURA_CPU"} | {"NEURA_NUM_THREADS": "1"}
    if cpu:
        env["NEURA_CPU"] = cpu
    out = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    return {b["name"]: b["cpu_time"] / 1e3 for b in json.loads(out.stdout)["benchmarks"]}


def measure(args):
    times = {"scalar": {}, "best": {}}
    load = []
    for _ in range(args.rounds):
        for name, cpu in (("scalar", "scalar"), ("best", None)):
            load.append(os.getloadavg()[0])
            for case, t in run(args.program, args.cases, cpu).items():
                times[name][case] = min(t, times[name].get(case, t))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    result = {"processor": processor(), "date": time.strftime("%Y-%m-%d"), "commit": commit, "rounds": args.rounds}
    result |= {"load": [min(load), max(load)], "times": times}
    pathlib.Path(args.result + ".json").write_text(json.dumps(result, indent=1) + "\n")


def table(path):
    r = json.loads(pathlib.Path(path + ".json").read_text())
    load = " to ".join(f"{v:.1f}" for v in r["load"])
    lines = ["# Vectors", "", f"{r['processor']}, {r['date']}, commit {r['commit']}, load average {load}."]
    lines += [HEAD.format(**r), "| case | scalar | vectors | ratio |", "|---|---|---|---|"]
    for case, slow in r["times"]["scalar"].items():
        fast = r["times"]["best"][case]
        lines.append(f"| `{case}` | {slow:.4g} | {fast:.4g} | {slow / fast:.1f} |")
    pathlib.Path(path + ".md").write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", help="neura_bench")
    parser.add_argument("result", nargs="?", help="where to write, without an ending")
    parser.add_argument("--table", metavar="RESULT")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cases", default=CASES)
    args = parser.parse_args()
    if args.table:
        return table(args.table)
    if not args.result:
        parser.error("expected neura_bench and a result, or --table")
    measure(args)
    table(args.result)


if __name__ == "__main__":
    main()
