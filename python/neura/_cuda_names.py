"""Names of torch.cuda that are synonyms of functions of neura.cuda and neura.random."""

from . import _neura
from .random import get_rng_state as _state
from .random import initial_seed
from .random import seed as _seed
from .random import set_rng_state as _set_state

__all__ = [
    "AcceleratorError",
    "OutOfMemoryError",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_tf32_supported",
    "reset_max_memory_allocated",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]

AcceleratorError, OutOfMemoryError = _neura.errors.CudaError, _neura.errors.OutOfMemoryError


def get_rng_state(device="cuda"):
    """neura.get_rng_state(): one generator serves all devices."""
    return _state()


def get_rng_state_all():
    """get_rng_state() for each device."""
    from . import cuda

    return [_state() for _ in range(cuda.device_count())]


def set_rng_state(new_state, device="cuda"):
    """Sets the state of the one generator, which serves all devices."""
    _set_state(new_state)


def set_rng_state_all(new_states):
    """set_rng_state for each; one generator serves all devices, so the last state counts."""
    for state in new_states:
        _set_state(state)


def seed():
    """Seeds the generator, which serves all devices, with a random number; does nothing without a CUDA device."""
    from . import cuda

    if cuda.is_available():
        _seed()


seed_all = seed


def init():
    """Loads the back end. Raises DeviceError where it cannot be used."""
    from . import cuda

    _neura._cuda.info(cuda._device())


def is_tf32_supported():
    """True if the first device supports TF32: from compute capability 8.0."""
    from . import cuda

    return cuda.is_available() and cuda.get_device_capability() >= (8, 0)


def ipc_collect():
    """Does nothing: memory is not shared between processes."""


def reset_max_memory_allocated(device=None):
    """The same as reset_peak_memory_stats."""
    from . import cuda

    cuda.reset_peak_memory_stats(device)
