#!/usr/bin/env python3
"""What a call costs beside its work, in nanoseconds: overhead.py neura (or torch), as JSON.

Each figure is the least of many batches of calls of a Python function: its own cost is in it, other programs' work is
not. The import is the median of whole interpreter starts with and without it.
"""
import importlib
import json
import os
import statistics
import subprocess
import sys
import time


def cost(f, batches=60):
    """Nanoseconds a call."""
    calls = 1
    while True:
        start = time.perf_counter_ns()
        for _ in range(calls):
            f()
        if time.perf_counter_ns() - start > 2_000_000:
            break
        calls *= 2
    least = float("inf")
    for _ in range(batches):
        start = time.perf_counter_ns()
        for _ in range(calls):
            f()
        least = min(least, (time.perf_counter_ns() - start) / calls)
    return least


def import_time(backend, rounds=15):
    """Nanoseconds that `import backend` adds to Python's start, once its files are compiled."""
    compiled = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, "-c", f"import {backend}"], check=True, env=compiled)
    times = {"pass": [], f"import {backend}": []}
    for _ in range(rounds if backend != "torch" else 5):
        for program, list_of in times.items():
            start = time.perf_counter_ns()
            subprocess.run([sys.executable, "-c", program], check=True, env=compiled)
            list_of.append(time.perf_counter_ns() - start)
    without, with_it = (statistics.median(t) for t in times.values())
    return with_it - without


def chain(B):
    a = B.randn(8, requires_grad=True)

    def run():
        y = a
        for _ in range(10):
            y = y * 1.01 + 0.5
        y.sum().backward()
        a.grad = None

    return lambda: cost(run) / 20  # twenty operations, forward and backward


def linear(B):
    layer, x = B.nn.Linear(1, 1), B.randn(1, 1)

    def run():
        layer(x)

    def measure():
        with B.no_grad():
            return cost(run)

    return measure


def pair(B, grad):
    a, b = B.randn(8, requires_grad=grad), B.randn(8)
    return lambda: cost(lambda: a + b)


CASES = {
    "import": lambda B: lambda: import_time(B.__name__),
    "a + b of 8 floats": lambda B: pair(B, False),
    "a + b recorded": lambda B: pair(B, True),
    "nn.Linear(1, 1)(x), not recorded": linear,
    "chain of ten a * 1.01 + 0.5, forward and backward, per operation": chain,
}


def main():
    B = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "neura")
    rows = {}
    for name, make in CASES.items():
        try:
            rows[name] = make(B)()
        except AttributeError as error:
            rows[name] = None
            print(f"{name}: {error}", file=sys.stderr)
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
