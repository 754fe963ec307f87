"""neura.optim: optimizers and, in `lr_scheduler`, learning rates over time."""

from .. import _lazy
from . import lr_scheduler
from .algorithms import ASGD, SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, NAdam, RAdam, RMSprop, Rprop
from .lbfgs import LBFGS
from .matrix import Adafactor, Muon
from .optimizer import Optimizer

__all__ = [
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "LBFGS",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "lr_scheduler",
    "swa_utils",
]
_lazy.files(
    __name__, "adadelta adafactor adagrad adam adamax adamw asgd nadam radam rmsprop rprop sgd", globals().__getitem__
)
__getattr__, __dir__ = _lazy.names(__name__, {"swa_utils": ""})
