#!/usr/bin/env python3
"""Writes docs/dtypes.md: which dtypes each public function takes, what it gives, how they are promoted, and whether
there is a gradient. Nothing of it is written by hand: the functions of docs/functions.md are called with the stored
samples of tests/conformance/ops, their operands in every dtype. Pointwise rows say the same in docs/operations.md.

    dtypes_page.py SITE [--check]    SITE: the folder that holds neura/; --check: is the page current?
"""
import glob
import importlib
import importlib.util
import math
import pathlib
import re
import sys
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "dtypes.md"
CASES = 6  # samples that are tried of a function until one is taken
GROUPS = {
    "bool": ["bool"],
    "integers": ["uint8", "int8", "int16", "int32", "int64"],
    "floating": ["float16", "bfloat16", "float32", "float64"],
    "complex": ["complex64", "complex128"],
}
DTYPES = [d for group in GROUPS.values() for d in group]

# Arguments of functions that PyTorch's tests have no sample of, and that the guesses do not fit; options come last.
CALLS = {
    "rand": "(3,)",
    "randperm": "(5,)",
    "geometric_": "(rand(4), 0.5)",
    "is_nonzero": "(rand(1),)",
    "prelu": "(rand(2, 3) - 0.5, rand(3))",
    "where": "(rand(3) > 0.5, rand(3), rand(3))",
    "fake_quantize_per_tensor_affine": "(rand(3), 0.1, 0, 0, 255)",
    "fake_quantize_per_channel_affine": "(rand(2, 2), rand(2) + 0.1, ints(0, 0).to(neura.int32), 0, 0, 255)",
    "quantize_affine": "(rand(3), neura.tensor(0.1), neura.tensor(0))",
    "dequantize_affine": "(ints(1, 2).to(neura.int8), neura.tensor(0.1))",
    "requantize_affine": "(ints(1, 2).to(neura.int32), neura.tensor(0.1), neura.tensor(0))",
    "integer_matmul": "(ints(1, 2).to(neura.int8).reshape(1, 2), ints(1, 2).to(neura.int8).reshape(2, 1))",
    "integer_pack": "(ints(1, 2).to(neura.int8).reshape(2, 1),)",
    "segment_reduce": "(rand(4), 'sum', {'lengths': ints(1, 3)})",
    "concat": "([rand(2), rand(3)],)",
    "concatenate": "([rand(2), rand(3)],)",
    "row_stack": "([rand(2), rand(2)],)",
    "inverse": "(neura.eye(3) + rand(3, 3) / 9,)",
    "orgqr": "(rand(3, 2), rand(2))",
    "istft": "(neura.ones(5, 9).to(neura.complex64), 8, {'window': neura.ones(8)})",
    "grid_sampler": "(rand(1, 2, 4, 4), rand(1, 3, 3, 2), 0, 0, False)",
    "affine_grid_generator": "(rand(1, 2, 3), [1, 2, 4, 4], False)",
    "affine_grid": "(rand(1, 2, 3), [1, 2, 4, 4], {'align_corners': False})",
    "lp_pool1d": "(rand(1, 2, 8), 2.0, 2)",
    "lp_pool2d": "(rand(1, 2, 8, 8), 2.0, 2)",
    "lp_pool3d": "(rand(1, 2, 8, 8, 8), 2.0, 2)",
    "fractional_max_pool2d_with_indices": "(rand(1, 2, 8, 8), 2, {'output_size': 3})",
    "fractional_max_pool3d_with_indices": "(rand(1, 2, 8, 8, 8), 2, {'output_size': 3})",
    "fold": "(rand(1, 4, 9), [4, 4], 2)",
    "gru_cell": "(rand(2, 3), rand(2, 4), rand(12, 3), rand(12, 4))",
    "lstm_cell": "(rand(2, 3), [rand(2, 4), rand(2, 4)], rand(16, 3), rand(16, 4))",
    "spectrogram": "(rand(64), 0, neura.ones(16), 16, 8, 16, 2.0, False)",
    "inverse_spectrogram": "(neura.ones(9, 9).to(neura.complex64), None, 0, neura.ones(16), 16, 8, 16, False)",
    "griffinlim": "(rand(9, 9), neura.ones(16), 16, 8, 16, 2.0, 2, 0.5, None, True)",
    "phase_vocoder": "(neura.ones(9, 9).to(neura.complex64), 1.5, rand(9, 1))",
    "spectral_centroid": "(rand(64), 16000, 0, neura.ones(16), 16, 8, 16)",
    "melscale_fbanks": "(9, 0.0, 8000.0, 4, 16000)",
    "linear_fbanks": "(9, 0.0, 8000.0, 4, 16000)",
    "create_dct": "(3, 4, None)",
    "amplitude_to_DB": "(rand(2, 3, 4), 10.0, 1e-10, 0.0)",
    "mu_law_encoding": "(rand(4), 256)",
    "mu_law_decoding": "(ints(1, 2), 256)",
    "mask_along_axis": "(rand(2, 4, 6), 2, 0.0, 1)",
    "mask_along_axis_iid": "(rand(2, 2, 4, 6), 2, 0.0, 2)",
    "resample": "(rand(64), 16000, 8000)",
    "biquad": "(rand(64), 1.0, 0.5, 0.2, 1.0, 0.3, 0.1)",
    "lowpass_biquad": "(rand(64), 16000, 4000.0)",
    "highpass_biquad": "(rand(64), 16000, 4000.0)",
    "bandpass_biquad": "(rand(64), 16000, 4000.0)",
    "bandreject_biquad": "(rand(64), 16000, 4000.0)",
    "allpass_biquad": "(rand(64), 16000, 4000.0)",
    "equalizer_biquad": "(rand(64), 16000, 4000.0, 2.0)",
    "bass_biquad": "(rand(64), 16000, 2.0)",
    "treble_biquad": "(rand(64), 16000, 2.0)",
    "imag": "(rand(3).to(neura.complex64),)",
    "view_as_real": "(rand(3).to(neura.complex64),)",
    "cpu": "(rand(3),)",
    "float": "(rand(3),)",
    "double": "(rand(3),)",
    "half": "(rand(3),)",
    "bfloat16": "(rand(3),)",
    "int": "(rand(3),)",
    "long": "(rand(3),)",
    "short": "(rand(3),)",
    "bool": "(rand(3),)",
    "cfloat": "(rand(3),)",
    "cdouble": "(rand(3),)",
    "bartlett_window": "(5,)",
    "blackman_window": "(5,)",
    "hann_window": "(5,)",
    "hamming_window": "(5,)",
    "kaiser_window": "(5,)",
    "fftfreq": "(5,)",
    "rfftfreq": "(5,)",
    "rnn_tanh": "(rand(3, 2, 3), rand(1, 2, 4), [rand(4, 3), rand(4, 4)], False, 1, 0.0, False, False, False)",
    "rnn_relu": "(rand(3, 2, 3), rand(1, 2, 4), [rand(4, 3), rand(4, 4)], False, 1, 0.0, False, False, False)",
    "gru": "(rand(3, 2, 3), rand(1, 2, 4), [rand(12, 3), rand(12, 4)], False, 1, 0.0, False, False, False)",
    "lstm": "(rand(3, 2, 3), [rand(1, 2, 4)] * 2, [rand(16, 3), rand(16, 4)], False, 1, 0.0, False, False, False)",
}
ELSEWHERE = {
    "broadcast_shapes": "sizes",
    "melscale_fbanks": "numbers; gives float32",
    "linear_fbanks": "numbers; gives float32",
    "create_dct": "numbers; gives float32",
    "cuda": "all; needs a device",
    "pin_memory": "all; needs a device",
    "retain_grad": "what has a gradient",
    "indices": "tensors of a sparse layout: see [sparse.md](sparse.md)",
    "values": "tensors of a sparse layout: see [sparse.md](sparse.md)",
    "crow_indices": "tensors of a sparse layout: see [sparse.md](sparse.md)",
    "col_indices": "tensors of a sparse layout: see [sparse.md](sparse.md)",
    "ccol_indices": "tensors of a sparse layout: see [sparse.md](sparse.md)",
    "row_indices": "tensors of a sparse layout: see [sparse.md](sparse.md)",
    "is_coalesced": "tensors of a sparse layout: see [sparse.md](sparse.md)",
    "coalesce": "tensors of a sparse layout: see [sparse.md](sparse.md)",
    "sparse_mask": "tensors of a sparse layout: see [sparse.md](sparse.md)",
    "sparse_resize_": "tensors of a sparse layout: see [sparse.md](sparse.md)",
    "sparse_resize_and_clear_": "tensors of a sparse layout: see [sparse.md](sparse.md)",
    "sampled_addmm": "tensors of a sparse layout: see [sparse.md](sparse.md)",
    "sspaddmm": "tensors of a sparse layout: see [sparse.md](sparse.md)",
}


def stored():
    """The module that reads stored cases."""
    spec = importlib.util.spec_from_file_location("run", ROOT / "tests" / "conformance" / "run.py")
    run = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(run)
    return run


def functions():
    """(module, name, whether it is a method alone) of every line of docs/functions.md, in its order."""
    module, found = "", {}
    for line in (ROOT / "docs" / "functions.md").read_text().splitlines():
        if line.startswith("## "):
            module = line[3:]
        elif match := re.match(r"\| `(\w+)\(.*?\)`[^|]* \| ([^|]*) \|", line.replace("\\|", "/")):
            found.setdefault((module, match[1]), "function" not in match[2])
    return [(*key, method) for key, method in found.items()]


class Function:
    """A public function with samples: functions that give what is to be called, and its arguments."""

    def __init__(self, neura, run, module, name, method):
        self.neura, self.run = neura, run
        self.where, self.name, self.method = module, name, method
        torch_name = (module + "." + name).split(".", 1)[1]
        if name in CALLS:
            self.samples = [lambda: self.spelled(CALLS[name])]
        else:
            self.samples = [s for path in self.files(torch_name) for s in self.stored(path)][:CASES] or list(
                self.guessed()
            )

    def files(self, name):
        folder = ROOT / "tests/conformance/ops"
        found = [folder / f"{name}.safetensors", *sorted(folder.glob(f"{glob.escape(name)}#*.safetensors"))]
        short = name.rpartition(".")[2]
        return [path for path in found + [folder / f"{short}.safetensors"] if path.exists()][:1]

    def stored(self, path):
        manifest, tensors = self.run.read_safetensors(str(path))
        for i, case in enumerate(manifest["cases"]):
            if "raises" not in case:
                yield lambda i=i, case=case: self.decoded(manifest["op"], tensors, i, case)

    def decoded(self, op, tensors, i, case):
        decoder = self.run.Decoder(self.neura, "cpu", tensors, i)
        args = [decoder.value(case["input"])] + [decoder.value(a) for a in case["args"]]
        kwargs = {k: decoder.value(v) for k, v in case["kwargs"].items()}
        return self.run.resolve(self.neura, op, case["kind"]), args, kwargs

    def callable(self):
        where = importlib.import_module(self.where)
        return getattr(self.neura.Tensor if self.method else where, self.name)

    def guessed(self):
        """Samples of a function that PyTorch's tests have none of: whatever arguments it takes."""

        def sample(shape, rest):
            x = lambda: self.neura.arange(1, 1 + math.prod(shape)).reshape(shape) / (1 + math.prod(shape))  # noqa: E731
            return lambda: (self.callable(), [x(), *(x() if r is None else r for r in rest)], {})

        for rest in ([], [None], [1], [0, 1], [2.0], [None, None], [None, None, None], [[0]], [[2, 2]]):
            for shape in ((4, 4), (4,), (2, 4, 8), (2, 4, 8, 8), (2, 4, 8, 8, 8)):
                yield sample(shape, rest)

    def spelled(self, text):
        made = lambda *shape: self.neura.rand(*shape)  # noqa: E731
        args = eval(text, {"neura": self.neura, "rand": made, "ints": lambda *a: self.neura.tensor(a)})
        args = args if isinstance(args, tuple) else (args,)
        words = args[-1] if args and isinstance(args[-1], dict) else {}
        return self.callable(), list(args[: len(args) - bool(words)]), words

    def tensors(self, value):
        if isinstance(value, self.neura.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            for x in value:
                yield from self.tensors(x)
        elif isinstance(value, dict):
            yield from self.tensors(list(value.values()))

    def called(self, sample, dtypes, gradient=False, narrow=False):
        """The results where the operands have these dtypes, the last of which is that of all others.

        narrow: of the second operand its first row alone, where it is as large as the first; else ValueError."""
        f, args, kwargs = sample()
        every = list(self.tensors([args, kwargs]))
        varied = [t for t in every if t.is_floating_point() or t.is_complex()] or every[:1]
        self.varied, replaced = len(varied), {}
        if narrow and not (len(varied) > 1 and varied[0].shape == varied[1].shape and varied[0].shape[:1] > (1,)):
            raise ValueError("no two operands of one size")
        both = any(t.is_complex() for t in varied) and not all(t.is_complex() for t in varied)
        for i, t in enumerate(varied):
            name = dtypes[min(i, len(dtypes) - 1)]
            if both and t.is_complex():  # complex and real ones: of one width
                name = {"float32": "complex64", "float64": "complex128"}[name]
            dtype = getattr(self.neura, name)
            t = (t.real if t.is_complex() and not dtype.is_complex else t).detach().to(dtype)
            if narrow and i == 1:
                t = t[:1]
            if gradient:
                t = t.requires_grad_() * 1  # which may be written in place
            replaced[id(varied[i])] = t
        if not varied:  # of these, those with an argument dtype are tried with it
            kwargs["dtype"] = getattr(self.neura, dtypes[0])

        def put(value):
            if isinstance(value, self.neura.Tensor):
                return replaced.get(id(value), value)
            if type(value) in (list, tuple):
                return type(value)(put(x) for x in value)
            return {k: put(v) for k, v in value.items()} if isinstance(value, dict) else value

        return list(self.tensors([f(*put(args), **put(kwargs))]))

    def result(self, dtypes, gradient=False):
        """Of the first sample that is taken; None where none is."""
        for sample in self.samples:
            try:
                return self.called(sample, dtypes, gradient)
            except Exception:
                continue
        return None


def cells(f):
    """What a function takes, gives, makes of two dtypes, and whether its result has a gradient."""
    given = {d: f.result([d]) for d in DTYPES}
    takes = [d for d in DTYPES if given[d] is not None]
    if not takes:
        return None
    results = {d: str(given[d][0].dtype).rpartition(".")[2] for d in takes if given[d]}
    return grouped(takes), relation(results), promoted(f), broadcasts(f), "yes" if has_gradient(f, takes) else "none"


def grouped(dtypes):
    """Names of whole groups in the place of their members."""
    if len(dtypes) == len(DTYPES):
        return "all"
    words = []
    for name, members in GROUPS.items():
        there = [d for d in members if d in dtypes]
        words += [name] if there == members else there
    return ", ".join(words)


def relation(results):
    if not results:
        return "no tensor"
    if len(results) > 1 and len(set(results.values())) == 1:
        return next(iter(results.values()))
    kinds = {}
    for dtype, result in results.items():
        kinds.setdefault("the same" if result == dtype else result, []).append(dtype)
    if len(kinds) == 1:
        return next(iter(kinds))
    same = kinds.pop("the same", None)
    texts = [f"{result} of {grouped(dtypes)}" for result, dtypes in kinds.items()]
    return "; ".join((["the same"] if same else []) + texts)


def promoted(f):
    most = 0
    for sample in f.samples:
        try:
            f.called(sample, ["float32"])
        except Exception:
            continue
        most = max(most, f.varied)
        if f.varied < 2:
            continue
        try:
            out = f.called(sample, ["float32", "float64"])
        except Exception:
            return "refused"
        dtype = str(out[0].dtype).rpartition(".")[2] if out else ""
        return {"float64": "the wider", "float32": "the first's", "": "any"}.get(dtype, "any")
    return "one operand" if most else "no operand"


def broadcasts(f):
    """Whether a row of the second operand does for all of it: of the first sample with two operands of one size."""
    for sample in f.samples:
        try:
            shapes = [t.shape for t in f.called(sample, ["float32"])]
        except Exception:
            continue
        try:
            return "yes" if [t.shape for t in f.called(sample, ["float32"], narrow=True)] == shapes else "no"
        except Exception as error:
            if "no two operands" not in str(error):
                return "no"
    return "-"


def has_gradient(f, takes):
    for dtype in ("float32", "complex64"):
        out = f.result([dtype], gradient=True) if dtype in takes else None
        if out is not None:
            return any(t.requires_grad for t in out)
    return False


HEAD = """# What functions take and give

Made by `tools/dtypes_page.py`, which calls the functions of [functions.md](functions.md) with operands of every dtype:
nothing is written by hand. Pointwise rows say the same in [operations.md](operations.md). All operands are on one
device; what a device has no kernel for is said by the error.

*takes*: dtypes of the operands, varied together; integer operands, such as indices, only where there are no others; of
functions without operands, `dtype=`. *gives*: the dtype of the first result. *float32 and float64*: of what dtype the
result is where the first operand is float32 and the others are float64. *broadcasts*: whether the first row of the
second operand does for all of it, where samples have two operands of one size. *gradient*: whether the result has
one."""


def page(neura):
    run, lines = stored(), HEAD.split("\n")
    last = None
    for module, name, method in functions():
        if module != last:
            lines += [
                "",
                f"## {module}",
                "",
                "| function | takes | gives | float32 and float64 | broadcasts | gradient |",
                "|---|---|---|---|---|---|",
            ]
            last = module
        row = cells(Function(neura, run, module, name, method)) if name not in ELSEWHERE else None
        if row is None and name not in ELSEWHERE:
            raise SystemExit(f"dtypes: expected a sample that {module}.{name} takes, got none; add one to CALLS")
        lines.append(f"| `{name}` | {' | '.join(row) if row else ELSEWHERE[name] + ' | | | |'} |")
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--check"]):
        raise SystemExit(__doc__)
    sys.path.insert(0, sys.argv[1])
    warnings.simplefilter("ignore")
    neura = importlib.import_module("neura")
    made = page(neura)
    if not sys.argv[2:]:
        PAGE.write_text(made)
    elif not PAGE.exists() or PAGE.read_text() != made:
        raise SystemExit("docs/dtypes.md is out of date; run: tools/dtypes_page.py build/release/site")


if __name__ == "__main__":
    main()
