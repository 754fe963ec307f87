"""A model's folder: its manifest, its network with weights, its preprocessing, and whether all of that holds."""

import inspect
import os

from .._neura import errors
from . import _manifest as form
from ._fetch import hash_of
from ._problems import HashError, ManifestError

_TOLERANCE = 1e-4  # of recorded outputs, as a part of the largest one


class Package:
    """A model's folder in Hugging Face's layout: config.json, model.safetensors, README.md, and neura.json.

    folder (path). ManifestError where it is not one. A folder without neura.json loads by its config.json, without
    hashes: manifest is None then.

    >>> import neura, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> net = neura.models.mlp(2, 3, layers=0)
    >>> p = neura.hub.pack(
    ...     folder, net, name="line", version="1.0", licence="MIT", task="demo", architecture="mlp",
    ...     arguments={"inputs": 2, "outputs": 3, "layers": 0}, example=neura.ones(1, 2),
    ... )
    >>> p.load()(neura.ones(1, 2)).shape
    neura.Size([1, 3])
    """

    def __init__(self, folder):
        self.folder = os.path.abspath(os.path.expanduser(os.fspath(folder)))
        path = os.path.join(self.folder, form.MANIFEST)
        self.manifest = None
        if os.path.isfile(path):
            data = form.read_file(self.folder, form.MANIFEST, form.MOST_MANIFEST)
            self.manifest = form.parsed(data, path, form.problem_of)
        elif not os.path.isfile(os.path.join(self.folder, form.CONFIG)):
            raise ManifestError(f"{self.folder}: expected {form.MANIFEST} or {form.CONFIG}, got neither")

    def __repr__(self):
        return f"Package({self.name!r}, version={self.version!r}, folder={self.folder!r})"

    def _said(self, key, other=None):
        return other if self.manifest is None else self.manifest.get(key, other)

    @property
    def name(self):
        """What it is called."""
        return self._said("name", os.path.basename(self.folder))

    @property
    def version(self):
        """Its version, or None."""
        return self._said("version")

    @property
    def labels(self):
        """What the numbers of classes stand for, or None."""
        labels = self._said("labels")
        if labels is None and self.manifest is None:
            named = self.config().get("id2label")
            labels = [named[key] for key in sorted(named, key=int)] if isinstance(named, dict) and named else None
        return labels

    def config(self):
        """What config.json says, a dict."""
        path = os.path.join(self.folder, form.CONFIG)
        if not os.path.isfile(path):
            raise ManifestError(f"{self.folder}: expected a {form.CONFIG}, got none")
        data = form.read_file(self.folder, form.CONFIG, form.MOST_INDEX)
        return form.parsed(data, path, lambda c: None if isinstance(c, dict) else "expected names and values")

    def architecture(self):
        """The name of the network in neura.models, and its arguments. ManifestError where there is none such."""
        from .. import models

        if self.manifest is not None:
            name, arguments = self.manifest["architecture"], self.manifest["arguments"]
        else:
            name, arguments = self._of_config(self.config())
        if name not in models.list_models():
            near = (
                ", ".join(models.list_models(f"{str(name)[:4]}*")) or "neura.models.list_models() says which there are"
            )
            raise ManifestError(
                f"{self.folder}: expected the architecture to be a model of neura.models, got {name!r}; {near}"
            )
        return name, arguments

    def _of_config(self, config):
        if config.get("model_type") == "gpt2":
            from ..models import GPT2Model

            known = inspect.signature(GPT2Model).parameters
            return "gpt2", {key: value for key, value in config.items() if key in known}
        arguments = config.get("arguments")
        if arguments is None:
            arguments = {"num_classes": config["num_classes"]} if "num_classes" in config else {}
        if not isinstance(arguments, dict):
            raise ManifestError(f"{self.folder}: expected arguments by name in {form.CONFIG}, got {arguments!r}")
        return config.get("architecture"), arguments

    def check(self):
        """Compares every file of the manifest with its size and hash; gives the package back.

        HashError for another one, ManifestError for one that is missing, and where there is no manifest.
        """
        if self.manifest is None:
            raise ManifestError(
                f"{self.folder}: expected a {form.MANIFEST} to compare with, got none; neura hub pack makes one"
            )
        for name, facts in self.manifest["files"].items():
            path = os.path.join(self.folder, *name.split("/"))
            if not os.path.isfile(path):
                raise ManifestError(f"{self.folder}: expected the file {name} of the manifest, got none")
            size = os.path.getsize(path)
            if size != facts["bytes"]:
                raise HashError(f"{path}: expected {facts['bytes']} bytes, got {size}; fetch it again, with refresh")
            if (got := hash_of(path)) != facts["sha256"]:
                raise HashError(
                    f"{path}: expected the SHA-256 {facts['sha256']}, got {got}; fetch it again, with refresh"
                )
        return self

    def _state(self):
        from ..safetensors import _parts, load_file

        for name in (form.WEIGHTS, form.WEIGHTS + ".index.json"):
            path = os.path.join(self.folder, name)
            if os.path.isfile(path) and (self.manifest is None or name in self.manifest["files"]):
                for part in _parts(path) if name.endswith(".json") else ():
                    if self.manifest is not None and part not in self.manifest["files"]:
                        raise ManifestError(f"{path}: expected files of the manifest, got {part!r}")
                return load_file(path)
        raise ManifestError(f"{self.folder}: expected {form.WEIGHTS}, got none")

    def load(self, device=None):
        """The network with its weights, in evaluation mode.

        device: where it goes, by default the cpu. ManifestError for an architecture or arguments that there are not,
        and for weights that do not fit.
        """
        from .. import device as device_type
        from .. import models

        name, arguments = self.architecture()
        state = self._state()
        try:
            with device_type("meta"):  # weights that do not fit are seen before anything is allocated
                models.get_model(name, **arguments).load_state_dict(state, assign=True)
            net = models.get_model(name, **arguments)
            net.load_state_dict(state)
        except (TypeError, ValueError, RuntimeError, ArithmeticError) as e:
            raise ManifestError(f"{self.folder}: expected weights and arguments of {name}, got others: {e}") from None
        net.eval()
        return net if device is None else net.to(device)

    def preprocess(self, x):
        """What the network takes: a batch of one.

        x: the path of a picture, or a tensor [C, H, W] of bytes or numbers; a tensor with one dimension more is a batch
        already. Where the manifest has no preprocessing, tensors stay as they are. ValueError for what is neither.
        """
        from .. import Tensor, data

        if isinstance(x, (str, os.PathLike)):
            channels = (self._said("inputs") or [{"shape": [None, 3]}])[0]["shape"]
            x = data.read_image(os.fspath(x), "gray" if channels[1:2] == [1] else "rgb")
        elif not isinstance(x, Tensor):
            raise errors.ValueError(f"preprocess: expected a tensor or the path of a picture, got {type(x).__name__}")
        for step in self._said("preprocessing", []):
            x = _step(x, step)
        wanted = (self._said("inputs") or [{"shape": []}])[0]["shape"]
        return x.unsqueeze(0) if len(wanted) == x.dim() + 1 else x

    def verify(self):
        """Runs the recorded example: the largest difference to the recorded outputs, as a part of their largest number.

        ManifestError where there is no example, and for a difference above 1e-4.
        """
        from .. import no_grad
        from ..safetensors import load_file

        if not (name := self._said("example")):
            raise ManifestError(f"{self.folder}: expected a recorded example, got none; pack the model with one")
        tensors = load_file(os.path.join(self.folder, *name.split("/")))
        if "input" not in tensors or "output" not in tensors:
            raise ManifestError(f"{self.folder}: expected an input and an output in {name}, got {', '.join(tensors)}")
        with no_grad():
            got, recorded = self.load()(tensors["input"]), tensors["output"]
        if got.shape != recorded.shape:
            raise ManifestError(f"{self.folder}: expected outputs {list(recorded.shape)}, got {list(got.shape)}")
        largest = max(1.0, float(recorded.abs().max())) if recorded.numel() else 1.0
        difference = float((got - recorded).abs().max()) / largest if recorded.numel() else 0.0
        if not difference <= _TOLERANCE:
            raise ManifestError(
                f"{self.folder}: expected the recorded outputs within {_TOLERANCE}, got {difference:.3g} off"
            )
        return difference


def _step(x, step):
    from ..data import functional as f

    kind = step["step"]
    if kind == "resize":
        return f.resize(x, step["size"])
    if kind == "center_crop":
        return f.center_crop(x, step["size"])
    if kind == "grayscale":
        return f.rgb_to_grayscale(x)
    if kind == "scale":
        return f.to_dtype(x, scale=True)
    return f.normalize(x, step["mean"], step["std"])
