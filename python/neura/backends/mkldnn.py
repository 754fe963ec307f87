"""oneDNN, which PyTorch calls mkldnn. Neura chooses between it and its own kernels by itself."""

__all__ = ["is_available"]


def is_available():
    """Always False: its use cannot be requested; it is used where it is faster."""
    return False
