"""Gradients and parameters of whole networks: clipping, flattening. Parametrizations, and calls with other tensors."""

from ..._neura.utils import *  # noqa: F401,F403
from . import parametrizations, parametrize, stateless  # noqa: F401
