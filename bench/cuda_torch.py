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
    a, b = numbers(SIZE), numbers(SIZE)
    half, other_half = numbers(SIZE, dtype=torch.bfloat16), numbers(SIZE, dtype=torch.bfloat16)
    rows, wide, bias = numbers(8192, 8192), numbers(65536, 1024), numbers(1024)
    square, small = numbers(4096, 4096), numbers(1000)
    small_leaf = numbers(1000).requires_grad_()
    small_out = torch.empty_like(small)
    target, wide_half = torch.empty_like(a), numbers(8192, 8192, dtype=torch.bfloat16)
    return {
        "copy": (lambda: target.copy_(a), 8 * SIZE, 0),
        "add_floats": (lambda: a + b, 12 * SIZE, 0),
        "add_bfloat16": (lambda: half + other_half, 6 * SIZE, 0),
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
        **network_cases(),
        **order_cases(),
    }


def network_cases():
    """Convolutions and pooling, as in cuda_bench.cpp."""
    conv2d, max_pool2d = torch.nn.functional.conv2d, torch.nn.functional.max_pool2d
    result = {}

    def convolution(name, n, c, f, size, dtype=torch.float32):
        x, w, b = numbers(n, c, size, size, dtype=dtype), numbers(f, c, 3, 3, dtype=dtype), numbers(f, dtype=dtype)
        ops = 2 * n * c * f * size * size * 9
        result[name] = (lambda: conv2d(x, w, b, padding=1), 0, ops)
        result[name + "_no_bias"] = (lambda: conv2d(x, w, padding=1), 0, ops)
        x_leaf, w_leaf = x.clone().requires_grad_(), w.clone().requires_grad_()
        y = conv2d(x_leaf, w_leaf, padding=1)
        g = torch.ones_like(y)
        result[name + "_backward"] = (
            lambda: torch.autograd.grad(y, [x_leaf, w_leaf], g, retain_graph=True),
            0,
            2 * ops,
        )

    convolution("conv_first", 128, 1, 32, 28)
    convolution("conv_second", 128, 32, 64, 14)
    convolution("conv_bfloat16", 64, 64, 64, 56, torch.bfloat16)
    convolution("small_conv", 1, 4, 4, 6)
    image, tiny = numbers(512, 64, 56, 56), numbers(1, 4, 8, 8)
    leaf = image.clone().requires_grad_()
    pooled = max_pool2d(leaf, 2)
    gradient = torch.ones_like(pooled)
    moved = 5.25 * image.numel()
    result["max_pool"] = (lambda: max_pool2d(image, 2), moved, 0)
    result["max_pool_backward"] = (lambda: torch.autograd.grad(pooled, leaf, gradient, retain_graph=True), moved, 0)
    result["max_pool_overlapping"] = (lambda: max_pool2d(image, 3, 2, 1), moved, 0)
    result["small_pool"] = (lambda: max_pool2d(tiny, 2), 0, 0)
    return result


def order_cases():
    """Random numbers and what puts them in order, as in cuda_bench.cpp."""
    filled, weights = torch.rand(SIZE, device="cuda"), torch.rand(32, 50257, device="cuda")
    line, lines = torch.rand(1 << 24, device="cuda"), torch.rand(8192, 2048, device="cuda")
    experts = torch.rand(65536, 64, device="cuda", dtype=torch.bfloat16)
    rows, sums = torch.randn(1024, 8192, device="cuda"), torch.zeros(1 << 20, device="cuda")
    places = torch.randint(1 << 20, (1 << 24,), device="cuda")
    vocabulary, sequence = torch.rand(64, 50257, device="cuda"), torch.rand(10000, device="cuda").sort().values
    return {
        "rand_floats": (lambda: torch.rand(4 * SIZE, device="cuda"), 16 * SIZE, 0),
        "randn_floats": (lambda: torch.randn(4 * SIZE, device="cuda"), 16 * SIZE, 0),
        "randint_int64": (lambda: torch.randint(1000, (SIZE,), device="cuda"), 8 * SIZE, 0),
        "bernoulli_floats": (lambda: filled.bernoulli_(0.3), 4 * SIZE, 0),
        "randperm_million": (lambda: torch.randperm(1 << 20, device="cuda"), 0, 0),
        "multinomial_vocabulary": (lambda: torch.multinomial(weights, 1, True), 0, 0),
        "sort_line": (lambda: line.sort(), 0, 0),
        "sort_short_lines": (lambda: line.view(65536, 256).sort(), 0, 0),
        "sort_lines": (lambda: lines.sort(), 0, 0),
        "sort_long_lines": (lambda: line.view(256, 65536).sort(), 0, 0),
        "topk_experts": (lambda: experts.topk(2), 0, 0),
        "topk_vocabulary": (lambda: vocabulary.topk(50), 0, 0),
        "topk_rows": (lambda: rows.topk(64), 0, 0),
        "topk_line": (lambda: line.topk(100), 0, 0),
        "median_lines": (lambda: line.view(1024, 16384).median(1), 0, 0),
        "scatter_add_floats": (lambda: sums.scatter_add_(0, places, line), 12 * line.numel(), 0),
        "searchsorted_floats": (lambda: torch.searchsorted(sequence, line), 0, 0),
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
        if name not in ours:
            continue
        theirs, mine = seconds(call, name.startswith("small_")), ours[name]
        reach = f"{moved / mine / 1e9:.0f} GB/s" if moved else f"{work / mine / 1e12:.0f} TFLOP/s" if work else ""
        print(f"| {name} | {mine * 1e6:.1f} | {theirs * 1e6:.1f} | {theirs / mine:.2f} | {reach} |")


if __name__ == "__main__":
    main()
