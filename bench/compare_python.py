#!/usr/bin/env python3
"""Times bench.py and overhead.py in Neura and in PyTorch, by turns on this machine, and writes a table.

    compare_python.py --neura PYTHON SITE --torch PYTHON RESULT     # writes RESULT.json and RESULT.md
    compare_python.py --join NEURA.json TORCH.json RESULT           # of two files of bench.py, made on one machine;
                                                                    # --compiled FILE: and of one of compiled.py
    compare_python.py --table RESULT                                # writes RESULT.md again

PYTHON is an interpreter, SITE the folder with the package. The cases run group by group in both by turns, several
rounds; of each case the median of the rounds counts, of what a call costs beside its work the least. RESULT.reasons, if
there is one, has a line `case: reason` for what falls short.
"""
import argparse
import importlib.util
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import tempfile
import time

FOLDER = pathlib.Path(__file__).parent


def groups():
    spec = importlib.util.spec_from_file_location("bench", FOLDER / "bench.py")
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    names = [name for name, case in bench.CASES.items() if case["device"] in ("any", "cpu")]
    return names, list(dict.fromkeys(name.split("/")[0] + "/" for name in names))


def run_group(command, environment, backend, group, budget):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run(
            [*command, str(FOLDER / "bench.py"), "--backend", backend, "--only", group]
            + ["--budget", str(budget), "--json", out.name],
            env=environment,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        result = json.load(open(out.name))
    return result["version"], result["cases"]


def processor():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor()


def measure(args):
    programs = {
        "neura": ([args.neura[0]], {**os.environ, "PYTHONPATH": args.neura[1]}),
        "torch": ([args.torch], dict(os.environ)),
    }
    names, parts = groups()
    times = {name: {"neura": [], "torch": []} for name in names}
    work, errors, versions, overheads = {}, {}, {}, {"neura": [], "torch": []}
    load = []
    for round in range(args.rounds):
        for part in parts:
            if args.only and not any(part.startswith(p) for p in args.only.split(",")):
                continue
            for backend, (command, environment) in programs.items():
                load.append(os.getloadavg()[0])
                versions[backend], cases = run_group(command, environment, backend, part, args.budget)
                for name, row in cases.items():
                    if "s" in row:
                        times[name][backend].append(row["s"])
                        work[name] = {k: row[k] for k in ("bytes", "flops") if k in row}
                    else:
                        errors[f"{name} {backend}"] = row["error"]
            print(f"round {round + 1}: {part}", flush=True)
        for backend, (command, environment) in programs.items():
            out = subprocess.run(
                [*command, str(FOLDER / "overhead.py"), backend], env=environment, capture_output=True, check=True
            )
            overheads[backend].append(json.loads(out.stdout))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    result = {
        "processor": processor(),
        "processors": os.cpu_count(),
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit,
        "versions": versions,
        "rounds": args.rounds,
        "load": [min(load), max(load)],
        "cases": {},
        "errors": errors,
        "overhead": {},
    }
    for name in names:
        if not times[name]["torch"] and not times[name]["neura"]:
            continue
        row = {backend: statistics.median(t) if t else None for backend, t in times[name].items()}
        result["cases"][name] = {**row, **work.get(name, {})}
    for name in overheads["neura"][0]:
        row = {b: [r[name] for r in rows if r[name] is not None] for b, rows in overheads.items()}
        result["overhead"][name] = {b: min(v) if v else None for b, v in row.items()}  # what others do is not in it
    with open(args.result + ".json", "w") as file:
        json.dump(result, file, indent=1)


def join(ours, theirs, compiled, path, machine):
    """Files of bench.py as one result."""
    files = {"neura": json.load(open(ours)), "torch": json.load(open(theirs))}
    if compiled:
        files["compiled"] = json.load(open(compiled))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    result = {
        "processor": machine,
        "processors": None,
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit,
        "versions": {b: f["version"] for b, f in files.items() if b != "compiled"},
        "rounds": 1,
        "load": None,
        "cases": {},
        "errors": {f"{n} {b}": c["error"] for b, f in files.items() for n, c in f["cases"].items() if "error" in c},
        "overhead": {},
    }
    for name, case in files["torch"]["cases"].items():
        row = {b: f["cases"].get(name, {}).get("s") for b, f in files.items()}
        result["cases"][name] = {**row, **{k: case[k] for k in ("bytes", "flops") if k in case}}
    with open(path + ".json", "w") as file:
        json.dump(result, file, indent=1)


def row_of(name, c, compiled):
    """A case as a line of the table."""
    cells = [name] + [f"{c[b] * 1e3:.4f}" if c[b] else "not there" for b in ("neura", "torch")]
    cells.append(f"{c['torch'] / c['neura']:.2f}" if c["neura"] and c["torch"] else "")
    if compiled:
        seconds = c.get("compiled")
        cells.append(f"{seconds * 1e3:.4f}" if seconds else "")
        cells.append(f"{seconds / c['neura']:.2f}" if seconds and c["neura"] else "")
    reached = ""
    if c["neura"] and (c.get("flops") or c.get("bytes")):
        rate = (c.get("flops") or c["bytes"]) / c["neura"] / 1e9
        reached = f"{rate:.0f} {'GFLOP/s' if c.get('flops') else 'GB/s'}"
    return f"| {' | '.join(cells + [reached])} |"


def table(path):
    with open(path + ".json") as file:
        r = json.load(file)
    reasons = {}
    if os.path.exists(path + ".reasons"):
        reasons = dict(line.rstrip().split(": ", 1) for line in open(path + ".reasons") if ": " in line)
    rows = {name: c["torch"] / c["neura"] for name, c in r["cases"].items() if c["neura"] and c["torch"]}
    lines = [
        ", ".join(
            [r["processor"]]
            + ([f"{r['processors']} processors"] if r["processors"] else [])
            + [f"PyTorch {r['versions']['torch']}", r["date"], f"commit {r['commit']}"]
        )
        + (
            f"; {r['rounds']} rounds by turns, medians; load {r['load'][0]:.1f} to {r['load'][1]:.1f}."
            if r["load"]
            else "; one after the other, medians."
        ),
        "Above 1 Neura is faster.",
        "",
        f"{len(rows)} cases: geometric mean {math.exp(sum(map(math.log, rows.values())) / len(rows)):.2f}, "
        f"{sum(v < 1 for v in rows.values())} below 1.",
        "",
    ]
    compiled = {n: c["compiled"] for n, c in r["cases"].items() if c.get("compiled")}
    ratios = [seconds / r["cases"][n]["neura"] for n, seconds in compiled.items() if n in rows]
    if ratios:
        lines += [
            f"{len(ratios)} of them against torch.compile: geometric mean "
            f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}, {sum(v < 1 for v in ratios)} below 1.",
            "",
        ]
    head = ["case", "Neura, ms", "PyTorch, ms", "PyTorch / Neura"]
    head += ["compiled, ms", "compiled / Neura"] if compiled else []
    lines += [f"| {' | '.join(head + ['reached'])} |", "|" + "---|" * (len(head) + 1)]
    lines += [row_of(name, c, compiled) for name, c in r["cases"].items()]
    short = [name for name in r["cases"] if rows.get(name, 0) < 2]
    if short:
        lines += ["", "Short of twice PyTorch's speed, or not there:", ""]
        lines += [
            f"- {name}: {reasons.get(name) or reasons.get(name.split('/')[0], 'not looked into')}" for name in short
        ]
    if r["overhead"]:
        lines += ["", "| a call beside its work, ns, least | Neura | PyTorch | PyTorch / Neura |", "|---|---|---|---|"]
    for name, c in r["overhead"].items():
        if c["neura"] and c["torch"]:
            lines.append(f"| {name} | {c['neura']:.0f} | {c['torch']:.0f} | {c['torch'] / c['neura']:.1f} |")
    with open(path + ".md", "w") as file:
        file.write("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result")
    parser.add_argument("--neura", nargs=2, metavar=("PYTHON", "SITE"))
    parser.add_argument("--torch", metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=0.5, help="seconds a case and round")
    parser.add_argument("--only", default="", help="comma-separated beginnings of groups")
    parser.add_argument("--join", nargs=2, metavar=("NEURA.json", "TORCH.json"))
    parser.add_argument("--compiled", metavar="COMPILED.json", help="with --join")
    parser.add_argument("--machine", default="", help="with --join: what both ran on")
    parser.add_argument("--table", action="store_true", help="only write the table of what was measured")
    args = parser.parse_args()
    if args.join:
        join(*args.join, args.compiled, args.result, args.machine)
    elif not args.table:
        measure(args)
    table(args.result)


if __name__ == "__main__":
    main()
