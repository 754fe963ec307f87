"""The manifest of a model, neura.json, and the index of many: what stands in them, and what is wrong with one."""

import json
import os
import re

from ._problems import ManifestError

FORMAT = 1
MANIFEST, INDEX, CONFIG, WEIGHTS = "neura.json", "index.json", "config.json", "model.safetensors"
MOST_MANIFEST, MOST_INDEX = 1 << 20, 16 << 20  # bytes
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_VERSION = re.compile(r"[0-9]+(\.[0-9]+){0,3}")
_HASH = re.compile(r"[0-9a-f]{64}")
_PART = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
# Nothing that a computer would run: a model is data.
_ENDS = (".json", ".safetensors", ".md", ".txt", ".png", ".jpg", ".npy", ".neura", ".onnx", ".model", ".html")
_NO_ENDS = ("LICENSE", "LICENCE", "NOTICE")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.I)  # names that some systems take for devices
_DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()
_STEPS = {  # of preprocessing, with what each has besides its name
    "resize": ("size",),
    "center_crop": ("size",),
    "grayscale": (),
    "scale": (),
    "normalize": ("mean", "std"),
}


def _number(x):
    return isinstance(x, (int, float)) and not isinstance(x, bool) and x == x and abs(x) != float("inf")


def _count(x):
    return isinstance(x, int) and not isinstance(x, bool) and x >= 0


def _text(x):
    return isinstance(x, str) and bool(x.strip())


def _plain(x, depth=0):
    """Numbers, texts, truths and none, in lists and by name."""
    if depth > 4:
        return False
    if isinstance(x, list):
        return all(_plain(item, depth + 1) for item in x)
    if isinstance(x, dict):
        return all(_plain(item, depth + 1) for item in x.values())
    return x is None or isinstance(x, (bool, str)) or _number(x)


def file_problem(name):
    """What is wrong with the name of a file in a manifest; None where nothing is."""
    if not isinstance(name, str) or not name:
        return f"a name, got {name!r}"
    parts = name.split("/")
    if len(name) > 200 or len(parts) > 4 or not all(_PART.fullmatch(p) and not p.endswith(".") for p in parts):
        return f"a relative path of letters, digits, '.', '_' and '-' below the folder, got {name!r}"
    if any(_RESERVED.fullmatch(p) for p in parts) or name.lower() == MANIFEST:
        return f"another name than {name!r}, which is reserved"
    if not name.endswith(_ENDS) and parts[-1] not in _NO_ENDS:
        return f"a file of data ({', '.join(_ENDS)}), got {name!r}"
    return None


def _values_problem(values, what):
    if not isinstance(values, list) or not values:
        return f"{what}: a list of what goes {'in' if what == 'inputs' else 'out'}"
    for v in values:
        if not isinstance(v, dict) or not _text(v.get("name")) or v.get("dtype") not in _DTYPES:
            return f"{what}: entries with a name and a dtype such as float32, got {v!r}"
        shape = v.get("shape")
        if not isinstance(shape, list) or not all(s is None or _count(s) for s in shape):
            return f"{what}: a shape of numbers, null where any size may be, got {shape!r}"
    return None


def _steps_problem(steps):
    if not isinstance(steps, list):
        return f"preprocessing: a list of steps, got {steps!r}"
    for step in steps:
        if not isinstance(step, dict) or step.get("step") not in _STEPS:
            return f"preprocessing: steps of {', '.join(_STEPS)}, got {step!r}"
        if set(step) != {"step", *_STEPS[step["step"]]}:
            wanted = ", ".join(_STEPS[step["step"]]) or "nothing"
            return f"preprocessing: {step['step']} with {wanted} along with it, got {step!r}"
        sizes = step.get("size", 1)
        sizes = sizes if isinstance(sizes, list) else [sizes]
        if not 1 <= len(sizes) <= 2 or not all(_count(s) and 0 < s <= 1 << 16 for s in sizes):
            return f"preprocessing: a size of one or two numbers, got {step.get('size')!r}"
        if step["step"] == "normalize" and not all(
            isinstance(step[k], list) and step[k] and all(map(_number, step[k])) for k in ("mean", "std")
        ):
            return f"preprocessing: lists of numbers as mean and std, got {step!r}"
    return None


def _files_problem(files):
    if not isinstance(files, dict) or not files:
        return "files: the bytes and the sha256 of each"
    seen = set()
    for name, facts in files.items():
        if problem := file_problem(name):
            return f"files: {problem}"
        if name.lower() in seen or any(other.startswith(name.lower() + "/") for other in map(str.lower, files)):
            return f"files: names that differ by more than letters' size and are no folders, got {name!r}"
        seen.add(name.lower())
        if not isinstance(facts, dict) or not _count(facts.get("bytes")):
            return f"files: the bytes of {name}, got {facts!r}"
        if not isinstance(facts.get("sha256"), str) or not _HASH.fullmatch(facts["sha256"]):
            return f"files: the sha256 of {name} in 64 digits, got {facts.get('sha256')!r}"
    for name in (CONFIG, WEIGHTS):
        if name not in files and not (name == WEIGHTS and WEIGHTS + ".index.json" in files):
            return f"files: {name} among them"
    return None


def problem_of(manifest):
    """What is wrong with a manifest: "name: expected …"; None where nothing is."""
    m = manifest
    if not isinstance(m, dict):
        return "expected names and values"
    checks = (
        (m.get("format") == FORMAT, f"format: {FORMAT}, got {m.get('format')!r}; a later Neura may know it"),
        (
            isinstance(m.get("name"), str) and _NAME.fullmatch(m["name"]),
            f"name: a-z, 0-9, . _ -, got {m.get('name')!r}",
        ),
        (
            isinstance(m.get("version"), str) and _VERSION.fullmatch(m["version"]),
            f"version: numbers and dots, such as 1.0, got {m.get('version')!r}",
        ),
        (_text(m.get("licence")), "licence: its SPDX name, such as MIT"),
        (_text(m.get("task")), "task: such as image-classification"),
        (isinstance(m.get("summary", ""), str), "summary: a text"),
        (_text(m.get("architecture")), "architecture: the name of a model of neura.models"),
        (isinstance(m.get("arguments"), dict) and _plain(m["arguments"]), "arguments: plain values by name"),
        (
            m.get("labels") is None or isinstance(m["labels"], list) and all(isinstance(x, str) for x in m["labels"]),
            "labels: a list of texts",
        ),
        (
            isinstance(m.get("metrics", {}), dict) and all(map(_number, m.get("metrics", {}).values())),
            "metrics: numbers",
        ),
    )
    problem = next((text for good, text in checks if not good), None)
    problem = problem or _values_problem(m.get("inputs"), "inputs") or _values_problem(m.get("outputs"), "outputs")
    problem = problem or _steps_problem(m.get("preprocessing", [])) or _files_problem(m.get("files"))
    if not problem and m.get("example") is not None and m["example"] not in m["files"]:
        problem = f"example: one of the files, got {m['example']!r}"
    return problem and f"expected {problem}"


def index_problem(index):
    """What is wrong with an index; None where nothing is."""
    if not isinstance(index, dict) or index.get("format") != FORMAT or not isinstance(index.get("models"), list):
        return f"expected format {FORMAT} and a list of models"
    for e in index["models"]:
        good = isinstance(e, dict) and all(isinstance(e.get(k), str) for k in ("name", "version", "path", "manifest"))
        if not good or not _NAME.fullmatch(e["name"]) or not _VERSION.fullmatch(e["version"]):
            return f"expected entries with a name, a version, a path and the manifest's sha256, got {e!r}"
        if not _HASH.fullmatch(e["manifest"]):
            return f"expected the manifest's sha256 in 64 digits, got {e['manifest']!r}"
        if len(e["path"]) > 200 or not all(_PART.fullmatch(p) for p in e["path"].split("/")):
            return f"expected a path below the index, got {e['path']!r}"
        if not _count(e.get("bytes", 0)) or not all(
            isinstance(e.get(k, ""), str) for k in ("summary", "task", "licence")
        ):
            return f"expected bytes as a number and texts along with it, got {e!r}"
    return None


def parsed(data, where, problem):
    """The JSON of bytes, of which problem(value) says what is wrong. ManifestError names the place."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise ManifestError(f"{where}: expected JSON, got something else") from None
    if wrong := problem(value):
        raise ManifestError(f"{where}: {wrong}")
    return value


def version_key(version):
    """What versions are ordered by: 1.10 comes after 1.9."""
    return [int(part) for part in version.split(".")]


def read_file(folder, name, most):
    """The bytes of a small file of a folder; ManifestError for a larger one."""
    path = os.path.join(folder, name)
    with open(path, "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ManifestError(f"{path}: expected at most {most} bytes, got more")
    return data
