#!/usr/bin/env python3
"""Times every family of kernels, and backward passes, on 1, 2, 4, ... all threads, and writes a table.

    threads.py build/release/bin/neura_bench bench/results/threads     # writes threads.json and threads.md
    threads.py --table bench/results/threads                           # writes threads.md again

Of each case the runs with different numbers of threads alternate in random order, and the least time counts: what
other programs take from the machine is not in it. A case whose result is not that of one thread, bit for bit, stops
the script.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

NAME = re.compile(r"threads/(.+)/(.+)/threads:(\d+)/real_time")
HEAD = """\
The least of {repetitions} alternating runs each, milliseconds of wall time. Every result of a kernel was compared with
that of one thread before it was timed: they are the same, bit for bit. `backward/independent_graphs` and
`backward/branches_of_one_graph` are calls of `backward` in several threads at once, each with kernels of one thread
(`bench/backward_bench.cpp`); all else is one call whose kernel is shared among threads (`bench/threads_bench.cpp`).
"""


def processor():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return "unknown processor"


def run(program, family, args):
    command = [program, f"--benchmark_filter=^threads/{family}/", f"--benchmark_min_time={args.seconds}"]
    command += [f"--benchmark_repetitions={args.repetitions}", "--benchmark_enable_random_interleaving=true"]
    out = subprocess.run(command + ["--benchmark_format=json"], capture_output=True, text=True, check=True)
    return [b for b in json.loads(out.stdout)["benchmarks"] if b["run_type"] == "iteration"]


def measure(args):
    listed = subprocess.run(
        [args.program, "--benchmark_list_tests", "--benchmark_filter=^threads/"], capture_output=True, text=True
    )
    names = [NAME.match(line).groups() for line in listed.stdout.splitlines()]
    families = list(dict.fromkeys(family for family, _, _ in names))
    load, cases = [], {f"{family}/{case}": {} for family, case, _ in names}
    for family in families:
        if args.only and family not in args.only.split(","):
            continue
        load.append(os.getloadavg()[0])
        for b in run(args.program, family, args):
            if b.get("error_occurred"):
                sys.exit(f"{b['name']}: {b['error_message']}")
            _, case, threads = NAME.match(b["name"]).groups()
            times = cases[f"{family}/{case}"]
            times[threads] = min(times.get(threads, b["real_time"]), b["real_time"])
        print(family, {c.split("/")[1]: t for c, t in cases.items() if c.startswith(family + "/")}, flush=True)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    result = {
        "processor": processor(),
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit,
        "repetitions": args.repetitions,
        "load": [min(load), max(load)],
        "cases": {case: times for case, times in cases.items() if times},
    }
    pathlib.Path(args.result + ".json").write_text(json.dumps(result, indent=1) + "\n")


def table(path):
    r = json.loads(pathlib.Path(path + ".json").read_text())
    counts = sorted({int(n) for times in r["cases"].values() for n in times})
    head = ["case"] + [f"{n} thread{'s' * (n > 1)}" for n in counts] + ["speed-up"]
    load = " to ".join(f"{v:.1f}" for v in r["load"])
    lines = [
        "# Threads",
        "",
        f"{r['processor']}, {r['date']}, commit {r['commit']}, load average {load}.",
        HEAD.format(**r),
        "| " + " | ".join(head) + " |",
        "|---" * len(head) + "|",
    ]
    for case, times in r["cases"].items():
        cells = [f"{times[str(n)]:.3f}" if str(n) in times else "" for n in counts]
        gain = times["1"] / times[str(counts[-1])]
        lines.append("| " + " | ".join([f"`{case}`", *cells, f"{gain:.2f}"]) + " |")
    pathlib.Path(path + ".md").write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", help="neura_bench")
    parser.add_argument("result", nargs="?", help="where to write, without an ending")
    parser.add_argument("--table", metavar="RESULT")
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.1, help="of each run")
    parser.add_argument("--only", help="families, separated by commas")
    args = parser.parse_args()
    if args.table:
        return table(args.table)
    if not args.result:
        parser.error("expected neura_bench and a result, or --table")
    measure(args)
    table(args.result)


if __name__ == "__main__":
    main()
