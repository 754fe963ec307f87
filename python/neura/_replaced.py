"""Files that are written whole or not at all."""

import contextlib
import os

from ._neura import errors


@contextlib.contextmanager
def naming(path):
    """An OSError of this file becomes an IoError, which is an OSError too, that names it and keeps the reason."""
    try:
        yield
    except errors.IoError:
        raise
    except OSError as error:
        if error.filename is not None and not os.fspath(error.filename).startswith(os.fspath(path)):
            raise  # of another file, that was read meanwhile
        raise errors.IoError(f'cannot write "{os.fspath(path)}": {error.strerror or error}') from error


@contextlib.contextmanager
def replaced(path, mode="wb"):
    """A file to write. After the block, `path` holds what was written or, if anything went wrong, what it held before:
    the file is written under another name, synced and renamed. IoError, with the path, where the system refuses."""
    temporary = f"{os.fspath(path)}.tmp-{os.getpid()}"
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    with naming(path):
        try:
            with open(temporary, mode, **text) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.remove(temporary)
            raise
