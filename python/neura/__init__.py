"""Neura: tensors, gradients and networks, with PyTorch's names and answers."""

import math as _math
import sys as _sys

from . import _lazy, _neura, _words
from ._neura import *  # noqa: F401,F403
from ._neura import Tensor, device, dtype, errors  # noqa: F401
from . import _methods, _signatures  # noqa: F401
from ._formats import channels_last, channels_last_3d, contiguous_format, preserve_format  # noqa: F401
from ._formats import layout, memory_format, strided  # noqa: F401
from ._formats import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr  # noqa: F401

for _name, _value in list(globals().items()):  # of the extension module: their public names are elsewhere
    if type(_value) is type(_math) and _value.__name__.startswith("neura._neura.") and _value is not errors:
        del globals()[_name]
del _name, _value

__version__ = "0.1.0"
OutOfMemoryError, AcceleratorError = errors.OutOfMemoryError, errors.CudaError
has_lapack, has_mkl, has_openmp, has_spectral = True, False, False, True  # of this library, by torch's words
bool = _neura.bool
pi, e, inf, nan = _math.pi, _math.e, _math.inf, _math.nan
newaxis = None
_sys.modules[__name__ + ".errors"] = errors  # where pickle looks for them

for _name, _value in vars(_neura).items():  # PyTorch's own, which programs call all the same
    if isinstance(_value, type(_neura.add)) and _name[0] == "_":
        globals()[_name] = _value
del _name, _value

_load, __dir__ = _lazy.names(
    __name__,
    {
        "_C": "",
        "_dynamo": "",
        "_functions": "_assert _check addmv_ clamp_ clip_ compiled_with_cxx11_abi cond detach_copy from_file "
        "get_deterministic_debug_mode get_device_module get_num_interop_threads index_put_ "
        "is_deterministic_algorithms_warn_only_enabled is_storage ldexp_ nan_to_num_ range round_ "
        "select_copy set_default_tensor_type set_deterministic_debug_mode set_flush_denormal "
        "set_num_interop_threads slice_copy split_copy square_ sym_float sym_int sym_ite sym_max "
        "sym_min sym_not sym_sqrt sym_sum typename unsafe_split_with_sizes view_as_complex_copy "
        "view_as_real_copy while_loop",
        "_legacy": " ".join(_words.kinds("Tensor")),
        "_limits": "finfo iinfo",
        "_lowrank": "lobpcg pca_lowrank svd_lowrank",
        "_network": "adaptive_max_pool1d alpha_dropout alpha_dropout_ batch_norm binary_cross_entropy_with_logits "
        "conv_tbc convolution cosine_embedding_loss ctc_loss dropout dropout_ embedding "
        "embedding_renorm_ feature_alpha_dropout feature_alpha_dropout_ feature_dropout "
        "feature_dropout_ frobenius_norm group_norm hinge_embedding_loss instance_norm kl_div "
        "layer_norm margin_ranking_loss native_dropout native_group_norm norm_except_dim "
        "poisson_nll_loss triplet_margin_loss",
        "_deprecated": "ccol_indices_copy col_indices_copy crow_indices_copy get_autocast_cpu_dtype "
        "get_autocast_gpu_dtype hsmm hspmm indices_copy is_autocast_cpu_enabled row_indices_copy saddmm "
        "set_anomaly_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_gpu_dtype "
        "smm sspaddmm to_dlpack values_copy",
        "_tensor_str": "",
        "_utils": "",
        "accelerator": "",
        "ao": "",
        "audio": "",
        "amp": "GradScaler",
        "amp.autocast_mode": "autocast autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache "
        "get_autocast_dtype is_autocast_cache_enabled is_autocast_enabled set_autocast_cache_enabled "
        "set_autocast_dtype set_autocast_enabled",
        "compiler": "compile",
        "cpu": "",
        "autograd": "",
        "autograd.grad_mode": "enable_grad inference_mode no_grad set_grad_enabled",
        "backends": "load_backend",
        "cuda": "",
        "data": "",
        "distributed": "",
        "distributions": "",
        "distributions._sampling": "binomial",
        "fft": "",
        "func": "",
        "func._vmap": "vmap",
        "graph": "",
        "functional": "",
        "hub": "",
        "jit": "",
        "library": "",
        "linalg": "",
        "masked": "",
        "models": "",
        "mps": "",
        "multiprocessing": "",
        "nested": "",
        "nn": "",
        "onnx": "",
        "ops": "",
        "overrides": "",
        "optim": "",
        "profiler": "",
        "quantization": "",
        "random": "",
        "return_types": "",
        "safetensors": "",
        "serialization": "load save",
        "signal": "",
        "storage": " ".join(["TypedStorage", *_words.kinds("Storage")]),
        "sparse": "sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor "
        "sparse_csr_tensor",
        "special": "",
        "testing": "",
        "text": "",
        "train": "",
        "types": "",
        "utils": "",
        "version": "",
        "xpu": "",
    },
)


def __getattr__(name):
    if name.startswith("_foreach_"):
        from . import _foreach

        return getattr(_foreach, name)
    return _load(name)


def is_tensor(obj):
    """True if the object is a neura.Tensor."""
    return isinstance(obj, Tensor)
