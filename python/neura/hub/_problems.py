"""What can be wrong with a model of the hub."""

from .._neura import errors


class ManifestError(errors.FormatError):
    """A model's folder is not as its manifest says, or the manifest is none."""


class HashError(errors.FormatError):
    """A file has other bytes than were promised."""


class NotFoundError(errors.IoError):
    """There is no model of that name, or no folder at that place."""


class OfflineError(errors.IoError):
    """Something is not in the cache, and cannot be fetched. code: of the server's answer, if it gave one."""

    def __init__(self, text, code=None):
        super().__init__(text)
        self.code = code
