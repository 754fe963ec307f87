"""Intel's GPUs, which Neura does not use."""

from .mps import device_count, empty_cache, is_available, manual_seed

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "manual_seed_all"]

manual_seed_all = manual_seed
