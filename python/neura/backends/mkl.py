"""Intel's MKL, which Neura does not use: its matrix products are its own."""

__all__ = ["is_available"]


def is_available():
    """Does Neura use it? It does not."""
    return False
