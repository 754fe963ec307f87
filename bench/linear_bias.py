#!/usr/bin/env python3
"""A linear layer as one call against a product and a sum, forward alone and both ways: milliseconds, the least of many
by turns on one thread, and whether the results are the same.

    PYTHONPATH=build/release/site linear_bias.py [--rounds N]
"""
import argparse
import time

import neura
import neura.nn.functional as F

SIZES = [(1, 64, 64), (32, 256, 1024), (128, 784, 128), (512, 512, 512), (2048, 256, 256)]


def fused(x, w, b):
    return F.linear(x, w, b)


def composed(x, w, b):
    return x @ w.T + b


def step(f, operands, g):
    y = f(*operands)
    if g is not None:
        y.backward(g)
        for t in operands:
            t.grad = None
    return y


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    args = parser.parse_args()
    neura.set_num_threads(1)
    print("| rows x in x out | | one call | product and sum | ratio | largest difference |\n|---|---|---|---|---|---|")
    for n, k, m in SIZES:
        for backward in (False, True):
            operands = [neura.randn(s, requires_grad=backward) for s in ((n, k), (m, k), (m,))]
            g = neura.randn(n, m) if backward else None
            least = {fused: 1e9, composed: 1e9}
            for _ in range(args.rounds):
                for f in least:
                    begin = time.perf_counter()
                    step(f, operands, g)
                    least[f] = min(least[f], 1e3 * (time.perf_counter() - begin))
            far = (fused(*operands) - composed(*operands)).abs().max().item()
            one, two = least[fused], least[composed]
            what = "both ways" if backward else "forward"
            print(f"| {n} x {k} x {m} | {what} | {one:.4f} | {two:.4f} | {two / one:.2f} | {far:.1e} |")


if __name__ == "__main__":
    main()
