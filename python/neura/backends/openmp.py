"""OpenMP, which Neura does not use: it has a thread pool of its own."""

__all__ = ["is_available"]


def is_available():
    """Always False: Neura does not use it."""
    return False
