"""Files from the network: whole or not at all, compared with their hash, resumed where they broke off."""

import contextlib
import fcntl
import hashlib
import os
import sys
import tempfile

from .._neura import errors
from ..serialization import load as _load_file
from ._problems import HashError, OfflineError


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """Downloads a URL to the file dst, which appears complete or not at all.

    hash_prefix: how the SHA-256 of the content begins, else RuntimeError. progress: a progress bar, on a terminal.
    OSError where the URL cannot be read, or not to its end.
    """
    from urllib.request import Request, urlopen

    refuse_offline(url)
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
            if done < size:
                raise errors.IoError(f"{url}: expected {size} bytes, got {done}; the transfer broke off; try again")
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

    from . import get_dir

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


_BLOCK = 1 << 17
_TRIES = 4  # of a transfer that breaks off
_WAIT = 30  # seconds that a server may say nothing


def refuse_offline(url):
    """OfflineError where NEURA_OFFLINE says that nothing is to be fetched."""
    if os.environ.get("NEURA_OFFLINE", "0") not in ("", "0") and not url.startswith("file:"):
        raise OfflineError(f"{url}: expected it in the cache, as NEURA_OFFLINE is set; unset it to fetch the file once")


@contextlib.contextmanager
def locked(path):
    """One process at a time; the others wait."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def hash_of(path):
    """The SHA-256 of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def read_url(url, most):
    """The bytes at a URL; OfflineError where it cannot be read, HashError where there are more than `most`."""
    with opened(url) as answer:
        try:
            data = answer.read(most + 1)
        except OSError as e:
            raise OfflineError(f"{url}: expected an answer, got {_reason(e)}; try again") from None
    if len(data) > most:
        raise HashError(f"{url}: expected at most {most} bytes, got more")
    return data


@contextlib.contextmanager
def opened(url, start=0):
    """What a server answers, from byte `start` on if it can. OfflineError where there is no answer."""
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    refuse_offline(url)
    headers = {"User-Agent": "neura", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    try:
        answer = urlopen(Request(url, headers=headers), timeout=_WAIT)
    except HTTPError as e:
        e.close()
        raise OfflineError(
            f"{url}: expected the file, got {e.code} {e.reason}; is the address right?", e.code
        ) from None
    except (OSError, HTTPException, ValueError) as e:
        raise OfflineError(f"{url}: expected a server that answers, got {_reason(e)}; try again") from None
    with answer:
        if not answer.geturl().startswith(("http://", "https://")):
            raise OfflineError(f"{url}: expected an answer over http, got one from {answer.geturl()}")
        yield answer


def _reason(error):
    return str(getattr(error, "reason", "") or error or type(error).__name__)


def fetch(url, path, size, sha256, progress=None):
    """The file at a URL as `path`, of this size and hash; there it is complete or not at all.

    What came before a transfer broke off stays in path.partial, and the next call resumes it. Several processes
    may ask for the same file: one fetches, the others wait. progress(done, size) is called now and then. HashError for
    other bytes, of which nothing stays; OfflineError where the server does not answer.
    """
    with locked(path + ".lock"):
        if os.path.exists(path):
            return
        partial = path + ".partial"
        for attempt in range(_TRIES):
            try:
                _transfer(url, partial, size, progress)
                break
            except OfflineError as e:
                if attempt == _TRIES - 1 or e.code is not None or not os.path.exists(partial):
                    raise
        got = os.path.getsize(partial), hash_of(partial)
        if got != (size, sha256):
            os.unlink(partial)
            raise HashError(
                f"{url}: expected {size} bytes with the SHA-256 {sha256}, got {got[0]} with {got[1]}; nothing was kept"
            )
        with open(partial, "rb") as file:
            os.fsync(file.fileno())
        os.chmod(partial, 0o444)
        os.replace(partial, path)


def _transfer(url, partial, size, progress):
    from http.client import HTTPException

    have = os.path.getsize(partial) if os.path.exists(partial) else 0
    if have > size:
        os.unlink(partial)
        have = 0
    if have == size and have:
        return
    with opened(url, have) as answer:
        said = answer.headers.get("Content-Range", "").replace(" ", "")
        if have and not (answer.status == 206 and said.startswith(f"bytes{have}-")):
            have = 0  # a server that starts again
        with open(partial, "ab" if have else "wb") as file:
            try:
                while have <= size and (block := answer.read(_BLOCK)):
                    file.write(block[: size + 1 - have])  # one byte too many shows that the file is another
                    have += len(block)
                    if progress:
                        progress(min(have, size), size)
            except (OSError, HTTPException) as e:
                raise OfflineError(
                    f"{url}: expected {size} bytes, got {have}, and then {_reason(e)}; try again"
                ) from None
    if have < size:
        raise OfflineError(f"{url}: expected {size} bytes, got {have}; the transfer broke off; try again")
