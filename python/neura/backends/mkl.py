"""Intel's MKL, which Neura does not use: its matrix products are its own."""

__all__ = ["is_available"]


def is_available():
    """Always False: Neura does not use it."""
    return False
