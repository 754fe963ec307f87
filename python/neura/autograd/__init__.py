"""Gradients: grad and backward, custom functions, hooks, the modes of recording, and checks of derivatives."""

from .. import _lazy, _neura
from .._neura import RemovableHandle  # noqa: F401
from .._neura import _grad as grad
from .._neura import is_anomaly_check_nan_enabled, is_anomaly_enabled  # noqa: F401
from . import grad_mode
from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from .gradcheck import GradcheckError, gradcheck, gradgradcheck  # now: one name is a module and its function

__all__ = [
    "Function",
    "Variable",
    "GradcheckError",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "once_differentiable",
    "profiler",
    "set_detect_anomaly",
    "set_grad_enabled",
]
__getattr__, __dir__ = _lazy.names(
    __name__,
    {
        "anomaly_mode": "detect_anomaly set_detect_anomaly",
        "function": "Function once_differentiable",
        "forward_ad": "",
        "functional": "",
        "graph": "",
        "profiler": "",
        "variable": "Variable",
    },
)


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Adds the gradients of tensors to the .grad of all leaves they came from, or of inputs alone.

    tensors: one or several. grad_tensors: one per tensor, None where it has one element. retain_graph keeps what
    another backward needs; create_graph makes the gradients differentiable. grad_variables is PyTorch's old name of
    grad_tensors. Raises AutogradError where nothing requires a gradient, ShapeError for a gradient of another shape.
    """
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError("backward: expected grad_tensors or grad_variables, got both; leave out grad_variables")
        grad_tensors = grad_variables
    _neura._backward(tensors, grad_tensors, retain_graph, create_graph, inputs)
