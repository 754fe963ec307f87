#!/usr/bin/env python3
"""Runs the node tests of the `onnx` package on Neura and says how many pass.

    onnx_conformance.py SITE [--expected FILE] [--write FILE] [--only TEXT] [--verbose]

SITE is the folder of the built package. With --expected, a case that fails and is not listed there, or is listed and
passes, is an error. A line of that file: the case's name, and after two blanks why it fails. With a ? before the name,
it may fail or pass: that differs from processor to processor.
"""
import argparse
import collections
import sys
import warnings


def collect():
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return collect_testcases(None)


def same(expected, got, rtol, atol):
    """What differs, or an empty text."""
    import numpy as np
    import onnx

    if isinstance(expected, onnx.TensorProto):
        expected = onnx.numpy_helper.to_array(expected)
    if isinstance(expected, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(got) != len(expected):
            return "another number of elements"
        return next((d for e, g in zip(expected, got) if (d := same(e, g, rtol, atol))), "")
    if expected is None or got is None:
        return "" if expected is got else f"expected {expected}, got {got}"
    expected, got = np.asarray(expected), np.asarray(got)
    if expected.shape != got.shape:
        return f"expected shape {expected.shape}, got {got.shape}"
    if expected.dtype.kind in "OUS":
        return "" if expected.astype(str).tolist() == got.astype(str).tolist() else f"expected {expected}, got {got}"
    if expected.dtype != got.dtype:
        return f"expected {expected.dtype}, got {got.dtype}"
    if expected.dtype.kind == "V" or expected.dtype.name.startswith(
        ("float8", "float4", "bfloat16", "int4", "uint4", "int2", "uint2")
    ):
        expected, got = expected.astype(np.float32), got.astype(np.float32)
    try:
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol)
    except AssertionError as e:
        return "values: " + " ".join(str(e).split())[:160]
    return ""


def run(case):
    """An empty text if the case passes, else what went wrong."""
    import neura
    from neura.onnx import backend

    neura.manual_seed(0)  # the cases of random numbers fail in every run alike
    try:
        model = backend.prepare(case.model)
        for inputs, outputs in case.data_sets:
            got = model.run(list(inputs))
            if difference := same(list(outputs), list(got), case.rtol, case.atol):
                return difference
    except Exception as e:  # noqa: BLE001 - a failed case is a result
        return f"{type(e).__name__}: " + " ".join(str(e).split())[:200]
    return ""


def expected_failures(path):
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file]
    return dict(line.split("  ", 1) for line in lines if line and not line.startswith("#"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site")
    parser.add_argument("--expected")
    parser.add_argument("--write")
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    sys.path.insert(0, args.site)
    failed, passed = {}, []
    for case in collect():
        if args.only not in case.name:
            continue
        if args.verbose:
            print(case.name, flush=True)
        why = run(case)
        if why:
            failed[case.name] = why
        else:
            passed.append(case.name)
    total = len(failed) + len(passed)
    if args.write:
        with open(args.write, "w", encoding="utf-8") as file:
            file.writelines(f"{name}  {why}\n" for name, why in sorted(failed.items()))
    for why, count in collections.Counter(w.split(":")[0] for w in failed.values()).most_common():
        print(f"{count:5}  {why}")
    print(f"onnx node tests: {len(passed)} of {total} pass, {100 * len(passed) / max(total, 1):.1f} %")
    if not args.expected:
        return 0
    known = expected_failures(args.expected)
    surprises = [f"{n}: {w}" for n, w in failed.items() if n not in known and "?" + n not in known]
    surprises += [f"{n}: expected to fail, passes; take it out of the list" for n in passed if n in known]
    print("\n".join(surprises))
    return int(bool(surprises))


if __name__ == "__main__":
    sys.exit(main())
