"""Convolutions and normalisations that take their number of channels from the first input."""

from .._neura import nn as _nn
from .lazy import LazyModuleMixin, UninitializedBuffer, UninitializedParameter, _LazyWeights


def _channels(module, input, rank):
    if input.dim() not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"{type(module).__name__}: expected an input of {rank + 1} or {rank + 2} dimensions, "
            f"got {list(input.shape)}"
        )
    return input.shape[-rank - 1]


class _LazyConv(_LazyWeights):
    """in_channels is the number of channels of the first input."""

    def initialize_parameters(self, input):
        if not self.has_uninitialized_params():
            return
        n, groups = _channels(self, input, len(self.kernel_size)), self.groups
        if n % groups:
            raise ValueError(f"{type(self).__name__}: expected in_channels divisible by groups, got {n} and {groups}")
        self.in_channels = n
        self.weight.materialize((*self._first_sizes(n, groups), *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class _Forward(_LazyConv):
    def _first_sizes(self, n, groups):
        return self.out_channels, n // groups

    def __init__(
        self,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias=True,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode)
        self._make_lazy(bias, device, dtype)
        self.out_channels = out_channels


class _Transposed(_LazyConv):
    def _first_sizes(self, n, groups):
        return n, self.out_channels // groups

    def __init__(
        self,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        bias=True,
        dilation=1,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode)
        self._make_lazy(bias, device, dtype)
        self.out_channels = out_channels


class _LazyNorm(LazyModuleMixin):
    """num_features is the number of channels of the first input."""

    def __init__(self, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None):
        super().__init__(0, eps, momentum, affine, track_running_stats, device, dtype)
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)

    def reset_parameters(self):
        """Draws the parameters again, once they are there."""
        if not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input):
        if self.has_uninitialized_params():
            self.num_features = _channels(self, input, self.rank) if input.dim() > 2 else input.shape[1]
            for tensor in (self.weight, self.bias, self.running_mean, self.running_var):
                if tensor is not None:
                    tensor.materialize((self.num_features,))
            self.reset_parameters()


def _make(name, mixin, note, **body):
    base = getattr(_nn, name)
    doc = f"A {name} whose {note} is the number of channels of the first input; a {name} from then on."
    body = {"cls_to_become": base, "__doc__": doc, "__module__": "neura.nn", **body}
    return type(f"Lazy{name}", (mixin, base), body)


LazyConv1d, LazyConv2d, LazyConv3d = (_make(f"Conv{r}d", _Forward, "in_channels") for r in (1, 2, 3))
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = (
    _make(f"ConvTranspose{r}d", _Transposed, "in_channels") for r in (1, 2, 3)
)
LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = (
    _make(f"BatchNorm{r}d", _LazyNorm, "num_features", rank=r) for r in (1, 2, 3)
)
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = (
    _make(f"InstanceNorm{r}d", _LazyNorm, "num_features", rank=r) for r in (1, 2, 3)
)
