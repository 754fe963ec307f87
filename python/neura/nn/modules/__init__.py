"""The layers under the names of PyTorch's files: neura.nn.modules.conv.Conv2d is neura.nn.Conv2d."""

import sys

from ... import _lazy
from .. import hooks as _hooks

_FILES = (
    "activation adaptive batchnorm channelshuffle container conv distance dropout flatten fold instancenorm lazy "
    "linear loss module normalization padding pixelshuffle pooling rnn sparse transformer upsampling utils"
).split()


def _of_nn(name):
    value = None if name.startswith("__") else getattr(sys.modules["neura.nn"], name, None)
    if value is None and not name.startswith("__"):
        from .. import families

        value = getattr(families, name, None)
    if value is None:
        raise AttributeError(f"module 'neura.nn.modules' has no attribute {name!r}")
    return value


def __getattr__(name):
    return sys.modules[f"{__name__}.{name}"] if name in _FILES else _of_nn(name)


def __dir__():
    return sorted(name for name in dir(sys.modules["neura.nn"]) if name[0].isupper())


_lazy.files(__name__, " ".join(_FILES), _of_nn)
for _name in (
    "register_module_backward_hook register_module_forward_hook register_module_forward_pre_hook "
    "register_module_full_backward_hook register_module_full_backward_pre_hook"
).split():
    setattr(sys.modules[f"{__name__}.module"], _name, getattr(_hooks, _name))
del _name
