#!/usr/bin/env python3
"""Activations, softmax and pooling forward by cuDNN's own calls beside Neura's: milliseconds and bytes per second, the
least of many by turns, and the largest difference of the results. It writes a table of Markdown. --dry looks at
everything but the device: whether each of Neura's calls can be made.

    PYTHONPATH=build/release/site cudnn_forward.py [--rounds N] [--dry]
"""
import argparse
import ctypes

import neura
import neura.nn.functional as F

FLOAT, HALF, BFLOAT16 = 0, 2, 9  # cudnnDataType_t
DTYPES = {FLOAT: neura.float32, HALF: neura.float16, BFLOAT16: neura.bfloat16}
SIGMOID, RELU, TANH, ELU, SWISH = 0, 1, 2, 4, 6  # cudnnActivationMode_t
ACCURATE, LOG = 1, 2  # cudnnSoftmaxAlgorithm_t
CHANNEL = 1  # cudnnSoftmaxMode_t
MAX, AVERAGE = 0, 1  # cudnnPoolingMode_t
PICTURES, SMALL, ROWS = (64, 256, 64, 64), (8, 64, 16, 16), (65536, 1024, 1, 1)
TIMES = 20  # calls between two events


class Cudnn:
    """cuDNN's library, of which Neura has loaded what its convolutions need."""

    def __init__(self):
        neura.nn.functional.conv2d(neura.ones(1, 8, 8, 8, device="cuda"), neura.ones(8, 8, 3, 3, device="cuda"))
        with open("/proc/self/maps") as maps:
            files = {line.split()[-1] for line in maps if "libcudnn.so" in line}
        self.library = ctypes.CDLL(files.pop() if files else "libcudnn.so.9")
        self.handle = self.made("cudnnCreate")
        self("cudnnSetStream", self.handle, ctypes.c_void_p(neura.cuda.current_stream().cuda_stream))
        self.one, self.zero = ctypes.byref(ctypes.c_float(1)), ctypes.byref(ctypes.c_float(0))

    def __call__(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status:
            raise SystemExit(f"{name}: expected status 0, got {status}")

    def made(self, create, fill="", *arguments):
        """A handle or descriptor, which lives as long as the process."""
        made = ctypes.c_void_p()
        self(create, ctypes.byref(made))
        if fill:
            self(fill, made, *arguments)
        return made

    def tensor(self, dtype, shape):
        return self.made("cudnnCreateTensorDescriptor", "cudnnSetTensor4dDescriptor", 0, dtype, *shape)

    def call(self, name, before, x, y, dtype):
        """What runs it from x into y."""
        shapes = [self.tensor(dtype, t.shape) for t in (x, y)]
        a, b = (ctypes.c_void_p(t.data_ptr()) for t in (x, y))
        f = getattr(self.library, name)
        arguments = (self.handle, *before, self.one, shapes[0], a, self.zero, shapes[1], b)
        self(name, *arguments)
        return lambda: f(*arguments)

    def activation(self, mode):
        set_it = "cudnnSetActivationDescriptor"
        return [self.made("cudnnCreateActivationDescriptor", set_it, mode, 0, ctypes.c_double(1))]

    def pooling(self, mode):
        set_it = "cudnnSetPooling2dDescriptor"
        return [self.made("cudnnCreatePoolingDescriptor", set_it, mode, 0, 2, 2, 0, 0, 2, 2)]


CASES = [  # name, Neura's, cuDNN's, its first arguments, sizes
    ("relu", F.relu, "cudnnActivationForward", ("activation", RELU), (PICTURES, SMALL)),
    ("sigmoid", neura.sigmoid, "cudnnActivationForward", ("activation", SIGMOID), (PICTURES, SMALL)),
    ("tanh", neura.tanh, "cudnnActivationForward", ("activation", TANH), (PICTURES, SMALL)),
    ("elu", F.elu, "cudnnActivationForward", ("activation", ELU), (PICTURES, SMALL)),
    ("silu", F.silu, "cudnnActivationForward", ("activation", SWISH), (PICTURES, SMALL)),
    ("softmax", lambda x: F.softmax(x, 1), "cudnnSoftmaxForward", (ACCURATE, CHANNEL), (ROWS, PICTURES)),
    ("log_softmax", lambda x: F.log_softmax(x, 1), "cudnnSoftmaxForward", (LOG, CHANNEL), (ROWS, PICTURES)),
    ("max_pool2d", lambda x: F.max_pool2d(x, 2), "cudnnPoolingForward", ("pooling", MAX), (PICTURES, SMALL)),
    ("avg_pool2d", lambda x: F.avg_pool2d(x, 2), "cudnnPoolingForward", ("pooling", AVERAGE), (PICTURES, SMALL)),
]


def milliseconds(f):
    begin, end = (neura.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(TIMES):
        f()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / TIMES


def measured(cudnn, ours, name, first, dtype, shape, rounds):
    x = neura.randn(*shape, device="cuda").to(DTYPES[dtype])
    want = ours(x)
    y = neura.zeros_like(want)
    before = getattr(cudnn, first[0])(first[1]) if isinstance(first[0], str) else first
    theirs = cudnn.call(name, before, x, y, dtype)
    neura.cuda.synchronize()
    apart = (y.float() - want.float()).abs().max().item()
    times = [(milliseconds(lambda: ours(x)), milliseconds(theirs)) for _ in range(rounds)]
    moved = (x.numel() + want.numel()) * x.element_size()
    return [min(column) for column in zip(*times)], moved, apart


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--dry", action="store_true")
    args = parser.parse_args()
    if args.dry:
        print(*(f"{case[0]}: {list(case[1](neura.randn(*SMALL)).shape)}" for case in CASES), sep="\n")
        return
    cudnn = Cudnn()
    version = cudnn.library.cudnnGetVersion
    version.restype = ctypes.c_size_t
    print(f"{neura.cuda.get_device_name()}, cuDNN {version()}, forward alone; GB/s of what must be read and written\n")
    print("| call | size | dtype | Neura ms | GB/s | cuDNN ms | GB/s | cuDNN / Neura | difference |")
    print("|---|---|---|---|---|---|---|---|---|")
    for label, ours, name, first, shapes in CASES:
        for shape in shapes:
            for dtype in DTYPES:
                (a, b), moved, apart = measured(cudnn, ours, name, first, dtype, shape, args.rounds)
                rates = [f"{ms:.4f} | {moved / ms * 1e-6:.0f}" for ms in (a, b)]
                size = " x ".join(map(str, shape))
                kind = str(DTYPES[dtype]).rpartition(".")[2]
                print(
                    f"| {label} | {size} | {kind} | {rates[0]} | {rates[1]} | {b / a:.2f} | {apart:.0e} |", flush=True
                )


if __name__ == "__main__":
    main()
