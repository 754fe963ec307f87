#!/usr/bin/env python3
"""Compares a few steady benchmarks with what they took on the same kind of machine when they were recorded last, and
warns of what became slower.

    bench_history.py [--record] [--bench PROGRAM] [--history FOLDER]

PROGRAM is build/release/bin/neura_bench by default. A kind of machine is a model of processor and a number of
processors; each has a file in bench/results/history. A case counts by the least time of many short repetitions on one
thread, in turn with all others, over that of a loop which has nothing of the library (`yardstick`): so clock and
neighbours matter little. What seems slower is measured again before it is believed. It never fails: machines are
shared.
"""
import argparse
import csv
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent
HISTORY = ROOT / "bench" / "results" / "history"
FIELDS = ["date", "commit", "case", "times_yardstick", "nanoseconds"]
YARDSTICK = "yardstick"
# In the caches; five runs beside other programs on all processors differed by 6 % at most.
CASES = """eight_add eight_mul_recorded_saving_two chain/forward_and_backward eager/4096 fused_program/4096
sum_all/65536 sort_all/1000 BM_softmax/100/10 BM_layer_norm_both_ways/64/64 BM_cross_entropy_both_ways/100/10
BM_rfft/1024/64 linear_layer/real_time conv_input_gradient/1/1/real_time""".split()
SLOWER = 1.15  # times what was recorded: a warning
ROUNDS = 3


def kind():
    """The machine's, as a file name."""
    text = pathlib.Path("/proc/cpuinfo").read_text() if os.path.exists("/proc/cpuinfo") else ""
    said = dict(re.findall(r"^(model name|cpu family|model)\s*:\s*(.*)$", text, re.MULTILINE))
    name = re.sub(r"\(R\)|\(TM\)|CPU|Processor|@.*", "", said.get("model name", os.uname().machine))
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    numbers = f"{said.get('cpu family', '')} {said.get('model', '')} x{processors}"  # many Xeons have one name
    return re.sub(r"[^a-z0-9]+", "-", f"{name} {numbers}".lower()).strip("-")


def measure(bench, cases):
    """Nanoseconds of each case, the least of all repetitions."""
    names = "|".join(re.escape(name) for name in [YARDSTICK, *cases])
    command = [bench, f"--benchmark_filter=^({names})$", "--benchmark_repetitions=40", "--benchmark_min_time=0.002"]
    command += ["--benchmark_enable_random_interleaving=true", "--benchmark_format=json"]
    environment = {**os.environ, "NEURA_NUM_THREADS": "1"}
    text = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
    ).stdout
    unit = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
    least = {}
    for run in json.loads(text)["benchmarks"]:
        if run["run_type"] == "iteration":
            name, time = run["run_name"], run["cpu_time"] * unit[run["time_unit"]]
            least[name] = min(time, least.get(name, time))
    missing = [name for name in [YARDSTICK, *cases] if name not in least]
    if missing:
        sys.exit(f"bench_history: {bench} has no case {', '.join(missing)}")
    return least


def relative(least):
    return {name: time / least[YARDSTICK] for name, time in least.items() if name != YARDSTICK}


def read(path):
    """What was recorded, the oldest first: {case: [row, ...]}."""
    rows = {}
    if path.exists():
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                rows.setdefault(row["case"], []).append(row)
    return rows


def slower(now, recorded):
    """[(case, how many times as long, the row it was compared with)] of what is slower than it was recorded last."""
    found = []
    for case, value in now.items():
        if case in recorded:
            last = recorded[case][-1]
            factor = value / float(last["times_yardstick"])
            if factor > SLOWER:
                found.append((case, factor, last))
    return sorted(found, key=lambda f: -f[1])


def compare(recorded, measured):
    """The times, and what is slower in all of ROUNDS measurements, each of which `measured(cases)` takes."""
    least = measured(CASES)
    found = slower(relative(least), recorded)
    for _ in range(ROUNDS - 1):
        if not found:
            break
        again = measured([case for case, _, _ in found])
        scale = least[YARDSTICK] / again[YARDSTICK]
        for case in (case for case, _, _ in found):
            least[case] = min(least[case], again[case] * scale)
        found = slower(relative(least), recorded)
    return least, found


def record(path, least):
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        if new:
            table.writerow(FIELDS)
        for case, value in relative(least).items():
            table.writerow([datetime.date.today().isoformat(), commit, case, f"{value:.5g}", f"{least[case]:.5g}"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="append what was measured to the history")
    parser.add_argument("--bench", type=pathlib.Path, default=ROOT / "build/release/bin/neura_bench")
    parser.add_argument("--history", type=pathlib.Path, default=HISTORY)
    options = parser.parse_args()
    path = options.history / f"{kind()}.csv"
    recorded = read(path)
    least, found = compare(recorded, lambda cases: measure(options.bench, cases))
    for case, factor, last in found:
        print(f"warning: {case} takes {factor:.2f} times what it took at {last['commit']} on {last['date']}")
    if not recorded:
        print(f"no times of this kind of machine ({kind()}) are recorded; --record begins a history of it")
    else:
        known = sum(case in recorded for case in CASES)
        print(f"{known} cases compared with the history of {kind()}: {len(found)} slower by more than {SLOWER - 1:.0%}")
    if options.record:
        record(path, least)
        print(f"recorded in {path}")


if __name__ == "__main__":
    main()
