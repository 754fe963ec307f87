"""Switches of products of matrices and of attention on CUDA devices.

Those of attention (such as `enable_flash_sdp`) keep what a program sets, and change nothing: Neura has one kernel.
"""

from contextlib import contextmanager

from .. import _neura
from .. import get_float32_matmul_precision, set_float32_matmul_precision

__all__ = [  # noqa: F822
    "cudnn_sdp_enabled",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "is_built",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "preferred_linalg_library",
    "sdp_kernel",
]


class _Matmul:
    @property
    def allow_tf32(self):
        """True if float32 matrix products may use TF32 (tensor cores); False by default."""
        return get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allow):
        set_float32_matmul_precision("high" if allow else "highest")


matmul = _Matmul()

_allowed = {"flash": True, "math": True, "mem_efficient": True, "cudnn": True}


def is_built():
    """True if CUDA can be used now."""
    return not _neura._cuda.why_not()


def is_flash_attention_available():
    """Always False: attention has a kernel of Neura's own."""
    return False


def preferred_linalg_library(backend=None):
    """Always 'default': the library for matrix decompositions cannot be chosen. ValueError for an unknown name."""
    if backend not in (None, "default", "cusolver", "magma"):
        raise ValueError(f"preferred_linalg_library: expected 'default', 'cusolver' or 'magma', got {backend!r}")
    return "default"


def _make(kind):
    def enabled():
        return _allowed[kind]

    def enable(enabled):
        _allowed[kind] = bool(enabled)

    for name, function, text in (
        (f"{kind}_sdp_enabled", enabled, f"What enable_{kind}_sdp was last told; True at first."),
        (f"enable_{kind}_sdp", enable, "Keeps the switch, and changes nothing."),
    ):
        function.__name__ = function.__qualname__ = name
        function.__doc__ = text
        globals()[name] = function


for _kind in _allowed:
    _make(_kind)


@contextmanager
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """These switches within a block; see neura.nn.attention.sdpa_kernel, the newer form."""
    before = dict(_allowed)
    _allowed.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield
    finally:
        _allowed.update(before)
