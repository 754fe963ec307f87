#!/usr/bin/env python3
"""For tools/bare.sh.

    bare.py sample FILE          writes a picture of 28 x 28 as .npy
    bare.py int8 FILE            writes a network of 8-bit integers as .neura
    bare.py same WANT GOT [--near]   compares answers: their bits; with --near floats by 1e-6 of the largest number
    bare.py start PROGRAM FILE   says how long it takes from start to answer; fails above 5 ms where the machine is
                                 quiet enough to tell
"""
import hashlib
import json
import os
import random
import statistics
import struct
import sys
import time

LIMIT, RUNS = 5e-3, 200
QUIET = 2e-3  # what /bin/true takes at most where nobody else computes


def sample(path):
    header = "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 1, 28, 28), }"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    draw = random.Random(1)
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(draw.randbytes(784))


# A network with weights of int8: 784 numbers to 64 integers to 10, with the integers and their sums as results.
INT8 = """program
%0 = input input : uint8 [1, 1, 28, 28]
%1 = captured 0.scale : float32 [1]
%2 = captured 0.zero : int32 [1]
%3 = captured 1.weight : int8 [784, 64]
%4 = captured 1.scale : float32 [64]
%5 = captured 1.zero : int32 [64]
%6 = captured 2.weight : int8 [64, 10]
%7 = captured 2.scale : float32 [10]
%8 = captured 2.zero : int32 [10]
%9 = to(%0) {dtype=float32, keep_order=true} : float32 [1, 1, 28, 28]
%10 = mul(%9, 0.0039215686274509803) : float32 [1, 1, 28, 28]
%11 = view(%10) {to=[1, 784]} : float32 [1, 784]
%12 = quantize_affine(%11, %1, %2) {s=[low=-128, high=127, axis=-1], dtype=int8} : int8 [1, 784]
%13 = integer_matmul(%12, %3, none) : int32 [1, 64]
%14 = requantize_affine(%13, %4, %5) {s=[low=-128, high=127, axis=1], dtype=int8} : int8 [1, 64]
%15 = integer_matmul(%14, %6, none) : int32 [1, 10]
%16 = dequantize_affine(%15, %7, %8) {s=[low=-128, high=127, axis=1]} : float32 [1, 10]
return %14, %15, %16
"""


def int8(path):
    draw = random.Random(2)
    tensors = [  # in the order of the text, in which they are hashed
        ("0.scale", "F32", [1], struct.pack("<f", 1 / 255)),
        ("0.zero", "I32", [1], struct.pack("<i", -128)),
        ("1.weight", "I8", [784, 64], draw.randbytes(784 * 64)),
        ("1.scale", "F32", [64], struct.pack("<64f", *(draw.uniform(2e-4, 6e-4) for _ in range(64)))),
        ("1.zero", "I32", [64], struct.pack("<64i", *(draw.randint(-9, 9) for _ in range(64)))),
        ("2.weight", "I8", [64, 10], draw.randbytes(64 * 10)),
        ("2.scale", "F32", [10], struct.pack("<10f", *(draw.uniform(1e-4, 1e-3) for _ in range(10)))),
        ("2.zero", "I32", [10], bytes(40)),
    ]
    header, data = {}, b""
    for name, dtype, shape, values in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    outputs = [("codes", "int8", 64), ("sums", "int32", 10), ("output", "float32", 10)]
    signature = {
        "format": 1,
        "version": "0.1.0",
        "inputs": [{"name": "input", "dtype": "uint8", "sizes": [1, 1, 28, 28]}],
        "outputs": [{"name": name, "dtype": dtype, "sizes": [1, n]} for name, dtype, n in outputs],
        "program_sha256": hashlib.sha256(INT8.encode()).hexdigest(),
        "weights_sha256": hashlib.sha256(data).hexdigest(),
    }
    texts = {"neura.program": INT8, "neura.signature": json.dumps(signature), "neura": json.dumps({"format": 1})}
    text = json.dumps({"__metadata__": texts, **header}).encode()
    text += b" " * (-(8 + len(text)) % 64)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def numbers(path):  # and whether they are floats
    with open(path, "rb") as file:
        data = file.read()
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    letter = {"f4": "f", "i4": "i", "i1": "b", "u1": "B"}[data.split(b"descr': '")[1][1:3].decode()]
    values = data[begin:]
    return struct.unpack(f"<{len(values) // struct.calcsize(letter)}{letter}", values), letter == "f"


def same(first, second, near=""):
    (want, floats), (got, _) = numbers(first), numbers(second)
    most = max(abs(x) for x in want)
    error = max(abs(a - b) for a, b in zip(got, want)) / most if most else 0
    print(f"{second}: " + ("the same bits" if got == want else f"within {error:.1e} of the largest number"))
    if len(got) != len(want) or not error <= (1e-6 if floats and near else 0):
        sys.exit(f"{second}: expected the answers of {first}, {want}, got {got}")


def times(*words):
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    seconds = []
    for _ in range(RUNS):
        start = time.perf_counter()
        child = os.posix_spawn(words[0], words, {**os.environ, "NEURA_NUM_THREADS": "1"}, file_actions=silent)
        _, status = os.waitpid(child, 0)
        seconds.append(time.perf_counter() - start)
        if status:
            sys.exit(f"{words[0]}: expected it to end well, got status {status}")
    return min(seconds), statistics.median(seconds)


def start(program, file):
    nothing, own = times("/bin/true"), times(program, file)
    text = ", ".join(f"{1e3 * s:.2f}" for s in own), ", ".join(f"{1e3 * s:.2f}" for s in nothing)
    print(f"{program}: from start to answer, least and median of {RUNS}: {text[0]} ms; /bin/true {text[1]}")
    if own[1] > LIMIT and nothing[1] < QUIET:
        sys.exit(f"{program}: expected an answer within {1e3 * LIMIT:.0f} ms, got {1e3 * own[1]:.2f}")


{"sample": sample, "int8": int8, "same": same, "start": start}[sys.argv[1]](*sys.argv[2:])
