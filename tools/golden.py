#!/usr/bin/env python3
"""Makes the expected values of the tests again, with PyTorch, and says where the stored ones differ.

    golden.py --check [PART...]            # fails where PyTorch's answer is not the stored one
    golden.py --write FOLDER [PART...]     # writes the files as PyTorch makes them now into FOLDER

Needs PyTorch 2.11 and NumPy. PART is one of those below; all of them without one.

  training    tests/golden/make_training.py: the losses of a small training run, and what came of the network
  layers      tests/python/make_layers.py: what every layer prints, holds and is called with
  autocast    tests/python/make_autocast.py: the dtypes of results inside autocast, and its lists
  files       tests/python/data/make_torch_files.py: state of optimizers and schedulers, tensors, in PyTorch's format
  modules     tests/conformance/modules: layers and losses; outputs, gradients, state afterwards
  optimizers  tests/conformance/optimizers: parameters after each step
  schedulers  tests/conformance/schedulers.json: rates after each step
  ops         tests/conformance/ops: outputs, gradients and second gradients of every operation

The files of tests/conformance hold questions (calls with their operands) and answers. The questions came from PyTorch's
own test databases and are kept as they are; the answers are made here, by asking PyTorch again. Numbers that were
computed on another processor may differ in their last digits: --check counts those, and fails above 2e-5 of float32 and
1e-11 of float64 (of gradients ten times, of second gradients a hundred times as much).
"""
import argparse
import importlib.util
import json
import pathlib
import pickle
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
STORED = ROOT / "tests/conformance"
SCRIPTS = {
    "training": "tests/golden/make_training.py",
    "layers": "tests/python/make_layers.py",
    "autocast": "tests/python/make_autocast.py",
    "files": "tests/python/data/make_torch_files.py",
}
PARTS = [*SCRIPTS, "modules", "optimizers", "schedulers", "ops"]
CLOSE = {"F64": 1e-11, "F32": 2e-5, "F16": 2e-3, "BF16": 4e-2}  # relative and absolute


def load_runner():
    spec = importlib.util.spec_from_file_location("conformance_run", STORED / "run.py")
    runner = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(runner)
    return runner


class Report:
    """What was compared: values that are the same, those that differ in their last digits, and problems."""

    def __init__(self):
        self.same, self.near, self.problems = 0, 0, []

    @staticmethod
    def close(got, want, tolerance, half):
        finite = np.abs(want[np.isfinite(want)]).astype(np.float64)
        # Sums of halves are rounded on their way: their error goes with the largest of them.
        least = max(1.0, finite.max()) if half and finite.size else 1.0
        return np.allclose(got, want, tolerance, tolerance * least, equal_nan=True)

    def compare(self, name, kind, got, want, loose=1):
        got, want = np.atleast_1d(got), np.atleast_1d(want)
        if got.shape != want.shape or got.dtype != want.dtype:
            return self.problems.append(f"{name}: {got.dtype}{got.shape} instead of {want.dtype}{want.shape}")
        if got.tobytes() == want.tobytes():
            self.same += 1
        elif kind in CLOSE and self.close(got, want, CLOSE[kind] * loose, kind in ("F16", "BF16")):
            self.near += 1
        else:
            self.problems.append(f"{name}: another value")


def read(path):
    """The header and the arrays of a safetensors file."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header, body = json.loads(data[8 : 8 + size]), data[8 + size :]
    numpy_type, arrays = load_runner().NP, {}
    for name, row in header.items():
        if name != "__metadata__":
            begin, end = row["data_offsets"]
            array = np.frombuffer(body[begin:end], numpy_type[row["dtype"]])
            arrays[name] = array.reshape(row["shape"]) if len(row["shape"]) <= 32 else array  # NumPy's limit
    return header, arrays


def write(path, header, arrays):
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    body = bytearray(max((r["data_offsets"][1] for n, r in header.items() if n != "__metadata__"), default=0))
    for name, array in arrays.items():
        begin, end = header[name]["data_offsets"]
        body[begin:end] = np.ascontiguousarray(array).tobytes()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(body))


def stored_form(tensor, dtype):
    """A result as the files have it: bfloat16 as its bits, complex numbers as pairs."""
    t = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    if t.dtype is torch.bfloat16:
        return t.view(torch.int16).numpy().view(np.uint16)
    array = t.numpy(force=True)
    if array.dtype.kind == "c":
        half = np.float64 if dtype == "F64" else np.float32
        return np.ascontiguousarray(array).view(half).reshape(*array.shape, 2)
    return array


def answer_file(path, report, target):
    """Asks PyTorch every question of the file, and writes it with the answers of now."""
    runner = load_runner()
    manifest, _ = runner.read_safetensors(str(path))
    header, arrays = read(path)
    answers = dict(arrays)
    plain = runner.compare

    def note(backend, dec, got, row, what, name, loose=1.0):
        if not isinstance(row, dict) or "t" not in row:
            return plain(backend, dec, got, row, what, name, loose)
        key = dec.prefix + row["t"]
        dtype = header[key]["dtype"]
        answers[key] = stored_form(got, dtype)
        undefined = name.startswith(runner.UNDEFINED)
        phase = name.split("#")[0] in runner.UP_TO_PHASE
        have, want = (np.abs(a) if phase and dtype in ("F32", "F64") else a for a in (answers[key], arrays[key]))
        if dtype == "BF16":
            have, want = runner.bf16_to_f32(have), runner.bf16_to_f32(want)
        if undefined:
            answers[key] = arrays[key]
        else:
            report.compare(f"{path.parent.name}/{path.stem} {key} ({what})", dtype, have, want, loose)

    runner.compare = note
    part = path.parent.name
    for i, case in enumerate(manifest["cases"]):
        try:
            runner.RUNNERS[part](torch, "cpu", manifest, arrays_of(runner, path), i, case)
        except Exception as error:
            if not (isinstance(error, KeyError) and str(error).startswith("'c")):  # a rank that NumPy has not
                report.problems.append(f"{part}/{path.stem}, case {i}: {type(error).__name__}: {error}"[:200])
    if target:
        (target / part).mkdir(parents=True, exist_ok=True)
        write(target / part / path.name, header, answers)


def arrays_of(runner, path, known={}):
    if path not in known:
        known.clear()
        known[path] = runner.read_safetensors(str(path))[1]
    return known[path]


def answer_schedulers(report, target):
    cases = json.loads((STORED / "schedulers.json").read_text())
    for i, case in enumerate(cases):
        weights = [torch.zeros(2, requires_grad=True), torch.zeros(3, requires_grad=True)]
        groups = [{"params": [w], "lr": lr} for w, lr in zip(weights, case["group_lrs"])]
        optimizer = torch.optim.SGD(groups, lr=0.1, momentum=0.9)
        scheduler = getattr(torch.optim.lr_scheduler, case["scheduler"])(optimizer, **case["kwargs"])
        rates = [[g["lr"] for g in optimizer.param_groups]]
        for k in range(len(case["lrs"]) - 1):
            optimizer.step()
            scheduler.step(*([case["metrics"][k]] if case["metrics"] else []))
            rates.append([g["lr"] for g in optimizer.param_groups])
        report.compare(f"schedulers.json, case {i}", "F64", np.array(rates), np.array(case["lrs"]))
        case["lrs"] = rates
    if target:
        (target / "schedulers.json").write_text(json.dumps(cases, indent=1) + "\n")


def flat(x, name=""):
    """Leaves of nested lists and dictionaries, tensors as arrays, each with where it stands."""
    if isinstance(x, dict):
        for key, value in x.items():
            yield from flat(value, f"{name}.{key}")
    elif isinstance(x, (list, tuple)):
        for i, value in enumerate(x):
            yield from flat(value, f"{name}.{i}")
    else:
        yield name, x


def compare_files(report, made, stored):
    """By bytes; where those differ, by what they say."""
    name = stored.relative_to(ROOT)
    if made.read_bytes() == stored.read_bytes():
        report.same += 1
    elif stored.suffix == ".safetensors":
        (header, ours), (_, theirs) = read(made), read(stored)
        for key in sorted({*ours, *theirs}):
            if key in ours and key in theirs:
                report.compare(f"{name} {key}", header[key]["dtype"], ours[key], theirs[key], 1e3)  # forty steps
            else:
                report.problems.append(f"{name}: {key} stands in one of both")
    elif stored.suffix == ".pt" and same_archive(made, stored):
        report.same += 1
    else:
        report.problems.append(f"{name}: another file")


def same_archive(a, b):
    """Of torch.save: the same members with the same bytes, whatever the archive adds (names, identifiers, dates)."""
    try:
        loaded = [dict(flat(torch.load(p, weights_only=False))) for p in (a, b)]
    except (pickle.UnpicklingError, zipfile.BadZipFile, RuntimeError, AttributeError):
        return False
    if loaded[0].keys() != loaded[1].keys():
        return False
    for key, x in loaded[0].items():
        y = loaded[1][key]
        equal = (
            torch.equal(x, y) if torch.is_tensor(x) and torch.is_tensor(y) and not x.is_sparse else repr(x) == repr(y)
        )
        if not equal and not (torch.is_tensor(x) and x.shape == y.shape and torch.allclose(x, y, equal_nan=True)):
            return False
    return True


def run_script(script, report, target):
    """A script writes beside itself: a copy of it in another folder, and what it makes against what is stored."""
    source = ROOT / script
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(shutil.copy(source, folder))
        done = subprocess.run([sys.executable, copy.name], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            return report.problems.append(f"{script}: {done.stderr.strip().splitlines()[-1]}")
        made = sorted(p for p in pathlib.Path(folder).iterdir() if p != copy and p.is_file())
        if not made:
            report.problems.append(f"{script}: made no file")
        for path in made:
            stored = source.parent / path.name
            if not stored.exists():
                report.problems.append(f"{script}: made {path.name}, which is not stored")
            else:
                compare_files(report, path, stored)
            if target:
                target.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", metavar="FOLDER", type=pathlib.Path)
    parser.add_argument("parts", nargs="*", metavar="PART")
    args = parser.parse_args()
    if not args.check and not args.write or set(args.parts) - set(PARTS):
        parser.error(f"expected --check or --write FOLDER, and parts out of {', '.join(PARTS)}")
    if args.write:
        args.write.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    failed = False
    for part in args.parts or PARTS:
        report = Report()
        if part in SCRIPTS:
            run_script(SCRIPTS[part], report, args.write)
        elif part == "schedulers":
            answer_schedulers(report, args.write)
        else:
            for path in sorted((STORED / part).glob("*.safetensors")):
                answer_file(path, report, args.write)
        for problem in report.problems[:20]:
            print(f"{part}: {problem}")
        counts = f"{report.same} the same to the last bit, {report.near} except for their last digits"
        print(f"{part}: {counts}, {len(report.problems)} different; PyTorch {torch.__version__}", flush=True)
        failed |= bool(report.problems)
    return args.check and failed


if __name__ == "__main__":
    sys.exit(main())
