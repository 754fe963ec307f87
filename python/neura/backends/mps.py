"""Apple's GPUs, which Neura does not use."""

__all__ = ["is_available", "is_built", "is_macos_or_newer", "is_macos13_or_newer"]


def is_built():
    """Always False: Neura is not built for Apple's GPUs."""
    return False


def is_available():
    """Always False: tensors cannot be put on Apple's GPUs."""
    return False


def is_macos_or_newer(major, minor):
    """True on macOS of at least that version."""
    import platform

    version = platform.mac_ver()[0]
    return bool(version) and tuple(map(int, version.split(".")[:2])) >= (major, minor)


def is_macos13_or_newer(minor=0):
    """True on macOS 13 or newer."""
    return is_macos_or_newer(13, minor)
