"""neura.optim: optimizers and, in `lr_scheduler`, learning rates over time."""

from .. import _lazy
from . import lr_scheduler
from .algorithms import _CLASSES
from .lbfgs import LBFGS
from .optimizer import Optimizer
from .sparse_adam import SparseAdam

globals().update(_CLASSES)
__all__ = ["LBFGS", "Optimizer", "SparseAdam", "lr_scheduler", "swa_utils", *_CLASSES]
__all__.sort()
_lazy.files(__name__, " ".join(map(str.lower, _CLASSES)), globals().__getitem__)
__getattr__, __dir__ = _lazy.names(__name__, {"swa_utils": ""})
