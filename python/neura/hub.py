"""Weight files from URLs, cached on disk, and models of a folder with a hubconf.py.

A folder's `hubconf.py` is Python code, which is run: load what you trust. PyTorch fetches such folders from GitHub by
name; here only a local folder is read: source="local".
"""

import hashlib
import os
import sys
import tempfile

from ._neura import errors
from .serialization import load as _load_file

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

_dir = None


def get_dir():
    """The cache folder: set_dir's, $NEURA_HOME/hub, or ~/.cache/neura/hub."""
    if _dir is not None:
        return _dir
    cache = os.environ.get("XDG_CACHE_HOME", os.path.join("~", ".cache"))
    home = os.environ.get("NEURA_HOME", os.path.join(cache, "neura"))
    return os.path.join(os.path.expanduser(home), "hub")


def set_dir(d):
    """Sets the cache folder."""
    global _dir
    _dir = os.path.expanduser(d)


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """Downloads a URL to the file dst, which appears complete or not at all.

    hash_prefix: how the SHA-256 of the content begins, else RuntimeError. progress: a progress bar, on a terminal.
    OSError where the URL cannot be read.
    """
    from urllib.request import Request, urlopen

    dst, digest, done = os.path.expanduser(dst), hashlib.sha256(), 0
    with urlopen(Request(url, headers={"User-Agent": "neura"})) as source:
        size = int(source.headers.get("Content-Length") or 0)
        handle, partial = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(dst)), suffix=".partial")
        try:
            with os.fdopen(handle, "wb") as file:
                while block := source.read(1 << 17):
                    file.write(block)
                    digest.update(block)
                    done += len(block)
                    if progress and sys.stderr.isatty():
                        print(f"\r{done} of {size or '?'} bytes", end="", file=sys.stderr)
            if hash_prefix is not None and not digest.hexdigest().startswith(hash_prefix):
                raise RuntimeError(
                    f"download_url_to_file: expected a SHA-256 that begins with {hash_prefix}, got {digest.hexdigest()}"
                )
            os.replace(partial, dst)
        except BaseException:
            os.unlink(partial)
            raise


def load_state_dict_from_url(
    url, model_dir=None, map_location=None, progress=True, check_hash=False, file_name=None, weights_only=False
):
    """neura.load of the file at a URL, downloaded once and cached in model_dir, by default get_dir()/checkpoints.

    check_hash: the name ends with -<beginning of its SHA-256>, which has to be right. file_name: its name there.
    Raises what download_url_to_file and neura.load raise; weights_only is PyTorch's word: nothing is ever executed.
    """
    from urllib.parse import urlparse

    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        prefix = None
        if check_hash:
            prefix = name.rpartition("-")[2].partition(".")[0]
            if not prefix or set(prefix) - set("0123456789abcdef"):
                raise errors.ValueError(
                    f"load_state_dict_from_url: expected a name that ends with -<hash> for check_hash, got {name!r}"
                )
        download_url_to_file(url, path, prefix, progress)
    return _load_file(path, map_location)


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


def list(github, force_reload=False, skip_validation=False, trust_repo="check", verbose=True, *, source="github"):
    """The names of the functions in a folder's hubconf.py; source='local' or NotImplementedError."""
    module = _configuration("list", github, source)
    return [name for name, value in vars(module).items() if name[0] != "_" and callable(value)]


def help(github, model, force_reload=False, skip_validation=False, trust_repo="check", *, source="github"):
    """The docstring of a function in a folder's hubconf.py; source='local' or NotImplementedError."""
    return _entry("help", _configuration("help", github, source), model).__doc__


def load(
    repo_or_dir,
    model,
    *args,
    source="github",
    trust_repo="check",
    force_reload=False,
    verbose=True,
    skip_validation=False,
    **kwargs,
):
    """What a function in a folder's hubconf.py gives for these arguments: a model.

    NotImplementedError for another source than 'local'; ValueError where there is no hubconf.py.
    """
    return _entry("load", _configuration("load", repo_or_dir, source), model)(*args, **kwargs)
