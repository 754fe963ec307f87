"""Libraries and devices that compute: which there are, and their switches."""

from . import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum
from .registered import device_types, forbid_host_fallback, host_fallbacks, load_backend, reset_host_fallbacks

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]
__all__ += ["device_types", "forbid_host_fallback", "host_fallbacks", "load_backend", "reset_host_fallbacks"]
