#!/usr/bin/env python3
"""Writes docs/parity.md: which public names of PyTorch 2.11 the package has, and why others are absent.

    parity.py SITE [--check]    SITE: the folder that holds neura/; --check: is the page current?

The names are PyTorch's own (tests/python/torch_names.json, from dir() of its modules); nothing on the page is written
by hand but the reasons below. A name without a reason fails.
"""
import importlib
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "parity.md"
# Of what is absent: the first that matches the whole name.
REASONS = (
    (
        r"(to_)?sparse.*|.*sparse.*|s?spmm|d?smm|h?smm|hspmm|dsmm|sspaddmm|saddmm|(ccol|crow|col|row)_indices(_copy)?|"
        r"(indices|values)(_copy)?|coalesce|is_coalesced|to_dense|SparseAdam",
        "rarely used functions of sparse tensors",
    ),
    (
        r".*quantize.*|.*quantise.*|q(u?int|scheme|_).*|Q(U?Int).*|quint.*|per_(tensor|channel)_.*|int_repr|fbgemm.*|"
        r"choose_qparams.*|fused_moving_avg.*|fake_quant.*",
        "quantised tensors are not there yet",
    ),
    (r"u?int[1-7]|bit(s.*)?|float[48]_.*|complex32|chalf", "a dtype that is not there yet"),
    (r"align_(as|to|tensors)|names?|refine_names|rename_?", "named dimensions, which PyTorch has never finished"),
    (r"jagged|to_padded_tensor", "nested tensors are not there"),
    (r"(scaled_)?grouped_mm|scaled_mm|ScalingType|SwizzleType", "products of 8-bit numbers are not there yet"),
    (r"(cudnn|miopen|mkldnn)_.*|to_mkldnn|is_vulkan.*|ipu|mtia|xpu|.*_(ipu|xla)_.*", "another back end's own"),
    (
        r".*(DataPipe|datapipe).*|DataChunk|argument_validation|non_deterministic|runtime_validation.*",
        "data pipes, which PyTorch has deprecated",
    ),
    (
        r"Script.*|.*Type|Alias.*|A(ggregation|rgument).*|Await.*|B(enchmark|lock|uffer)(Config|ExecutionStats|Dict|)|"
        r"CallStack|"
        r"Capsule|Code|Comp(ilationUnit|leteArg).*|ConcreteModule.*|DeepCopy.*|.*StorageContext|Dispatch.*|ErrorReport|"
        r"Exclude.*|Execution.*|FatalError|FileCheck|FunctionSchema|Future|Gradient|Graph(Executor.*)?|IODescriptor|"
        r"JITException|LiteScript.*|Lock.*|Logger.*|ModuleDict|Node|NoopLogger|OperatorInfo|ParameterDict|"
        r"PRIVATE_OPS|"
        r"PyTorchFile.*|StaticModule|Throughput.*|Tracing.*|Use|Value|import_ir.*|parse_.*|merge_type.*|"
        r"unify_.*|fork|wait|"
        r"AVG|SUM|Tag|get_file_path",
        "parts of TorchScript; `neura.graph` captures programs",
    ),
    (r"Sym.*|sym_.*", "sizes without a value, which captured programs of PyTorch have"),
    (
        r"batch_norm_(backward_|elemt|gather|stats|update).*|native_norm|slice_inverse|resize_as(_sparse_)?|set_|"
        r"prepare_multi.*|.*vitals?.*|read_vitals|profiler_.*|init_num_threads|classproperty|USE_.*|TYPE_CHECKING|"
        r"DisableTorchFunction.*|DeviceObjType|StreamObjType|Storage(Base)?|module_load|T_destination|"
        r"call_super_init|dump_patches|volatile|reinforce|resize|grad_dtype|Container|factory_kwargs|BroadcastingList.|"
        r"GRID_SAMPLE.*|Tensor|assert_int_or_pair|boolean_dispatch|.*_notes|NestedIOFunction|legacy_contiguous_format|"
        r"index|ExcludeDispatchKeyGuard",
        "PyTorch's own business: it shows, and programs do not call it",
    ),
    (r"Event|Stream", "not there yet; `neura.cuda` has them"),
    (r"eig|lstsq|solve|symeig|matrix_rank", "removed: PyTorch only raises; see `linalg`"),
    (
        r"(get|is|set)_autocast_(cpu|gpu)_.*|set_(anomaly|warn_always).*|is_warn_always_enabled|"
        r"set_multithreading_enabled|to_dlpack|debug_unwrap|replace_all_batch_norm_modules_|embedding_bag",
        "not there yet; a newer spelling is",
    ),
)
CUDA = "of a device: not there yet"
# What users asked for (issues with the label "parity"): name, number of the issue, and what became of it.
REQUESTS = ()


def names():
    found = json.loads((ROOT / "tests" / "python" / "torch_names.json").read_text())
    return {space: text.split() for space, text in found.items()}


def place(space):
    """The module or class of Neura by that name."""
    where = importlib.import_module("neura")
    for part in space.split(".")[1:]:
        where = getattr(where, part) if hasattr(where, part) else importlib.import_module(f"{where.__name__}.{part}")
    return where


def reason(space, name):
    for pattern, text in REASONS:
        if re.fullmatch(pattern, name):
            return text
    if space == "torch.cuda":
        return CUDA
    raise SystemExit(f"parity: expected a reason for the absence of {space}.{name}; add it to tools/parity.py")


def differences():
    """Functions of which a stored answer of PyTorch's differs on purpose: file and reason."""
    expected = json.loads((ROOT / "tests" / "conformance" / "expected.json").read_text())
    rows = {}
    for file, cases in expected["different"].items():
        for text in cases.values():
            rows.setdefault((pathlib.PurePath(file).stem, text), 0)
            rows[pathlib.PurePath(file).stem, text] += 1
    return sorted((name, text, count) for (name, text), count in rows.items())


def requests():
    """Requests of users; what is there by now must say so."""
    lines = ["## Asked for", ""]
    lines += [
        "Who needs a name that is absent opens an issue by the form *A name of PyTorch*. It has the label `parity`,",
        "and a line here (`REQUESTS` in `tools/parity.py`) until it is there or has its reason above.",
        "",
    ]
    for name, issue, outcome in REQUESTS:
        space, _, last = name.rpartition(".")
        state = "there" if hasattr(place(space), last) else outcome
        lines.append(f"- `{name}` (#{issue}): {state}")
    return lines + ([] if REQUESTS else ["None is open."]) + [""]


def page():
    lines = [
        "# Names of PyTorch 2.11",
        "",
        "Made by `tools/parity.py` from PyTorch's own lists of names; `tests/python/parity_test.py` holds it to them.",
        "",
        "| of PyTorch | names | there | absent |",
        "|---|---|---|---|",
    ]
    absent = {}
    for space, all_names in names().items():
        where = place(space)
        missing = [name for name in all_names if not hasattr(where, name)]
        lines.append(f"| `{space}` | {len(all_names)} | {len(all_names) - len(missing)} | {len(missing)} |")
        for name in missing:
            absent.setdefault(space, {}).setdefault(reason(space, name), []).append(name)
    lines += ["", "## Absent, and why", ""]
    for space, by_reason in absent.items():
        lines += [f"### `{space}`", ""]
        lines += [f"- {text}: {', '.join(f'`{name}`' for name in found)}" for text, found in by_reason.items()]
        lines.append("")
    lines += requests()
    lines += ["## There, and different on purpose", "", "| function | stored cases | |", "|---|---|---|"]
    lines += [f"| `{name}` | {count} | {text} |" for name, text, count in differences()]
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--check"]):
        raise SystemExit(__doc__)
    sys.path.insert(0, sys.argv[1])
    made = page()
    if not sys.argv[2:]:
        PAGE.write_text(made)
    elif not PAGE.exists() or PAGE.read_text() != made:
        raise SystemExit("docs/parity.md is out of date; run: tools/parity.py build/release/site")


if __name__ == "__main__":
    main()
