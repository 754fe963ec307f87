#!/usr/bin/env python3
"""The cases of cuda_bench.cpp on PyTorch, and the table of both.

    cuda_bench --benchmark_format=json > ours.json && cuda_torch.py ours.json > cuda.md
"""
import json
import sys
import time

import torch

SIZE = 1 << 26


def numbers(*size, dtype=torch.float32):
    n = 1
    for s in size:
        n *= s
    return (torch.arange(n, dtype=torch.float32) / n).reshape(size).to("cuda").to(dtype)


def cases():
    """By name: what is called, the bytes that it must move, the floating-point operations that it takes."""
    a, b, half = numbers(SIZE), numbers(SIZE), numbers(SIZE, dtype=torch.bfloat16)
    rows, wide, bias = numbers(8192, 8192), numbers(65536, 1024), numbers(1024)
    square, small = numbers(4096, 4096), numbers(1000)
    small_leaf = numbers(1000).requires_grad_()
    small_out = torch.empty_like(small)
    target, wide_half = torch.empty_like(a), numbers(8192, 8192, dtype=torch.bfloat16)
    return {
        "copy": (lambda: target.copy_(a), 8 * SIZE, 0),
        "add_floats": (lambda: a + b, 12 * SIZE, 0),
        "add_bfloat16": (lambda: half + half, 6 * SIZE, 0),
        "exp_floats": (lambda: a.exp(), 8 * SIZE, 0),
        "add_bias": (lambda: wide + bias, 8 * SIZE, 0),
        "to_bfloat16": (lambda: a.to(torch.bfloat16), 6 * SIZE, 0),
        "sum_all": (lambda: a.sum(), 4 * SIZE, 0),
        "sum_rows": (lambda: rows.sum(1), 4 * SIZE, 0),
        "sum_columns": (lambda: rows.sum(0), 4 * SIZE, 0),
        "matmul_bfloat16_8192": (lambda: wide_half @ wide_half, 0, 2 * 8192**3),
        "matmul_float32_4096": (lambda: square @ square, 0, 2 * 4096**3),
        "small_add": (lambda: small + small, 0, 0),
        "small_add_recorded": (lambda: small_leaf + small, 0, 0),
        "small_add_out": (lambda: torch.add(small, small, out=small_out), 0, 0),
        "small_copy": (lambda: small_out.copy_(small), 0, 0),
        "small_empty": (lambda: torch.empty_like(small), 0, 0),
    }


def seconds(call, small):
    """Of one call: twenty and a wait; of a small one the host's share, the queue being emptied in between."""
    calls = 300 if small else 20
    for _ in range(10):
        call()
    times = []
    for _ in range(15):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        if not small:
            torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / calls)
    return sorted(times)[len(times) // 2]


def main():
    ours = {}
    for row in json.load(open(sys.argv[1]))["benchmarks"]:
        name = row["name"].split("/")[0]
        ours[name] = row["real_time"] * 1e-6 / (300 if name.startswith("small_") else 20)
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__} eager, microseconds a call\n")
    print("| case | Neura | PyTorch | ratio | Neura reaches |\n|---|---|---|---|---|")
    for name, (call, moved, work) in cases().items():
        theirs, mine = seconds(call, name.startswith("small_")), ours[name]
        reach = f"{moved / mine / 1e9:.0f} GB/s" if moved else f"{work / mine / 1e12:.0f} TFLOP/s" if work else ""
        print(f"| {name} | {mine * 1e6:.1f} | {theirs * 1e6:.1f} | {theirs / mine:.2f} | {reach} |")


if __name__ == "__main__":
    main()
