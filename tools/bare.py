#!/usr/bin/env python3
"""For tools/bare.sh.

    bare.py sample FILE          writes a picture of 28 x 28 as .npy
    bare.py start PROGRAM FILE   says how long it takes from start to answer; fails above 5 ms where the machine is
                                 quiet enough to tell
"""
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


{"sample": sample, "start": start}[sys.argv[1]](*sys.argv[2:])
