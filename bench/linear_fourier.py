#!/usr/bin/env python3
"""Times linear algebra, Fourier transforms, ctc_loss and grid_sample beside PyTorch, in one process.

    bench/linear_fourier.py [--device cuda] [--threads 2] [--only NAME] [--seconds 0.3] [--markdown FILE]

PYTHONPATH names the folder that holds the package `neura`. Each case runs in turns, Neura and PyTorch after each other,
and the best of its rounds counts; on CUDA a round is ten calls and a wait for the device. The last column is
PyTorch's time over Neura's: above 1, Neura is faster.
"""
import argparse
import itertools
import math
import time

import numpy
import torch

import neura

RANDOM = numpy.random.default_rng(1)


def matrices(*shape, dtype="float32"):
    return RANDOM.standard_normal(shape).astype(dtype)


def definite(*shape, dtype="float32"):
    a = matrices(*shape, dtype=dtype)
    return a @ numpy.swapaxes(a, -1, -2) + shape[-1] * numpy.eye(shape[-1], dtype=dtype)


def complexes(*shape):
    return (matrices(*shape) + 1j * matrices(*shape)).astype("complex64")


def sampled_gradients(B, image, grid, weights, mode):
    image, grid = image.detach().requires_grad_(), grid.detach().requires_grad_()
    result = B.nn.functional.grid_sample(image, grid, mode=mode, align_corners=False)
    return B.autograd.grad(result, (image, grid), weights)


def cases():
    for n in (32, 128, 512, 2048):
        general, symmetric = matrices(n, n), definite(n, n)
        yield f"inv {n}", lambda B, a: B.linalg.inv(a), (general,)
        yield f"cholesky {n}", lambda B, a: B.linalg.cholesky(a), (symmetric,)
        yield f"solve {n}", lambda B, a, b: B.linalg.solve(a, b), (general, matrices(n, 8))
        yield f"qr {n}", lambda B, a: B.linalg.qr(a), (general,)
        if n <= 512:
            yield f"eigh {n}", lambda B, a: B.linalg.eigh(a), (symmetric,)
            yield f"svd {n}", lambda B, a: B.linalg.svd(a), (general,)
            yield f"eig {n}", lambda B, a: B.linalg.eig(a), (general,)
    small = definite(100000, 4, 4)
    yield "inv 100000 x 4", lambda B, a: B.linalg.inv(a), (small,)
    yield "cholesky 100000 x 4", lambda B, a: B.linalg.cholesky(a), (small,)
    yield "solve 100000 x 4", lambda B, a, b: B.linalg.solve(a, b), (small, matrices(100000, 4, 1))
    yield "det 100000 x 4", lambda B, a: B.linalg.det(a), (small,)
    for n in (1024, 65536, 1 << 20, 1009, 100003):
        yield f"fft {n}", lambda B, a: B.fft.fft(a), (complexes(n),)
        yield f"rfft {n}", lambda B, a: B.fft.rfft(a), (matrices(n),)
    yield "fft 1024 x 64", lambda B, a: B.fft.fft(a), (complexes(1024, 64),)
    yield "fft 256 x 1024", lambda B, a: B.fft.fft(a), (complexes(256, 1024),)
    yield "fft2 16 x 256 x 256", lambda B, a: B.fft.fft2(a), (complexes(16, 256, 256),)
    yield "irfft 256 x 513", lambda B, a: B.fft.irfft(a), (complexes(256, 513),)
    grid = RANDOM.uniform(-1, 1, (4, 64, 64, 2)).astype("float32")
    for channels in (32, 3):
        image, weights = matrices(4, channels, 64, 64), matrices(4, channels, 64, 64)
        name = "grid_sample" if channels == 32 else f"grid_sample of {channels}"
        for mode in ("bilinear", "nearest", "bicubic"):
            yield f"{name} {mode}", (
                lambda B, x, g, mode=mode: B.nn.functional.grid_sample(x, g, mode=mode, align_corners=False)
            ), (image, grid)
            yield f"{name} {mode}, gradients", (lambda B, x, g, w, mode=mode: sampled_gradients(B, x, g, w, mode)), (
                image,
                grid,
                weights,
            )
    scores = matrices(200, 32, 64)
    targets = RANDOM.integers(1, 64, (32, 40))
    lengths = numpy.full(32, 200), numpy.full(32, 40)
    yield "ctc_loss", lambda B, x, t, i, o: B.nn.functional.ctc_loss(B.log_softmax(x, 2), t, i, o), (
        scores,
        targets,
        *lengths,
    )


def large_cases():
    """Of sizes that are worth a device."""
    for n in (2048, 8192):
        general, symmetric = matrices(n, n), definite(n, n)
        yield f"large cholesky {n}", lambda B, a: B.linalg.cholesky(a), (symmetric,)
        yield f"large solve {n}", lambda B, a, b: B.linalg.solve(a, b), (general, matrices(n, 64))
        yield f"large qr {n}", lambda B, a: B.linalg.qr(a), (general,)
        if n == 2048:
            yield f"large eigh {n}", lambda B, a: B.linalg.eigh(a), (symmetric,)
            yield f"large svd {n}", lambda B, a: B.linalg.svd(a), (general,)
    batch = definite(500, 128, 128)
    yield "cholesky 500 x 128", lambda B, a: B.linalg.cholesky(a), (batch,)
    yield "solve 500 x 128", lambda B, a, b: B.linalg.solve(a, b), (batch, matrices(500, 128, 4))
    yield "qr 500 x 128", lambda B, a: B.linalg.qr(a), (batch,)
    yield "eigh 500 x 32", lambda B, a: B.linalg.eigh(a), (definite(500, 32, 32),)
    yield "svd 500 x 32", lambda B, a: B.linalg.svd(a), (matrices(500, 32, 32),)
    yield "fft 4096 x 4096", lambda B, a: B.fft.fft(a), (complexes(4096, 4096),)
    yield "fft2 64 x 512 x 512", lambda B, a: B.fft.fft2(a), (complexes(64, 512, 512),)
    yield "rfft2 64 x 512 x 512", lambda B, a: B.fft.rfft2(a), (matrices(64, 512, 512),)
    yield "irfft2 64 x 512 x 257", lambda B, a: B.fft.irfft2(a), (complexes(64, 512, 257),)
    yield "ifftn 128 x 128 x 128", lambda B, a: B.fft.ifftn(a), (complexes(128, 128, 128),)
    yield "fft 64 x 512 x 512 along the middle", lambda B, a: B.fft.fft(a, dim=1), (complexes(64, 512, 512),)


def best(call, seconds, calls, wait):
    call()
    wait()
    least, end = math.inf, time.perf_counter() + seconds
    while time.perf_counter() < end or least == math.inf:
        start = time.perf_counter()
        for _ in range(calls):
            call()
        wait()
        least = min(least, (time.perf_counter() - start) / calls)
    return least


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--seconds", type=float, default=0.3, help="of each case and library")
    parser.add_argument("--markdown", help="writes the table to this file, too")
    o = parser.parse_args()
    neura.set_num_threads(o.threads)
    torch.set_num_threads(o.threads)
    lines, ratios = ["| case | Neura, µs | PyTorch, µs | ratio |", "|---|---|---|---|"], []
    print("\n".join(lines))
    on_cuda = o.device == "cuda"
    waits = (neura.cuda.synchronize, torch.cuda.synchronize) if on_cuda else (lambda: None, lambda: None)
    calls = 10 if on_cuda else 1
    for name, function, arrays in itertools.chain(cases(), large_cases() if on_cuda else ()):
        if o.only not in name:
            continue
        ours = [neura.from_numpy(a.copy()).to(o.device) for a in arrays]
        theirs = [torch.from_numpy(a.copy()).to(o.device) for a in arrays]
        times = [math.inf, math.inf]
        for _ in range(2):
            times[0] = min(times[0], best(lambda: function(neura, *ours), o.seconds / 2, calls, waits[0]))
            times[1] = min(times[1], best(lambda: function(torch, *theirs), o.seconds / 2, calls, waits[1]))
        ratios.append(times[1] / times[0])
        lines.append(f"| {name} | {times[0] * 1e6:.1f} | {times[1] * 1e6:.1f} | {ratios[-1]:.2f} |")
        print(lines[-1], flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    lines.append(f"\n{len(ratios)} cases, geometric mean {mean:.2f}, {sum(r < 0.9 for r in ratios)} below 0.9")
    print(lines[-1])
    if o.markdown:
        with open(o.markdown, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
