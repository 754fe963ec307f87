"""Variable, which every tensor has been since PyTorch 0.4."""

from .._neura import Tensor

__all__ = ["Variable"]


class _Kind(type):
    def __instancecheck__(cls, x):
        return isinstance(x, Tensor)

    def __call__(cls, data=None, requires_grad=False, volatile=None):
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable: expected a tensor, got {type(data).__name__}")
        result = data.detach()
        return result.requires_grad_() if requires_grad else result


class Variable(metaclass=_Kind):
    """Variable(tensor, requires_grad=False): a tensor over the same bytes, without history. Every tensor is one."""
