"""The functions that layers call."""

from .._neura.functional import *  # noqa: F401,F403
from .._network import conv_tbc  # noqa: F401
from .distance import triplet_margin_with_distance_loss  # noqa: F401

# Of torch.overrides, where programs look for them too.
from ..overrides import handle_torch_function  # noqa: E402,F401
from ..overrides import has_torch_function, has_torch_function_unary, has_torch_function_variadic  # noqa: E402,F401
from . import _reduction as _Reduction  # noqa: E402,F401
