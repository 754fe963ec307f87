#!/usr/bin/env python3
"""Times single calls of everyday functions on tiny tensors beside PyTorch, in one process on one thread.

    taskset -c 1 bench/small_calls.py [--only NAME] [--rounds 12] [--markdown FILE]

PYTHONPATH names the folder that holds the package `neura`. Each case runs in short turns, Neura and PyTorch after each
other, and the least of its turns counts. The last column is PyTorch's time over Neura's: above 1, Neura is faster.
"""
import argparse
import contextlib
import math
import time

import torch

import neura
from small_cases import CASES


def turn(call, calls):
    start = time.perf_counter_ns()
    for _ in range(calls):
        call()
    return (time.perf_counter_ns() - start) / calls


def measured(name, o):
    make, grad = CASES[name]
    with contextlib.ExitStack() as stack:
        if not grad:
            stack.enter_context(neura.no_grad())
            stack.enter_context(torch.no_grad())
        calls = [make(neura), make(torch)]
        counts = []
        for call in calls:
            call()
            least = min(turn(call, 3) for _ in range(3))
            counts.append(max(1, int(o.turn * 1e6 / least)))
        times = [math.inf, math.inf]
        for _ in range(o.rounds):
            for k in (0, 1):
                times[k] = min(times[k], turn(calls[k], counts[k]))
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--turn", type=float, default=2, help="milliseconds of a turn")
    parser.add_argument("--markdown", help="writes the table to this file, too")
    o = parser.parse_args()
    neura.set_num_threads(1)
    torch.set_num_threads(1)
    lines, ratios = ["| case | Neura, ns | PyTorch, ns | ratio |", "|---|---|---|---|"], {}
    for name in CASES:
        if o.only not in name:
            continue
        try:
            ours, theirs = measured(name, o)
        except Exception as error:  # said in the table
            lines.append(f"| {name} | {type(error).__name__}: {error} | | |")
            print(lines[-1], flush=True)
            continue
        ratios[name] = theirs / ours
        lines.append(f"| {name} | {ours:.0f} | {theirs:.0f} | {ratios[name]:.2f} |")
        print(lines[-1], flush=True)
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    lines.append(f"\n{len(ratios)} cases, geometric mean {mean:.2f}, {sum(r < 1 for r in ratios.values())} below 1")
    print(lines[-1])
    if o.markdown:
        with open(o.markdown, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
