"""Gradients: grad, backward, and the modes of recording."""

from .._neura import _backward as backward
from .._neura import _grad as grad
from .mode import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["backward", "enable_grad", "grad", "inference_mode", "no_grad", "set_grad_enabled"]
