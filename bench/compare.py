#!/usr/bin/env python3
"""Times the cases of bench/compare_bench.cpp in Neura and in PyTorch, in turn on this machine, and writes a table.

    compare.py build/release/bin/neura_bench bench/results/cpu   # writes cpu.json and cpu.md

Run it with a Python that has PyTorch. Each case runs in both by turns, several rounds; the median of the rounds counts.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import time

import torch
import torch.nn.functional as F

FLOATS = 16 << 20  # 64 MiB


def both_ways(f, backwards, *parameters):
    x = torch.randn(4096, 1024, requires_grad=backwards)
    g = torch.randn(4096, 1024)

    def run():
        y = f(x)
        if backwards:
            y.backward(g if y.dim() else None)
            x.grad = None
            for p in parameters:
                p.grad = None

    return run


def norm(backwards):
    w = torch.ones(1024, requires_grad=backwards)
    b = torch.zeros(1024, requires_grad=backwards)
    return both_ways(lambda x: F.layer_norm(x, (1024,), w, b), backwards, w, b)


def entropy(backwards):
    labels = torch.randint(0, 1024, (4096,))
    return both_ways(lambda x: F.cross_entropy(x, labels), backwards)


def unary(f):
    a = torch.randn(FLOATS)
    return lambda: f(a)


def binary(f):
    a, b = torch.rand(FLOATS), torch.rand(FLOATS)
    return lambda: f(a, b)


def copy():
    a, b = torch.ones(FLOATS), torch.ones(FLOATS)
    return lambda: b.copy_(a)


def product(m, k, n, threads=None):
    a, b = torch.randn(m, k), torch.randn(k, n)
    before = torch.get_num_threads()

    def run():
        torch.set_num_threads(threads or before)
        torch.mm(a, b)
        torch.set_num_threads(before)

    return run


class Cnn(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(1, 32, 3, padding=1)
        self.second = torch.nn.Conv2d(32, 64, 3, padding=1)
        self.hidden, self.output = torch.nn.Linear(3136, 128), torch.nn.Linear(128, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.first(x)), 2)
        x = F.max_pool2d(F.relu(self.second(x)), 2)
        return self.output(F.relu(self.hidden(x.flatten(1))))


def cnn():
    images, labels = torch.rand(128, 1, 28, 28), torch.randint(0, 10, (128,))
    net = Cnn()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)

    def run():
        loss = F.cross_entropy(net(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return run


CASES = {
    "copy_loop": copy,
    "add_64mib": lambda: binary(torch.add),
    "neg_64mib": lambda: unary(torch.neg),
    "exp_64mib": lambda: unary(torch.exp),
    "tanh_64mib": lambda: unary(torch.tanh),
    "gelu_64mib": lambda: unary(F.gelu),
    "sum_64mib": lambda: unary(torch.sum),
    "softmax_forward": lambda: both_ways(lambda x: torch.softmax(x, -1), False),
    "softmax_both": lambda: both_ways(lambda x: torch.softmax(x, -1), True),
    "layer_norm_forward": lambda: norm(False),
    "layer_norm_both": lambda: norm(True),
    "cross_entropy_forward": lambda: entropy(False),
    "cross_entropy_both": lambda: entropy(True),
    "matmul_1024": lambda: product(1024, 1024, 1024),
    "matmul_1024_one_thread": lambda: product(1024, 1024, 1024, 1),
    "matmul_128_10_128": lambda: product(128, 10, 128, 1),
    "cnn_training_step": cnn,
}


def time_torch(make, seconds=0.7):
    run = make()
    run(), run()
    times, start = [], time.perf_counter()
    while time.perf_counter() - start < seconds or len(times) < 3:
        before = time.perf_counter()
        run()
        times.append(time.perf_counter() - before)
    return statistics.median(times) * 1e3


def time_neura(program, name, seconds=0.7):
    out = subprocess.run(
        [
            program,
            f"--benchmark_filter=^compare/{name}/real_time$",
            f"--benchmark_min_time={seconds}",
            "--benchmark_format=json",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(out.stdout)["benchmarks"][0]["real_time"]


def cpu_name():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="neura_bench")
    parser.add_argument("result", help="where to write, without an ending")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="cases, separated by commas")
    args = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    head = {
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit,
        "torch": torch.__version__,
        "processor": cpu_name(),
        "threads": torch.get_num_threads(),
        "rounds": args.rounds,
    }
    rows = []
    for name in args.only.split(",") if args.only else CASES:
        ours, theirs = [], []
        for _ in range(args.rounds):
            ours.append(time_neura(args.program, name))
            theirs.append(time_torch(CASES[name]))
        row = {"case": name, "neura_ms": statistics.median(ours), "torch_ms": statistics.median(theirs)}
        row["ratio"] = row["torch_ms"] / row["neura_ms"]
        rows.append(row)
        print(
            f"{name:26s} {row['neura_ms']:10.3f} ms   torch {row['torch_ms']:10.3f} ms   {row['ratio']:6.2f} x",
            flush=True,
        )
    os.makedirs(os.path.dirname(args.result) or ".", exist_ok=True)
    with open(args.result + ".json", "w") as f:
        json.dump({**head, "cases": rows}, f, indent=1)
    with open(args.result + ".md", "w") as f:
        f.write(f"{head['processor']}, {head['threads']} threads, PyTorch {head['torch']}, ")
        f.write(f"{head['date']}, commit {commit}.\n")
        f.write("Medians of alternating rounds, milliseconds; above 1 Neura is faster.\n\n")
        f.write("| case | Neura | PyTorch | PyTorch / Neura |\n")
        f.write("|---|---|---|---|\n")
        for r in rows:
            f.write(f"| {r['case']} | {r['neura_ms']:.3f} | {r['torch_ms']:.3f} | {r['ratio']:.2f} |\n")


if __name__ == "__main__":
    main()
