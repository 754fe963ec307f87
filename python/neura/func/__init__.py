"""Functions of functions."""

from ..nn.utils.stateless import functional_call

__all__ = ["functional_call"]
