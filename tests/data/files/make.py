"""The small files that the readers' tests read: python tests/data/files/make.py"""

import gzip
import pathlib
import struct
import zlib

here = pathlib.Path(__file__).parent


def png(height, width, pixels):  # RGB, without a filter
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + pixels[3 * width * y : 3 * width * (y + 1)] for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def idx(kind, sizes, data):
    return struct.pack(">BBBB", 0, 0, kind, len(sizes)) + struct.pack(f">{len(sizes)}I", *sizes) + data


for folder in ("pictures/cat", "pictures/dog", "reviews/neg", "reviews/pos", "mnist", "cifar"):
    (here / folder).mkdir(parents=True, exist_ok=True)
(here / "pictures/cat/a.png").write_bytes(png(2, 3, bytes(range(18))))
(here / "pictures/dog/b.png").write_bytes(png(1, 1, b"\xff\x80\x00"))
(here / "table.csv").write_text("height, width\n1.5,2\n-3e2,nan\n")
(here / "reviews/neg/0_2.txt").write_text("Dull, and too long.\n", encoding="utf-8")
(here / "reviews/pos/0_9.txt").write_text("Très beau — 10/10 👍\n", encoding="utf-8")
(here / "reviews/pos/1_10.txt").write_text("", encoding="utf-8")
images = idx(8, (3, 2, 2), bytes(range(12)))
(here / "mnist/t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(images, mtime=0))
(here / "mnist/t10k-labels-idx1-ubyte").write_bytes(idx(8, (3,), bytes([7, 0, 9])))
(here / "cifar/test_batch.bin").write_bytes(b"".join(bytes([4 + i]) + bytes([i * 50]) * 3072 for i in range(2)))
