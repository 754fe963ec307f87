"""The files of a run's folder: checkpoints by step, the best one, and text that is replaced as a whole."""

import os
import pathlib
import re

from .._neura import errors
from .._replaced import naming, replaced
from ..serialization import load, save

_NAME = re.compile(r"step-(\d{9,})\.safetensors")
_LEFT = re.compile(r".+\.(?:safetensors|csv|jsonl)\.tmp-[\d-]+")  # by a process that was killed as it wrote
FORMAT = 1


def checkpoints(folder):
    """(step, path) of the checkpoints of steps, oldest first."""
    found = []
    for path in pathlib.Path(folder).glob("step-*.safetensors"):
        if match := _NAME.fullmatch(path.name):
            found.append((int(match.group(1)), path))
    return sorted(found)


def save_step(folder, step, state, keep, rewound):
    """Writes a checkpoint, complete or not at all, and removes all but the newest `keep` up to it; of a run that went
    back to an earlier one also those of later steps. Returns its path."""
    with naming(folder):
        os.makedirs(folder, exist_ok=True)
    path = pathlib.Path(folder) / f"step-{step:09d}.safetensors"
    save({"format": FORMAT, **state}, path)
    found = checkpoints(folder)
    old = [other for at, other in found if at <= step][:-keep]
    left = [other for at, other in found if at > step] if rewound else []
    for other in old + left:
        other.unlink()
    return path


def load_step(path):
    """What `save_step` wrote. FormatError for another file."""
    state = load(path)
    if not isinstance(state, dict) or state.get("format") != FORMAT or "position" not in state:
        raise errors.FormatError(f"resume: expected a checkpoint of a run, got another file: {path}")
    return state


def sweep(folder):
    """Removes what a killed process left half written."""
    for path in pathlib.Path(folder).iterdir():
        if _LEFT.fullmatch(path.name):
            path.unlink()


def replace_text(path, text):
    """The file holds this text, or what it held before: written under another name, synced and renamed."""
    with replaced(path, "w") as file:
        file.write(text)
