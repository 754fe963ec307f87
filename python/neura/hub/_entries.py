"""Models of a folder that has a hubconf.py, as PyTorch's hub has them: code, which is run. Load what you trust."""

import os
import sys

from .._neura import errors


def _configuration(op, folder, source):
    if source != "local":
        raise errors.NotImplementedError(
            f"{op}: expected source='local', got {source!r}; fetch the repository, and name its folder"
        )
    import importlib.util

    folder = os.path.expanduser(folder)
    path = os.path.join(folder, "hubconf.py")
    if not os.path.isfile(path):
        raise errors.ValueError(f"{op}: expected a folder with a hubconf.py, got {folder!r}")
    spec = importlib.util.spec_from_file_location("hubconf", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    from importlib.util import find_spec

    missing = [name for name in getattr(module, "dependencies", ()) if find_spec(name) is None]
    if missing:
        raise RuntimeError(f"{op}: expected the packages {', '.join(missing)} of hubconf.py, got none; install them")
    return module


def _entry(op, module, name):
    function = getattr(module, name, None)
    if name.startswith("_") or not callable(function):
        raise RuntimeError(f"{op}: expected a function of hubconf.py, got {name!r}")
    return function


def names(github, source):
    """The names of the functions in a folder's hubconf.py; source='local' or NotImplementedError."""
    module = _configuration("list", github, source)
    return [name for name, value in vars(module).items() if name[0] != "_" and callable(value)]


def text(github, model, source):
    """The docstring of a function in a folder's hubconf.py; source='local' or NotImplementedError."""
    return _entry("help", _configuration("help", github, source), model).__doc__


def call(folder, model, source, args, kwargs):
    """What a function in a folder's hubconf.py gives for these arguments."""
    return _entry("load", _configuration("load", folder, source), model)(*args, **kwargs)
