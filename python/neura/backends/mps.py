"""Apple's GPUs, which Neura does not use."""

__all__ = ["is_available", "is_built", "is_macos_or_newer", "is_macos13_or_newer"]


def is_built():
    """Was Neura built for these GPUs? It never is."""
    return False


def is_available():
    """Can tensors be put on such a GPU? They cannot."""
    return False


def is_macos_or_newer(major, minor):
    """Is this macOS of at least that version?"""
    import platform

    version = platform.mac_ver()[0]
    return bool(version) and tuple(map(int, version.split(".")[:2])) >= (major, minor)


def is_macos13_or_newer(minor=0):
    """Is this macOS 13 or newer?"""
    return is_macos_or_newer(13, minor)
