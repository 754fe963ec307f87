"""Which Neura this is, and which CUDA it was built with."""

from . import __version__ as __version__
from . import _neura

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "xpu"]

debug, git_version, hip, xpu = False, None, None, None
cuda = _neura._cuda.nvrtc_version() or None
