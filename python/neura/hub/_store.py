"""Where models come from, and the cache: folders that are complete and were compared with their hashes."""

import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from urllib.parse import quote, unquote, urlsplit

from .._neura import errors
from . import _manifest as form
from ._fetch import fetch, hash_of, locked, read_url
from ._package import Package
from ._problems import HashError, ManifestError, NotFoundError, OfflineError

_BARE = re.compile(r"([a-z0-9][a-z0-9._-]{0,63})(?:@([0-9.]+))?")


def is_url(source):
    """Is it to be fetched?"""
    return source.startswith(("http://", "https://"))


def local(source):
    """The folder that a path or a file:// names."""
    if source.startswith("file://"):
        parts = urlsplit(source)
        if parts.netloc not in ("", "localhost"):
            raise errors.ValueError(f"hub: expected a file:// of this machine, got {source!r}")
        source = unquote(parts.path)
    return os.path.abspath(os.path.expanduser(source))


def is_place(source):
    """A folder, a URL or the bare name of a model, and not the name of a repository elsewhere, owner/name."""
    text = os.fspath(source)
    known = is_url(text) or text.startswith(("file://", "/", "./", "../", "~")) or os.path.isdir(text)
    return known or "/" not in text


def default_index():
    """What NEURA_HUB says: a folder or URL with an index. ValueError where it says nothing."""
    place = os.environ.get("NEURA_HUB", "").strip()
    if not place:
        raise errors.ValueError(
            "hub: expected a folder or URL, or an index in the environment variable NEURA_HUB, got neither"
        )
    return place


def cache(*parts):
    """A path in the cache."""
    from . import get_dir

    return os.path.join(get_dir(), *parts)


def _key(text):
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    handle, name = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".new-")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    os.replace(name, path)


def _base(url):
    url = url[: -len(form.INDEX)] if url.endswith("/" + form.INDEX) else url
    return url.rstrip("/") + "/"


def index(source=None, refresh=True):
    """The entries of an index: dicts with name, version, task, licence, bytes, summary and others.

    source (str): a folder or a URL with an index.json; by default what NEURA_HUB says. Without refresh, an index that
    was fetched before is taken from the cache. NotFoundError where there is none, ManifestError for a broken one,
    OfflineError where the server does not answer and it was never fetched.
    """
    source = default_index() if source is None else os.fspath(source)
    if not is_url(source):
        folder = local(source)
        folder = os.path.dirname(folder) if folder.endswith(form.INDEX) else folder
        path = os.path.join(folder, form.INDEX)
        if not os.path.isfile(path):
            raise NotFoundError(f"{folder}: expected an {form.INDEX}, got none; neura hub index makes one")
        return form.parsed(form.read_file(folder, form.INDEX, form.MOST_INDEX), path, form.index_problem)["models"]
    url, kept = _base(source) + form.INDEX, cache("indexes", _key(_base(source)) + ".json")
    if refresh or not os.path.exists(kept):
        try:
            data = read_url(url, form.MOST_INDEX)
            entries = form.parsed(data, url, form.index_problem)["models"]
            _write(kept, data)
            return entries
        except OfflineError:
            if not os.path.exists(kept):
                raise
    with open(kept, "rb") as file:
        return form.parsed(file.read(), kept, form.index_problem)["models"]


def choose(entries, name, version, where):
    """The newest entry of this name, or the one of this version; NotFoundError where there is none."""
    named = [e for e in entries if e["name"] == name]
    found = [e for e in named if version in (None, e["version"])]
    if found:
        return max(found, key=lambda e: form.version_key(e["version"]))
    if named:
        have = ", ".join(sorted((e["version"] for e in named), key=form.version_key))
        raise NotFoundError(f"{where}: expected {name} {version}, got {have}; choose one of these")
    names = sorted({e["name"] for e in entries})
    have = ", ".join(names[:8]) + (", …" if len(names) > 8 else "") or "none"
    raise NotFoundError(f"{where}: expected a model {name!r}, got {have}; neura hub list shows all")


def snapshot(name, version, sha256):
    """The folder of a complete model in the cache."""
    return cache("models", name, f"{version}-{sha256[:16]}")


def get(source, model=None, version=None, *, refresh=False, progress=True, check=True):
    """A model's folder, as a Package; fetched first if it has to be.

    source (str or path): a folder, file:// or http(s):// of a model or of an index of many; or a model's name,
    "name@version", of the index that NEURA_HUB names. model (str): which one of an index, "name" or "name@version".
    version (str): by default the newest. What is in the cache is taken from there, without asking the server, unless
    refresh is given, which also fetches again what is damaged there. progress: show on a terminal how much has come.
    check: compare all files with their hashes (of http(s) sources that is always done when they come).

    NotFoundError for a model that is not there; OfflineError where it has to be fetched and cannot be; HashError for
    other bytes than promised; ManifestError for a folder that is not as it should be.
    """
    source = os.fspath(source)
    if bare := _BARE.fullmatch(source):
        if model is None and not os.path.isdir(source):
            source, model, version = default_index(), bare[1], version or bare[2]
    if model is not None and "@" in model:
        model, _, version = model.partition("@")
    if is_url(source):
        found = _of_url(source, model, version, refresh, progress)
    else:
        found = Package(_local_folder(source, model, version))
    if check and found.manifest is not None:
        found.check()
    return found


def _local_folder(source, model, version):
    folder = local(source)
    if not os.path.isdir(folder):
        raise NotFoundError(f"hub: expected a folder, got {folder!r}, which is none")
    if model is None:
        if not any(os.path.isfile(os.path.join(folder, name)) for name in (form.MANIFEST, form.CONFIG)):
            hint = "; name one of its models" if os.path.isfile(os.path.join(folder, form.INDEX)) else ""
            raise NotFoundError(f"{folder}: expected a model's folder with {form.MANIFEST} or {form.CONFIG}{hint}")
        return folder
    entry = choose(index(folder), model, version, folder)
    found = os.path.join(folder, *entry["path"].split("/"))
    data = _bytes(found)
    if hashlib.sha256(data).hexdigest() != entry["manifest"]:
        raise HashError(f"{found}: expected the manifest of the index, got another; neura hub index makes it again")
    return found


def _bytes(folder):
    try:
        return form.read_file(folder, form.MANIFEST, form.MOST_MANIFEST)
    except OSError as e:
        raise NotFoundError(f"{folder}: expected a {form.MANIFEST}, got {e.strerror}") from None


def _of_url(source, model, version, refresh, progress):
    pointer = cache("sources", _key(_base(source) if model is None else f"{_base(source)} {model} {version}") + ".json")
    if not refresh and (kept := _kept(pointer)):
        return Package(kept)
    try:
        if model is None:
            base, sha256 = _base(source), None
        else:
            entry = choose(index(source), model, version, source)
            base, sha256 = _base(source) + quote(entry["path"]) + "/", entry["manifest"]
            found = snapshot(entry["name"], entry["version"], sha256)
            if _is_intact(found, sha256) if refresh else os.path.isdir(found):
                _write(pointer, json.dumps([entry["name"], entry["version"], sha256]).encode())
                return Package(found)
        data = read_url(base + form.MANIFEST, form.MOST_MANIFEST)
    except OfflineError:
        if kept := _kept(pointer):
            return Package(kept)
        raise
    got = hashlib.sha256(data).hexdigest()
    if sha256 not in (None, got):
        raise HashError(f"{base}{form.MANIFEST}: expected the SHA-256 {sha256} of the index, got {got}")
    manifest = form.parsed(data, base + form.MANIFEST, form.problem_of)
    if model is not None and (manifest["name"], manifest["version"]) != (entry["name"], entry["version"]):
        raise ManifestError(f"{base}: expected {entry['name']} {entry['version']}, got {manifest['name']}'s manifest")
    if refresh:
        _drop_damaged(manifest, got)
    folder = _complete(base, manifest, data, got, progress)
    _write(pointer, json.dumps([manifest["name"], manifest["version"], got]).encode())
    return Package(folder)


def _kept(pointer):
    try:
        with open(pointer, encoding="utf-8") as file:
            name, version, sha256 = json.load(file)
        folder = snapshot(name, version, sha256)
    except (OSError, ValueError, TypeError):
        return None
    return folder if os.path.isdir(folder) else None


def _is_intact(folder, sha256):
    """Are a folder of the cache and its manifest, of that hash, as they came?"""
    try:
        return hash_of(os.path.join(folder, form.MANIFEST)) == sha256 and Package(folder).check() is not None
    except (OSError, HashError, ManifestError):
        return False


def _drop_damaged(manifest, sha256):
    """Takes out of the cache what is no longer as it came, so that it is fetched again."""
    for facts in manifest["files"].values():
        blob = cache("blobs", facts["sha256"])
        with locked(blob + ".lock"):
            if os.path.exists(blob) and hash_of(blob) != facts["sha256"]:
                os.unlink(blob)
    folder = snapshot(manifest["name"], manifest["version"], sha256)
    with locked(folder + ".lock"):
        if not _is_intact(folder, sha256):
            shutil.rmtree(folder, ignore_errors=True)


def _complete(base, manifest, data, sha256, progress):
    """Fetches what is missing; the folder appears by one rename, when all of it is there."""
    folder = snapshot(manifest["name"], manifest["version"], sha256)
    total, before = sum(f["bytes"] for f in manifest["files"].values()), 0
    shown = Shown(f"{manifest['name']} {manifest['version']}", total) if progress else None
    for name, facts in sorted(manifest["files"].items()):
        blob = cache("blobs", facts["sha256"])
        tell = shown and (lambda done, _, at=before: shown(at + done))
        fetch(base + quote(name), blob, facts["bytes"], facts["sha256"], tell)
        before += facts["bytes"]
    if shown:
        shown.end()
    with locked(folder + ".lock"):
        if os.path.isdir(folder):
            return folder
        made = tempfile.mkdtemp(dir=os.path.dirname(folder), prefix=".new-")
        try:
            for name, facts in manifest["files"].items():
                path = os.path.join(made, *name.split("/"))
                os.makedirs(os.path.dirname(path), exist_ok=True)
                _share(cache("blobs", facts["sha256"]), path)
            _write(os.path.join(made, form.MANIFEST), data)
            os.rename(made, folder)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
    return folder


def _share(blob, path):
    try:
        os.link(blob, path)
    except OSError:  # a file system without links
        shutil.copyfile(blob, path)


class Shown:
    """A line about a transfer, on a terminal."""

    def __init__(self, name, total):
        self.name, self.total, self.last = name, total, -1
        self.terminal = sys.stderr.isatty()

    def __call__(self, done):
        part = 100 * done // max(self.total, 1)
        if self.terminal and part != self.last:
            self.last = part
            print(f"\r{self.name}: {part:3d} % of {size_text(self.total)}", end="", file=sys.stderr, flush=True)

    def end(self):
        if self.terminal and self.last >= 0:
            print(file=sys.stderr)


def size_text(count):
    """A number of bytes as text: 1.5 MB."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"
