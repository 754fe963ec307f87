"""Models with their weights: folders in Hugging Face's layout, fetched, compared with their hashes, kept, loaded.

`load` and `get` take a folder, a URL, or a name of an index; `pack` writes a folder, `index` reads what there is. The
same on the command line: `python -m neura.hub`, or `neura hub`. With source="local", `load`, `list` and `help` are
PyTorch's: functions of a folder's hubconf.py, which is code.
"""

import os

from . import _entries
from ._fetch import download_url_to_file, load_state_dict_from_url
from ._pack import build_index, pack
from ._package import Package
from ._problems import HashError, ManifestError, NotFoundError, OfflineError
from ._runs import pack_run
from ._store import get, index, is_place

__all__ = [
    "build_index",
    "download_url_to_file",
    "get",
    "get_dir",
    "HashError",
    "help",
    "index",
    "list",
    "load",
    "load_state_dict_from_url",
    "ManifestError",
    "NotFoundError",
    "OfflineError",
    "pack",
    "pack_run",
    "Package",
    "set_dir",
]

_dir = None


def get_dir():
    """Where files are kept: set_dir's, $NEURA_HOME/hub, or ~/.cache/neura/hub."""
    if _dir is not None:
        return _dir
    cache = os.environ.get("XDG_CACHE_HOME", os.path.join("~", ".cache"))
    home = os.environ.get("NEURA_HOME", os.path.join(cache, "neura"))
    return os.path.join(os.path.expanduser(home), "hub")


def set_dir(d):
    """Sets the cache folder."""
    global _dir
    _dir = os.path.expanduser(d)


def list(github=None, force_reload=False, skip_validation=False, trust_repo="check", verbose=True, *, source="github"):
    """The names of the models of an index: a folder, a URL, or by default what NEURA_HUB says.

    With source="local", as PyTorch: the names of the functions in a folder's hubconf.py. NotImplementedError for a
    repository elsewhere; otherwise see index.
    """
    if source != "local" and (github is None or is_place(github)):
        return sorted({entry["name"] for entry in index(github)})
    return _entries.names(github, source)


def help(github, model=None, force_reload=False, skip_validation=False, trust_repo="check", *, source="github"):
    """What a model's README.md says, or with source="local" a function of a folder's hubconf.py in its docstring."""
    if source != "local" and is_place(github):
        path = os.path.join(get(github, model, refresh=force_reload).folder, "README.md")
        if not os.path.isfile(path):
            return ""
        with open(path, encoding="utf-8") as file:
            return file.read()
    return _entries.text(github, model, source)


def load(
    repo_or_dir,
    model=None,
    *args,
    source="github",
    trust_repo="check",
    force_reload=False,
    verbose=True,
    skip_validation=False,
    version=None,
    device=None,
    **kwargs,
):
    """A network with its weights, in evaluation mode.

    repo_or_dir (str or path): a model's folder, file:// or http(s)://; an index of many, with `model` as the name of
    one; or a name of the index that the environment variable NEURA_HUB names. version (str): by default the newest.
    device: where it goes. force_reload: ask the server, even for what is kept. Nothing of a folder is executed; all of
    it is compared with its hashes. Raises what `get` and Package.load raise.

    With source="local", as PyTorch: what the function `model` of a folder's hubconf.py gives for args and kwargs.
    NotImplementedError for a repository elsewhere ("owner/name"): fetch it, and name its folder.

    >>> import neura, os, tempfile
    >>> folder = os.path.join(tempfile.mkdtemp(), "line")
    >>> net = neura.models.mlp(2, 1, layers=0)
    >>> config = {"inputs": 2, "outputs": 1, "layers": 0}
    >>> about = {"name": "line", "version": "1.0", "licence": "MIT", "task": "demo"}
    >>> _ = neura.hub.pack(folder, net, architecture="mlp", arguments=config, example=neura.ones(1, 2), **about)
    >>> neura.equal(neura.hub.load(folder)[1].weight, net[1].weight)
    True
    """
    if source != "local" and is_place(repo_or_dir):
        return get(repo_or_dir, model, version, refresh=force_reload, progress=verbose).load(device)
    return _entries.call(repo_or_dir, model, source, args, kwargs)
