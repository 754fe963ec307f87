#!/usr/bin/env python3
"""Test pictures of Fashion-MNIST as PNG files for the page: samples.py DATA PAGE LABELS.json [COUNT]; each class in
turn, the first ones in the set. Writes PAGE/samples/*.png, PAGE/samples.json, and what they are to LABELS.json."""

import gzip
import json
import pathlib
import struct
import sys
import zlib

CLASSES = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]


def opened(folder, name):
    plain = folder / name
    return plain.read_bytes() if plain.exists() else gzip.decompress((folder / f"{name}.gz").read_bytes())


def png(pixels, width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + pixels[y * width : (y + 1) * width] for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def main(data, page, labels_file, count=10):
    data, page = pathlib.Path(data), pathlib.Path(page)
    labels = opened(data, "t10k-labels-idx1-ubyte")[8:]
    images = opened(data, "t10k-images-idx3-ubyte")
    height, width = struct.unpack(">II", images[8:16])
    (page / "samples").mkdir(exist_ok=True)
    chosen, wanted, i = [], 0, 0
    while len(chosen) < int(count):
        if labels[i] == wanted % 10:
            name = f"samples/{len(chosen)}.png"
            pixels = images[16 + i * width * height : 16 + (i + 1) * width * height]
            (page / name).write_bytes(png(pixels, width, height))
            chosen.append([name, CLASSES[labels[i]]])
            wanted += 1
        i += 1
    (page / "samples.json").write_text(json.dumps([name for name, _ in chosen]))
    pathlib.Path(labels_file).write_text(json.dumps(chosen))


main(*sys.argv[1:])
