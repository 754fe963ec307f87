"""The package opt_einsum, which Neura does not use: einsum contracts from left to right."""

__all__ = ["is_available"]


def is_available():
    """Always False: Neura does not use it."""
    return False
