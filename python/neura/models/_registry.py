"""Which models there are, by name, and where their published weights are."""

import inspect
import os
from collections.abc import Mapping
from fnmatch import fnmatchcase

from .._neura import errors

_builders = {}
_PLACE = "https://download.pytorch.org/models/"
# torchvision's files: the last one is what "DEFAULT" means. Each name ends with the beginning of the file's SHA-256.
_FILES = {
    "alexnet": "alexnet-owt-7be5be79",
    "mobilenet_v2": "mobilenet_v2-b0353104 mobilenet_v2-7ebf99e0",
    "resnet18": "resnet18-f37072fd",
    "resnet34": "resnet34-b627a593",
    "resnet50": "resnet50-0676ba61 resnet50-11ad3fa6",
    "resnet101": "resnet101-63fe2227 resnet101-cd907fc2",
    "resnet152": "resnet152-394f9c45 resnet152-f82ba261",
    "resnext50_32x4d": "resnext50_32x4d-7cdf4587 resnext50_32x4d-1a0047aa",
    "resnext101_32x8d": "resnext101_32x8d-8ba56ff5 resnext101_32x8d-110c445d",
    "resnext101_64x4d": "resnext101_64x4d-173b62eb",
    "wide_resnet50_2": "wide_resnet50_2-95faca4d wide_resnet50_2-9ba9bcbe",
    "wide_resnet101_2": "wide_resnet101_2-32ee1156 wide_resnet101_2-d733dc28",
    "vgg11": "vgg11-8a719046",
    "vgg11_bn": "vgg11_bn-6002323d",
    "vgg13": "vgg13-19584684",
    "vgg13_bn": "vgg13_bn-abd245e5",
    "vgg16": "vgg16-397923af",
    "vgg16_bn": "vgg16_bn-6c64b313",
    "vgg19": "vgg19-dcbb9e9d",
    "vgg19_bn": "vgg19_bn-c79401a0",
    "vit_b_16": "vit_b_16-c867db91",
    "vit_b_32": "vit_b_32-d86f8d99",
    "vit_l_16": "vit_l_16-852ce7e3",
    "vit_l_32": "vit_l_32-c7638314",
}


def register_model(name=None):
    """Decorates a function that makes a model, so that `get_model` and the hub know it by its name.

    name (str): what it is called there; by default the function's name. ValueError for a name that is taken.

    >>> import neura
    >>> @neura.models.register_model()
    ... def tiny_line(inputs=2):
    ...     return neura.nn.Linear(inputs, 1)
    >>> neura.models.get_model("tiny_line", inputs=3)
    Linear(in_features=3, out_features=1, bias=True)
    """

    def remember(function):
        key = function.__name__ if name is None else name
        if _builders.setdefault(key, function) is not function:
            raise errors.ValueError(f"register_model: expected a name that is free, got {key!r}")
        return function

    return remember


def list_models(include=None, exclude=None):
    """The names of all models, in order.

    include, exclude (str or list of str): patterns such as "resnet*" that names match, or do not.

    >>> import neura
    >>> neura.models.list_models("vgg1[13]*", exclude="*_bn")
    ['vgg11', 'vgg13']
    """

    def matches(name, patterns):
        return any(fnmatchcase(name, p) for p in ([patterns] if isinstance(patterns, str) else patterns))

    names = sorted(_builders)
    if include:
        names = [name for name in names if matches(name, include)]
    return [name for name in names if not (exclude and matches(name, exclude))]


def get_model_builder(name):
    """The function that makes the model of this name. ValueError where there is none."""
    found = _builders.get(name.lower() if isinstance(name, str) else name)
    if found is None:
        from difflib import get_close_matches

        near = get_close_matches(str(name), _builders, 1)
        hint = f"; did you mean {near[0]!r}?" if near else "; list_models() says which there are"
        raise errors.ValueError(f"get_model: expected the name of a model, got {name!r}{hint}")
    return found


def get_model(name, **config):
    """The model of this name; `config` is what its function takes. ValueError for another name.

    >>> import neura
    >>> neura.models.get_model("lenet", num_classes=3).fc3
    Linear(in_features=84, out_features=3, bias=True)
    """
    return get_model_builder(name)(**config)


def arguments_of(name):
    """The names of the arguments that describe the network, for configurations in files; None: any."""
    signature = inspect.signature(get_model_builder(name))
    wanted = [p for p in signature.parameters.values() if p.name not in ("weights", "progress")]
    if any(p.kind is p.VAR_KEYWORD for p in wanted):
        return None
    return [p.name for p in wanted]


def fill(model, name, weights, progress=True):
    """Loads `weights` into a model that is fresh, and gives it back.

    weights: None, tensors by name, a file (.safetensors, its index .json, .pt or .pth), or one of torchvision's words:
    "IMAGENET1K_V1", "IMAGENET1K_V2", "DEFAULT"; those are fetched once, compared with their hash, and kept.
    """
    if weights is None:
        return model
    model.load_state_dict(_state(name, weights, progress))
    return model


def published(name, word):
    """The URL of torchvision's weights. ValueError for a word or a model that has none."""
    files = _FILES.get(name, "").split()
    words = {f"IMAGENET1K_V{i}": file for i, file in enumerate(files, 1)}
    if files:
        words["DEFAULT"] = files[-1]
    if word not in words:
        known = ", ".join(repr(w) for w in words) or "none of torchvision's; this model has none"
        raise errors.ValueError(f"{name}: expected weights to be a file, or one of {known}; got {word!r}")
    return f"{_PLACE}{words[word]}.pth"


def _state(name, weights, progress):
    if isinstance(weights, Mapping):
        return weights
    try:
        path = os.path.expanduser(os.fspath(weights))
    except TypeError:
        kind = type(weights).__name__
        raise TypeError(f"{name}: expected weights to be a file or tensors by name, got {kind}") from None
    if os.path.exists(path):
        if path.endswith(".json"):
            from ..safetensors import load_file

            return load_file(path)
        from ..serialization import load

        return load(path, "cpu")
    if path.upper() == path and "." not in path and "/" not in path:
        from ..hub import load_state_dict_from_url

        return load_state_dict_from_url(published(name, path), progress=progress, map_location="cpu", check_hash=True)
    raise errors.IoError(f"{name}: expected a file of weights, got {path!r}, which is not there")
