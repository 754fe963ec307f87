"""Writes a model's folder, and the index of many."""

import json
import os
import shutil
import tempfile

from .._neura import errors
from . import _manifest as form
from ._fetch import hash_of
from ._package import Package
from ._problems import ManifestError

_EXAMPLE = "example.safetensors"


def pack(
    folder,
    model,
    *,
    name,
    version,
    licence,
    task,
    architecture,
    arguments=None,
    example=None,
    labels=None,
    preprocessing=(),
    summary="",
    metrics=None,
    card=None,
    inputs=None,
    outputs=None,
):
    """Writes a model into a folder in Hugging Face's layout, with a manifest, and gives it back as a Package.

    folder (path): a new one, or an empty one; it appears complete or not at all. model (Module): whose state dict is
    written; it is run in evaluation mode, and each of its modules keeps the mode that it has. architecture (str), arguments (dict): which
    of neura.models it is, and what that takes. example (Tensor): what goes in; what comes out is recorded, and says
    what inputs and outputs are like; the first dimension counts as any size. labels (list of str): of the classes.
    preprocessing: steps such as {"step": "resize", "size": 256}, {"step": "center_crop", "size": 224},
    {"step": "grayscale"}, {"step": "scale"} (bytes to parts of 1), {"step": "normalize", "mean": [..], "std": [..]}.
    metrics (dict): numbers by name. card (str): what README.md says below its head.

    ValueError for a folder with something in it, ManifestError for what makes no manifest.
    """
    from .. import models, no_grad
    from ..nn.modes import in_mode
    from ..safetensors import save_file

    folder = os.path.abspath(os.path.expanduser(os.fspath(folder)))
    if os.path.exists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise errors.ValueError(f"pack: expected a new folder, got {folder!r}, which has something in it")
    models.get_model_builder(architecture)
    manifest = {"format": form.FORMAT, "name": name, "version": version, "summary": summary, "task": task}
    manifest.update(licence=licence, architecture=architecture, arguments=dict(arguments or {}))
    manifest.update(inputs=inputs, outputs=outputs, labels=labels and list(labels), preprocessing=list(preprocessing))
    manifest["metrics"] = dict(metrics or {})
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    made = tempfile.mkdtemp(dir=os.path.dirname(folder), prefix=".new-")
    try:
        os.chmod(made, 0o755)
        state = {key: value.contiguous() for key, value in model.state_dict().items()}
        save_file(state, os.path.join(made, form.WEIGHTS), {"format": "pt"})
        if example is not None:
            with in_mode(model, False), no_grad():
                output = model(example)
            save_file({"input": example.contiguous(), "output": output.contiguous()}, os.path.join(made, _EXAMPLE))
            manifest["inputs"] = inputs or [_like("input", example)]
            manifest["outputs"] = outputs or [_like("output", output)]
            manifest["example"] = _EXAMPLE
        _text(made, form.CONFIG, json.dumps(_config(manifest), indent=1) + "\n")
        _text(made, "README.md", _card(manifest, card))
        files = sorted(n for n in os.listdir(made) if n != form.MANIFEST)
        paths = {n: os.path.join(made, n) for n in files}
        manifest["files"] = {n: {"bytes": os.path.getsize(p), "sha256": hash_of(p)} for n, p in paths.items()}
        if problem := form.problem_of(manifest):
            raise ManifestError(f"pack: {problem}")
        _text(made, form.MANIFEST, json.dumps(manifest, indent=1) + "\n")
        Package(made).load()
        if os.path.isdir(folder):
            os.rmdir(folder)
        os.rename(made, folder)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return Package(folder)


def _text(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def _like(name, tensor):
    return {"name": name, "dtype": str(tensor.dtype).rpartition(".")[2], "shape": [None, *tensor.shape[1:]]}


def _config(manifest):
    from ..models.gpt2 import SIZES

    if manifest["architecture"] in SIZES:
        named = {**SIZES[manifest["architecture"]], **manifest["arguments"]}
        return {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], **named}
    config = {"model_type": "neura", "architecture": manifest["architecture"], "arguments": manifest["arguments"]}
    if manifest["labels"]:
        config["id2label"] = {str(i): label for i, label in enumerate(manifest["labels"])}
        config["label2id"] = {label: i for i, label in enumerate(manifest["labels"])}
    return config


def _card(manifest, card):
    """README.md: a head that Hugging Face reads, what the manifest says, and what the author does."""
    head = [
        "---",
        f"license: {manifest['licence'].lower()}",
        "library_name: neura",
        f"pipeline_tag: {manifest['task']}",
        "---",
    ]
    lines = [*head, "", f"# {manifest['name']} {manifest['version']}", ""]
    if manifest["summary"]:
        lines += [manifest["summary"], ""]
    if manifest["metrics"]:
        lines += ["| metric | value |", "|---|---|"]
        lines += [f"| {key} | {value:g} |" for key, value in manifest["metrics"].items()] + [""]
    use = """```python
import neura

net = neura.hub.load("path/of/this/folder")
```"""
    return "\n".join([*lines, use, "", (card or "").strip()]).rstrip() + "\n"


def build_index(folder):
    """Writes the index.json of a folder whose folders, at any depth, are models; gives its entries.

    Every model is checked first: HashError and ManifestError say which one is not as its manifest says, and nothing is
    written. ValueError where two have one name and version.
    """
    folder = os.path.abspath(os.path.expanduser(os.fspath(folder)))
    entries = {}
    for place, folders, files in sorted(os.walk(folder)):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if form.MANIFEST not in files or place == folder:
            continue
        m = Package(place).check().manifest
        key, path = (m["name"], m["version"]), os.path.relpath(place, folder).replace(os.sep, "/")
        if key in entries:
            raise errors.ValueError(f"index: expected one {key[0]} {key[1]}, got {entries[key]['path']} and {path}")
        entries[key] = {
            "name": m["name"],
            "version": m["version"],
            "path": path,
            "manifest": hash_of(os.path.join(place, form.MANIFEST)),
            "bytes": sum(f["bytes"] for f in m["files"].values()),
            "task": m["task"],
            "licence": m["licence"],
            "summary": m.get("summary", ""),
        }
    index = {"format": form.FORMAT, "models": list(entries.values())}
    if problem := form.index_problem(index):
        raise ManifestError(f"{folder}: {problem}")
    _text(folder, form.INDEX + ".new", json.dumps(index, indent=1) + "\n")
    os.replace(os.path.join(folder, form.INDEX + ".new"), os.path.join(folder, form.INDEX))
    return index["models"]
