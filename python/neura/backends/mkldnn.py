"""oneDNN, which PyTorch calls mkldnn. Neura chooses between it and its own kernels by itself."""

__all__ = ["is_available"]


def is_available():
    """Can operations be asked to use it? They cannot: where it is the faster one it is used."""
    return False
