#!/usr/bin/env python3
"""Runs all snippets under PyTorch and stores their results in results.npz; needs PyTorch 2.11 and NumPy."""

import json
import sys
import traceback

import collect
import numpy
import torch


def main():
    only = sys.argv[1:]
    failed, stored, plain, dtypes = [], {}, {}, {}
    for name in collect.names():
        if only and not any(part in name for part in only):
            continue
        try:
            arrays, values = collect.run(name, torch)
        except Exception:
            traceback.print_exc()
            failed.append(name)
            continue
        plain.update(values)
        for path, (dtype, array) in arrays.items():
            stored[path], dtypes[path] = array, dtype
            if array.size > 2000:
                failed.append(f"{path}: {array.size} values are too many")
            if not numpy.isfinite(array).all():
                print(path, "has values that are not finite")
    print(len(collect.names()), "snippets,", len(stored), "arrays,", len(plain), "values; failed:", failed or "none")
    if not only and not failed:
        text = json.dumps({"torch": torch.__version__, "values": plain, "dtypes": dtypes}, separators=(",", ":"))
        numpy.savez_compressed(collect.STORED, **stored, **{"": numpy.frombuffer(text.encode(), numpy.uint8)})
        print(collect.STORED.stat().st_size, "bytes")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
