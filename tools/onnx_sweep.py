#!/usr/bin/env python3
"""Compares operators whose meaning changed with ONNX Runtime, in every version: random models of one node.

    onnx_sweep.py SITE [--count N]

Needs the packages onnx and onnxruntime.
"""
import argparse
import random
import sys
import warnings

import numpy as np

F, I64 = np.float32, np.int64


def real(r, *shape):
    return np.array([r.uniform(-2, 2) for _ in range(int(np.prod(shape)))], F).reshape(shape)


def shape(r, least=1, most=4):
    return [r.randint(1, 4) for _ in range(r.randint(least, most))]


def axis_case(r, v):
    x = real(r, *shape(r))
    return [x], {"axis": r.randrange(-x.ndim if v >= 11 else 0, x.ndim)}


def clip(r, v):
    x = real(r, *shape(r))
    if v < 11:
        return [x], {"min": -0.5, "max": 0.7}
    bounds = [np.array(-0.5, F), np.array(0.7, F)]
    return [x] + r.choice([bounds, bounds[:1], [None, bounds[1]], []]), {}


def pad(r, v):
    x = real(r, *[r.randint(3, 5) for _ in range(r.randint(1, 4))])
    mode = r.choice(["constant", "reflect", "edge"] + (["wrap"] if v >= 19 else []))
    pads = [r.randint(0, 2) for _ in range(2 * x.ndim)]
    if v < 11:
        return [x], {"mode": mode, "pads": pads, "value": 1.5}
    if v >= 18 and r.random() < 0.5:
        axis = r.randrange(x.ndim)
        return [x, np.array(pads[:2], I64), np.array(1.5, F), np.array([axis], I64)], {"mode": mode}
    return [x, np.array(pads, I64), np.array(1.5, F)], {"mode": mode}


def squeeze(r, v):
    x = real(r, 2, 1, 3, 1)
    axes = r.choice([[1], [3], [1, 3]] + ([[-1], [-3, 3]] if v >= 11 else []))
    return ([x], {"axes": axes}) if v < 13 else ([x, np.array(axes, I64)], {})


def unsqueeze(r, v):
    x = real(r, 2, 3)
    axes = r.choice([[0], [1, 3], [0, 1]] + ([[-1], [-1, 0]] if v >= 11 else []))
    return ([x], {"axes": axes}) if v < 13 else ([x, np.array(axes, I64)], {})


def reduction(changed):
    def make(r, v):
        x = real(r, *shape(r, 1, 4)) + (3 if r.random() < 0.5 else 0)
        axes = sorted(r.sample(range(x.ndim), r.randint(1, x.ndim)))
        keep = {"keepdims": r.randint(0, 1)}
        return ([x], keep | {"axes": axes}) if v < changed else ([x, np.array(axes, I64)], keep)

    return make


def split(r, v):
    x = real(r, 2, r.choice([4, 6]), 2)
    parts = [1, x.shape[1] - 1]
    case = ([x], {"axis": 1, "split": parts}) if v < 13 else ([x, np.array(parts, I64)], {"axis": 1})
    return *case, 2


def topk(r, v):
    x = np.array(r.sample(range(-50, 50), 12), F).reshape(3, 4)
    if v < 10:
        return [x], {"k": 2, "axis": 1}, 2
    extra = {"largest": r.randint(0, 1)} if v >= 11 else {}
    return [x, np.array([2], I64)], {"axis": r.choice([0, 1])} | extra, 2


def resize(r, v):
    x = real(r, 1, 2, r.randint(2, 5), r.randint(2, 5))
    scales = np.array([1, 1, r.choice([0.6, 1.5, 2]), r.choice([0.6, 2, 3])], F)
    mode = r.choice(["nearest", "linear"])
    if v < 11:
        return [x, scales], {"mode": mode}
    mode = r.choice([mode, "cubic"])
    if r.random() < 0.3:  # corners are aligned by the size times the scale: whole in both, or ONNX's tests differ
        return [x, np.array([], F) if v < 13 else None, np.array([1, 1, 2, 3], F)], {
            "mode": mode,
            "coordinate_transformation_mode": "align_corners",
        }
    attributes = {
        "mode": mode,
        "coordinate_transformation_mode": r.choice(["half_pixel", "asymmetric"]),
    }
    if mode == "nearest":
        attributes["nearest_mode"] = r.choice(["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
    elif v >= 18 and r.random() < 0.4:
        attributes |= {"antialias": 1, "coordinate_transformation_mode": "half_pixel"}
    return [x, np.array([], F) if v < 13 else None, scales], attributes


def batch_norm(r, v):
    c = r.randint(1, 4)
    return [real(r, 2, c, 3), real(r, c), real(r, c), real(r, c), abs(real(r, c)) + 0.5], {"epsilon": 1e-3}


def group_norm(r, v):
    return [real(r, 2, 4, 3), real(r, 4), real(r, 4)], {"num_groups": 2}


def pool(r, v):
    d = r.randint(1, 3)
    x = real(r, 1, 2, *[r.randint(4, 7) for _ in range(d)])
    a = {"kernel_shape": [r.randint(2, 3) for _ in range(d)], "strides": [r.randint(1, 3) for _ in range(d)]}
    if r.random() < 0.3:
        a["auto_pad"] = r.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    else:
        a["pads"] = [r.randint(0, 1) for _ in range(2 * d)]
    if v >= 10:
        a["ceil_mode"] = r.randint(0, 1) if "pads" in a else 0
    return [x], a


def average_pool(r, v):
    x, a = pool(r, v)
    return x, a | {"count_include_pad": r.randint(0, 1)}


def conv(r, v):
    d, group = r.randint(1, 3), r.choice([1, 2])
    k = [r.randint(1, 3) for _ in range(d)]
    x, w = real(r, 1, 2 * group, *[r.randint(5, 8) for _ in range(d)]), real(r, 2 * group, 2, *k)
    a = {"strides": [r.randint(1, 2) for _ in range(d)], "group": group}
    if r.random() < 0.4:
        a["auto_pad"] = r.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    else:
        a |= {"pads": [r.randint(0, 2) for _ in range(2 * d)], "dilations": [r.randint(1, 2) for _ in range(d)]}
    return [x, w] + ([real(r, 2 * group)] if r.random() < 0.5 else []), a


def conv_transpose(r, v):
    d = r.randint(1, 2)
    a = {"strides": [r.randint(1, 3)] * d, "pads": [r.randint(0, 1) for _ in range(2 * d)]}
    if a["strides"][0] > 1 and r.random() < 0.5:
        a["output_padding"] = [1] * d
    return [real(r, 1, 2, *[r.randint(3, 5) for _ in range(d)]), real(r, 2, 3, *[3] * d)], a


def quantise(r, v):
    zero = np.array(r.randint(0, 200), np.uint8)
    return [real(r, 2, 3) * 20, np.array(0.37, F), zero], {}


def recurrent(gates, states):
    def make(r, v):
        t, n, i, h = (r.randint(1, 4) for _ in range(4))
        d = r.choice([1, 2])
        a = {"hidden_size": h, "direction": "bidirectional" if d == 2 else r.choice(["forward", "reverse"])}
        lengths = np.array([r.randint(1, t) for _ in range(n)], np.int32) if r.random() < 0.5 else None
        ins = [real(r, t, n, i), real(r, d, gates * h, i), real(r, d, gates * h, h), real(r, d, 2 * gates * h), lengths]
        ins += [real(r, d, n, h) for _ in range(states)] if r.random() < 0.7 else []
        if gates == 3:
            a["linear_before_reset"] = r.randint(0, 1)
        if r.random() < 0.3:
            a["clip"] = 0.8
        return ins, a, 1 + states

    return make


def slices(r, v):
    x = real(r, 5, 6)
    starts, ends, axes = [r.randint(-7, 6), r.randint(-7, 6)], [r.randint(-7, 7), r.randint(-7, 7)], [0, 1]
    if v < 10:
        return [x], {"starts": starts, "ends": ends, "axes": axes}
    steps = [r.choice([-2, -1, 1, 2]) for _ in axes]
    return [x] + [np.array(v, I64) for v in (starts, ends, axes, steps)], {}


CASES = {
    "Softmax": (axis_case, [9, 11, 13]), "LogSoftmax": (axis_case, [9, 11, 13]), "Hardmax": (axis_case, [9, 11, 13]),
    "Flatten": (axis_case, [9, 11, 13]), "Clip": (clip, [9, 11, 12, 13]), "Pad": (pad, [9, 11, 13, 18, 19]),
    "Squeeze": (squeeze, [9, 11, 13]), "Unsqueeze": (unsqueeze, [9, 11, 13]), "Split": (split, [9, 11, 13]),
    "ReduceSum": (reduction(13), [9, 11, 13, 18]), "ReduceMean": (reduction(18), [9, 11, 13, 18]),
    "ReduceMax": (reduction(18), [9, 11, 13, 18]), "ReduceL2": (reduction(18), [9, 13, 18]),
    "ReduceLogSumExp": (reduction(18), [9, 13, 18]), "ReduceProd": (reduction(18), [9, 13, 18]),
    "TopK": (topk, [9, 10, 11]), "Resize": (resize, [10, 11, 13, 18, 19]), "Slice": (slices, [9, 10, 11, 13]),
    "BatchNormalization": (batch_norm, [9, 14, 15]), "GroupNormalization": (group_norm, [21]),
    "MaxPool": (pool, [8, 10, 11, 12]), "AveragePool": (average_pool, [7, 10, 11, 19]), "Conv": (conv, [9, 11]),
    "ConvTranspose": (conv_transpose, [9, 11]), "QuantizeLinear": (quantise, [10, 13, 19, 21]),
    "LSTM": (recurrent(4, 2), [7, 14]), "GRU": (recurrent(3, 1), [7, 14]), "RNN": (recurrent(1, 1), [7, 14]),
}  # fmt: skip


def compare(op, version, case):
    """What differs, or an empty text; None where ONNX Runtime refuses the model."""
    import onnx
    import onnxruntime
    from neura.onnx import backend

    inputs, attributes, outputs = case if len(case) == 3 else (*case, 1)
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    given = {n: x for n, x in zip(names, inputs) if n}
    kind = onnx.helper.np_dtype_to_tensor_dtype
    infos = [onnx.helper.make_tensor_value_info(n, kind(x.dtype), x.shape) for n, x in given.items()]
    wanted = [onnx.ValueInfoProto(name=f"y{i}") for i in range(outputs)]
    node = onnx.helper.make_node(op, names, [w.name for w in wanted], **attributes)
    graph = onnx.helper.make_graph([node], "one", infos, wanted)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", version)], ir_version=8)
    try:
        quiet = onnxruntime.SessionOptions()
        quiet.log_severity_level = 4
        expected = onnxruntime.InferenceSession(model.SerializeToString(), quiet).run(None, given)
    except Exception:  # noqa: BLE001 - ONNX Runtime is the judge only of what it runs
        return None
    try:
        got = backend.run_model(model, given)
    except Exception as e:  # noqa: BLE001 - a failed case is a result
        return f"{type(e).__name__}: {str(e)[:150]}"
    for e, g in zip(expected, got):
        if e.shape != g.shape:
            return f"expected shape {e.shape}, got {g.shape}"
        if not np.allclose(e, g, rtol=1e-4, atol=1e-5, equal_nan=True):
            return f"values differ by {np.abs(e.astype(F) - g.astype(F)).max()}: {attributes}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site")
    parser.add_argument("--count", type=int, default=20)
    args = parser.parse_args()
    sys.path.insert(0, args.site)
    warnings.simplefilter("ignore")
    total = skipped = failed = 0
    for op, (make, versions) in CASES.items():
        for version in versions:
            r = random.Random(f"{op} {version}")
            for _ in range(args.count):
                difference = compare(op, version, make(r, version))
                total += 1
                skipped += difference is None
                if difference:
                    failed += 1
                    print(f"{op} {version}: {difference}")
    print(f"onnx sweep: {total} models, {failed} differ, {skipped} that ONNX Runtime does not run")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
