"""Packs what the program `neura train` left in a folder."""

import json
import os

from .._neura import errors
from ._pack import pack
from ._problems import ManifestError


def pack_run(run, folder, *, name=None, version="1.0", licence, summary=None, card=None):
    """Writes the network of a run of `neura train` as a model's folder, and gives it back as a Package.

    run (path): RUN of `neura train fashion-mnist`, `images` or `text`, whose best weights are taken. folder (path): a
    new one. name (str): by default the folder's. licence (str): of the weights, by its SPDX name. What the card says of
    the training comes from the run. ManifestError for a folder that is no run, NotImplementedError for one of a table,
    ValueError for a folder with something in it.
    """
    from ..serialization import load

    run = os.path.abspath(os.path.expanduser(os.fspath(run)))
    try:
        with open(os.path.join(run, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        task, facts = config["task"], config["facts"]
        known = _TASKS.get(task)
        if known is None:
            raise errors.NotImplementedError(f"pack_run: expected a run of {', '.join(_TASKS)}, got one of {task}")
        about = known(config, facts)
    except (OSError, ValueError, KeyError, TypeError) as e:
        if isinstance(e, (errors.NotImplementedError, ManifestError)):
            raise
        raise ManifestError(f"{run}: expected the folder of a run of neura train, got another ({e!r})") from None
    weights = os.path.join(run, "best.safetensors")
    if not os.path.isfile(weights):
        raise ManifestError(f"{run}: expected best.safetensors, got none; let the training end an epoch")
    state = load(weights, "cpu")["model"]
    net = about.pop("network")
    net.load_state_dict({key[2:] if about.get("inside") else key: value for key, value in state.items()})
    about.pop("inside", None)
    log = _log(run)
    return pack(
        folder,
        net,
        name=name or os.path.basename(os.path.abspath(folder)).lower(),
        version=version,
        licence=licence,
        summary=summary or about.pop("says"),
        metrics=_metrics(log),
        card=card or _recipe(config, log),
        **{key: value for key, value in about.items() if key != "says"},
    )


def _made(architecture, arguments, **rest):
    from .. import models

    return {
        "architecture": architecture,
        "arguments": arguments,
        "network": models.get_model(architecture, **arguments),
        **rest,
    }


def _fashion(config, facts):
    from .. import arange, uint8

    height, width, classes = facts["height"], facts["width"], facts["classes"]
    arguments = {"num_classes": len(classes), "height": height, "width": width}
    picture = (arange(2 * height * width) * 37 % 256).to(uint8).reshape(2, 1, height, width)
    return _made(
        {"cnn": "fashion_cnn", "mlp": "fashion_mlp"}[config["model"]],
        arguments,
        task="image-classification",
        labels=classes,
        preprocessing=[{"step": "resize", "size": [height, width]}],
        example=picture,
        says=f"Says which of {len(classes)} things a picture of {height} x {width} grey pixels, light on dark, shows.",
    )


def _images(config, facts):
    from .. import linspace

    size, classes, network = facts["size"], facts["classes"], facts.get("network")
    if network is None:
        raise ManifestError(
            "pack_run: expected a run that keeps its network, got one of an older Neura; train it again"
        )
    steps = [{"step": "resize", "size": [size, size]}, {"step": "scale"}]
    return _made(
        network["architecture"],
        network["arguments"],
        inside=network["architecture"] != "mlp",
        task="image-classification",
        labels=classes,
        preprocessing=[*steps, {"step": "normalize", "mean": [0.5] * 3, "std": [0.25] * 3}],
        example=linspace(-2, 2, 2 * 3 * size * size).reshape(2, 3, size, size),
        says=f"Says which of {len(classes)} things a picture shows.",
    )


def _text(config, facts):
    from .. import arange

    labels, settings = facts.get("characters"), config["settings"]
    if labels is None:
        raise errors.NotImplementedError("pack_run: expected a run of characters, got one of a tokenizer.json")
    width, layers, dropout = int(settings["width"]), int(settings["layers"]), settings["dropout"]
    if config["model"] == "lstm":
        arguments = {"vocab_size": len(labels), "width": width, "num_layers": layers, "dropout": dropout}
    else:
        arguments = {"vocab_size": len(labels), "n_positions": int(settings["context"]), "n_embd": width}
        arguments.update(n_layer=layers, n_head=int(settings["heads"]))
        arguments.update(dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), dropout))
    return _made(
        "lstm_language" if config["model"] == "lstm" else "gpt2",
        arguments,
        inside=True,
        task="text-generation",
        labels=labels,
        example=(arange(2 * 4) % len(labels)).reshape(2, 4),
        says=f"Says which of {len(labels)} characters comes next.",
    )


_TASKS = {"fashion-mnist": _fashion, "images": _images, "text": _text}


def _log(run):
    lines = []
    try:
        with open(os.path.join(run, "log.jsonl"), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file if line.strip()]
    except (OSError, ValueError):
        pass  # a card without figures
    return [line for line in lines if isinstance(line, dict)]


def _metrics(log):
    """What was measured where the best weights were written."""
    measured = [line for line in log if "val/loss" in line]
    if not measured:
        return {}
    if "val/accuracy" in measured[0]:
        best = max(measured, key=lambda line: line.get("val/accuracy", 0))
    else:
        best = min(measured, key=lambda line: line["val/loss"])
    return {key.partition("/")[2]: best[key] for key in ("val/accuracy", "val/loss") if key in best}


def _recipe(config, log):
    settings = " ".join(f"--set {key}={value:g}" for key, value in sorted(config["settings"].items()))
    command = f"neura train {config['task']} {os.path.basename(config['data']) or ''}".rstrip()
    command += f" --model {config['model']} --epochs {config['epochs']} --batch-size {config['batch_size']}"
    command += f" --lr {config['lr']:g} --seed {config['seed']}" + (" --quick" if config.get("quick") else "")
    return f"""## How it was trained

```
{command} {settings}
```

The figures are of what was not trained with. {len(log)} lines of measurements are in the run's log.jsonl."""
