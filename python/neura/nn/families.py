"""What layers have in common: the classes that PyTorch's layers derive from, such as _BatchNorm and _ConvNd.

`isinstance(layer, nn.modules.batchnorm._BatchNorm)` is true of the layers that C++ makes, too. `_BatchNorm`,
`_Loss` and `_WeightedLoss` can be derived from; the others only answer isinstance and issubclass.
"""

import sys

from .. import _neura
from .._neura import errors
from ._reduction import get_enum, legacy_get_string
from .classes import NormMethods
from .module import Module, Parameter
from .state import _IncompatibleKeys  # noqa: F401  found here by nn.modules.module

_shape_t = (int, list, _neura.Size)

_N = ("1d", "2d", "3d")
_MEMBERS = {
    "_BatchNorm": [f"BatchNorm{n}" for n in _N],
    "_InstanceNorm": [f"InstanceNorm{n}" for n in _N],
    "_ConvNd": [f"{kind}{n}" for kind in ("Conv", "ConvTranspose") for n in _N],
    "_ConvTransposeNd": [f"ConvTranspose{n}" for n in _N],
    "_DropoutNd": "Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout".split(),
    "_MaxPoolNd": [f"MaxPool{n}" for n in _N],
    "_MaxUnpoolNd": [f"MaxUnpool{n}" for n in _N],
    "_AvgPoolNd": [f"AvgPool{n}" for n in _N],
    "_LPPoolNd": [f"LPPool{n}" for n in _N],
    "_AdaptiveMaxPoolNd": [f"AdaptiveMaxPool{n}" for n in _N],
    "_AdaptiveAvgPoolNd": [f"AdaptiveAvgPool{n}" for n in _N],
    "_ConstantPadNd": [f"{kind}Pad{n}" for kind in ("Constant", "Zero") for n in _N],
    "_ReflectionPadNd": [f"ReflectionPad{n}" for n in _N],
    "_ReplicationPadNd": [f"ReplicationPad{n}" for n in _N],
    "_CircularPadNd": [f"CircularPad{n}" for n in _N],
    "RNNCellBase": "RNNCell GRUCell LSTMCell".split(),
    "_WeightedLoss": "NLLLoss BCELoss CrossEntropyLoss MultiLabelSoftMarginLoss MultiMarginLoss".split(),
}
_MEMBERS["_NormBase"] = _MEMBERS["_BatchNorm"] + _MEMBERS["_InstanceNorm"]
_MEMBERS["_Loss"] = [name for name in dir(sys.modules["neura.nn"]) if name.endswith("Loss") and name[:8] != "Adaptive"]


class _Family(type):
    """The class of these classes."""

    def __subclasscheck__(cls, kind):
        if super().__subclasscheck__(kind):
            return True
        nn = sys.modules["neura.nn"]
        known = tuple(getattr(nn, name) for name in _MEMBERS.get(cls.__name__, ()) if cls.__module__ == __name__)
        return issubclass(kind, known)

    def __instancecheck__(cls, x):
        return issubclass(type(x), cls)


class _OnlyAsked(Module, metaclass=_Family):
    def __init__(self, *args, **kwargs):
        raise errors.NotImplementedError(
            f"{type(self).__name__}: expected a layer such as {_MEMBERS[type(self).__name__][0]}; its base class is "
            "there for isinstance alone"
        )


class _Loss(Module, metaclass=_Family):
    """A loss: .reduction is 'none', 'mean' or 'sum'. size_average and reduce are PyTorch's older words for it."""

    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = legacy_get_string(size_average, reduce)
        get_enum(reduction)
        self.reduction = reduction


class _WeightedLoss(_Loss):
    """A loss with weights of the classes: .weight is a buffer, or None."""

    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class _NormBase(NormMethods, Module, metaclass=_Family):
    """Weight, bias and running statistics of num_features channels."""

    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        options = {"device": device, "dtype": dtype}
        for name in ("weight", "bias"):
            self.register_parameter(name, Parameter(_neura.empty(num_features, **options)) if affine else None)
        kept = track_running_stats
        self.register_buffer("running_mean", _neura.zeros(num_features, **options) if kept else None)
        self.register_buffer("running_var", _neura.ones(num_features, **options) if kept else None)
        count = _neura.tensor(0, dtype=_neura.int64, device=device) if kept else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self):
        """Mean 0, variance 1, no batches."""
        if self.track_running_stats:
            self.running_mean.zero_(), self.running_var.fill_(1), self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """Weights 1, biases 0, and initial running statistics."""
        self.reset_running_stats()
        if self.affine:
            self.weight.detach().fill_(1), self.bias.detach().zero_()

    def _check_input_dim(self, input):
        """Raises if input does not have the dimensions that this layer takes."""
        raise NotImplementedError(f"{type(self).__name__}: expected the class to define _check_input_dim")

    def extra_repr(self):
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_NormBase):
    """Normalises each channel over all other dimensions. A class of your own defines _check_input_dim(input)."""

    def forward(self, input):
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the plain average of all batches
                factor = 1.0 / float(self.num_batches_tracked)
        batch = self.training or self.running_mean is None
        running = (
            (None, None)
            if self.training and not self.track_running_stats
            else (
                self.running_mean,
                self.running_var,
            )
        )
        return _neura.functional.batch_norm(input, *running, self.weight, self.bias, batch, factor, self.eps)


class SyncBatchNorm(_BatchNorm):
    """BatchNorm of a batch distributed over processes; with a single process the same as BatchNorm.

    Inputs [batch, num_features, ...]. process_group: None, or NotImplementedError. `convert_sync_batchnorm` changes the
    layers of a network.

    >>> net = neura.nn.Sequential(neura.nn.Conv2d(3, 4, 3), neura.nn.BatchNorm2d(4))
    >>> neura.nn.SyncBatchNorm.convert_sync_batchnorm(net)[1]
    SyncBatchNorm(4, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
    """

    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        process_group=None,
        device=None,
        dtype=None,
    ):
        if process_group is not None:
            raise errors.NotImplementedError("SyncBatchNorm: expected no process_group; there is one process")
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)
        self.process_group = None

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise errors.ValueError(
                f"SyncBatchNorm: expected an input of at least 2 dimensions, got {list(input.shape)}"
            )

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """The network with a SyncBatchNorm of the same tensors in the place of each BatchNorm."""
        if isinstance(module, _BatchNorm) and not isinstance(module, SyncBatchNorm):
            new = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
            )
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
                setattr(new, name, getattr(module, name))
            return new.train(module.training)
        for name, child in list(module.named_children()):
            new = cls.convert_sync_batchnorm(child, process_group)
            if new is not child:
                module._modules[name] = new
        return module


def _addindent(s_, numSpaces):
    """The text with all lines but the first moved to the right."""
    return s_.replace("\n", "\n" + " " * numSpaces)


def _get_clones(module, N):
    """A ModuleList of N copies."""
    import copy

    return sys.modules["neura.nn"].ModuleList([copy.deepcopy(module) for _ in range(N)])


def _get_activation_fn(activation):
    """The function called 'relu' or 'gelu'."""
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation: expected 'relu' or 'gelu', got {activation!r}")
    return getattr(_neura, activation) if activation == "relu" else _neura.functional.gelu


def _repeated(n):
    def ntuple(x):
        return tuple(x) if hasattr(x, "__iter__") else (x,) * n

    return ntuple


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Strips the prefix from the keys of a state dict, in place: "module.", which DataParallel adds.

    >>> from neura.nn.modules.utils import consume_prefix_in_state_dict_if_present
    >>> state = {"module.weight": neura.ones(1), "epoch": neura.zeros(1)}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> list(state)
    ['epoch', 'weight']
    """
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", {})
    for key in [key for key in metadata if key == prefix.rstrip(".") or key.startswith(prefix)]:
        found = metadata.pop(key)
        if key:  # that of the whole is there once, under ""
            metadata[key[len(prefix) :]] = found


_single, _pair, _triple, _quadruple, _ntuple = _repeated(1), _repeated(2), _repeated(3), _repeated(4), _repeated

for _name in _MEMBERS:
    if _name not in globals():
        globals()[_name] = _Family(
            _name, (_OnlyAsked,), {"__module__": __name__, "__doc__": f"Of {_MEMBERS[_name][0]}."}
        )
del _name
