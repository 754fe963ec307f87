"""Function transforms: vmap, derivatives, calls with other parameters."""

from ..nn.utils.stateless import functional_call
from ._forward import hessian, jacfwd, jvp, linearize
from ._modules import debug_unwrap, functionalize, replace_all_batch_norm_modules_, stack_module_state
from ._reverse import grad, grad_and_value, jacrev, vjp
from ._vmap import vmap

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
