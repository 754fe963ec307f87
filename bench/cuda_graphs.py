#!/usr/bin/env python3
"""A training step of bench.py as one CUDA graph: forward, backward and optimizer, captured once and replayed.

    cuda_graphs.py neura|torch [BENCH.PY]       # microseconds a step: eager, replayed, and the host's share of a replay

PyTorch's optimizers are made capturable; Neura's need nothing.
"""
import importlib
import importlib.util
import pathlib
import sys
import time

CASES = ("train/mlp_784_128_10_b32", "train/fashion_cnn_b128")


def seconds(call, wait, calls=200, rounds=9):
    times, host = [], []
    for _ in range(rounds):
        wait()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        host.append((time.perf_counter() - start) / calls)
        wait()
        times.append((time.perf_counter() - start) / calls)
    return sorted(times)[rounds // 2] * 1e6, sorted(host)[rounds // 2] * 1e6


def main():
    backend = sys.argv[1]
    path = sys.argv[2] if len(sys.argv) > 2 else pathlib.Path(__file__).parent / "bench.py"
    spec = importlib.util.spec_from_file_location("bench", path)
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    module = importlib.import_module(backend)
    if backend == "torch":
        for name in ("SGD", "Adam"):
            kind = getattr(module.optim, name)
            if name == "Adam":
                setattr(module.optim, name, lambda p, lr, kind=kind: kind(p, lr=lr, capturable=True))
    for name in CASES:
        step, _ = bench.CASES[name]["make"](bench.Env(backend, "cuda", "eager"))
        side = module.cuda.Stream()
        with module.cuda.stream(side):
            for _ in range(5):
                step()
        module.cuda.synchronize()
        eager, _ = seconds(step, module.cuda.synchronize)
        graph = module.cuda.CUDAGraph()
        with module.cuda.graph(graph):
            step()
        replayed, host = seconds(graph.replay, module.cuda.synchronize)
        print(f"{name} {backend}: eager {eager:.1f}, one graph {replayed:.1f}, host {host:.1f} us", flush=True)


if __name__ == "__main__":
    main()
