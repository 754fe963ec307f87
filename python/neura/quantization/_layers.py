"""Layers whose weights are integers."""

from .. import _neura
from .._neura import errors
from ..autograd.grad_mode import no_grad
from ..nn import Module, functional
from ._parameters import check_finite, rows_quantized

__all__ = ["Conv2d", "DynamicLinear", "Linear", "WeightOnlyLinear"]


def _bias_steps(bias, scale):
    """(a bias in steps of the sums, as int32; what they cannot say of it, float32, or None): of small steps more would
    be needed than there are."""
    steps = (bias.double() / scale.double()).round()
    fits = steps.abs() <= 2.0**30
    rest = None if bool(fits.all()) else bias.masked_fill(fits, 0.0)
    return steps.masked_fill(~fits, 0.0).to(_neura.int32), rest


class _Quantized(Module):
    """int8 weights [out, ..] with a scale for each row; x is put on a grid of uint8, and what comes out is float32."""

    def __init__(self, weight, weight_scale, bias, relu=False):
        super().__init__()
        self.register_buffer("weight", weight)
        self.register_buffer("weight_scale", weight_scale)
        self.register_buffer("bias", bias)
        self.relu, self._packed = relu, None

    def _load_from_state_dict(self, *arguments):
        super()._load_from_state_dict(*arguments)
        self._forget()

    def _apply(self, *arguments, **named):
        out = super()._apply(*arguments, **named)
        self._forget()
        return out

    def __getstate__(self):
        state = super().__getstate__() if hasattr(super(), "__getstate__") else self.__dict__
        return {**state, "_packed": None}

    def _forget(self):
        """What is derived from the buffers is made again when it is needed."""
        self._packed = None

    def float_weight(self):
        """The weight that the integers stand for."""
        return _neura.dequantize_affine(self.weight, self.weight_scale, axis=0)

    def extra_repr(self):
        """Its sizes."""
        return f"weight={list(self.weight.shape)}, relu={self.relu}"


class _Static(_Quantized):
    """With a scale and a zero point of the input that were chosen beforehand."""

    def __init__(self, weight, weight_scale, bias, scale, zero_point, quant_min, quant_max, relu=False):
        super().__init__(weight, weight_scale, bias, relu)
        self.register_buffer("scale", scale)
        self.register_buffer("zero_point", zero_point)
        self.quant_min, self.quant_max = quant_min, quant_max

    def derived(self):
        """(scale of the sums, what is to be taken from them, the packed weight, the zero point, what is added to the
        floats [out] or None); made once.

        What is taken away: the zero point's share, less the bias.
        """
        if self._packed is None:
            scale = self.weight_scale * self.scale
            offset = self.weight.flatten(1).sum(1).to(_neura.int32) * self.zero_point
            rest = None
            if self.bias is not None:
                steps, rest = _bias_steps(self.bias, scale)
                offset = offset - steps
            self._packed = (scale, offset.to(_neura.int32), self._pack(), int(self.zero_point), rest)
        return self._packed

    def _pack(self):
        return None

    def _bytes(self, x):
        return _neura.quantize_affine(
            x, self.scale, self.zero_point, self.quant_min, self.quant_max, dtype=_neura.uint8
        )

    def _float(self, sums, axis):
        y = _neura.dequantize_affine(sums, self._packed[0], self._packed[1], axis=axis)
        rest = self._packed[4]
        if rest is not None:
            y += rest.reshape(-1, *[1] * (y.dim() - 1 - axis))
        return y.relu_() if self.relu else y


class Linear(_Static):
    """A Linear of int8 weights [out, in]: exact int32 sums, then float32 [.., out]. Made by convert()."""

    def _pack(self):
        return _neura.integer_pack(self.weight.t())

    def forward(self, x):
        """x [.., in] -> [.., out]."""
        with no_grad():
            packed = self.derived()[2]
            rows = self._bytes(x).reshape(-1, x.shape[-1])
            sums = _neura.integer_matmul(rows, self.weight.t(), packed)
            return self._float(sums, 1).reshape(*x.shape[:-1], -1)


class Conv2d(_Static):
    """A Conv2d of int8 weights [out, in / groups, h, w]: exact int32 sums, then float32. Made by convert()."""

    def __init__(self, *arguments, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, **named):
        super().__init__(*arguments, **named)
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups

    def _sizes(self, x):
        window = zip(x.shape[2:], self.padding, self.dilation, self.weight.shape[2:], self.stride)
        return [(size + 2 * p - d * (k - 1) - 1) // s + 1 for size, p, d, k, s in window]

    def forward(self, x):
        """x [n, in, h, w] (or without n) -> [n, out, h', w']."""
        if x.dim() == 3:
            return self.forward(x.unsqueeze(0)).squeeze(0)
        with no_grad():
            zero = self.derived()[3]
            q = self._bytes(x)
            if any(self.padding):
                h, w = self.padding
                q = functional.pad(q, (w, w, h, h), value=zero)
            out = self.weight.shape[0]
            patches = functional.unfold(q, tuple(self.weight.shape[2:]), self.dilation, 0, self.stride)
            weight = self.weight.reshape(self.groups, out // self.groups, -1)
            patches = patches.reshape(x.shape[0], self.groups, -1, patches.shape[-1])
            sums = _neura.integer_matmul(weight, patches).reshape(x.shape[0], out, -1)
            return self._float(sums, 1).reshape(x.shape[0], out, *self._sizes(x))


class DynamicLinear(_Quantized):
    """A Linear of int8 weights; the grid of the input is chosen for each x, by its range. See quantize_dynamic."""

    def forward(self, x):
        """x [.., in] -> [.., out]."""
        with no_grad():
            if not x.numel():
                return x.new_zeros(*x.shape[:-1], self.weight.shape[0])
            if self._packed is None:
                self._packed = self.weight.sum(1).to(_neura.int32), _neura.integer_pack(self.weight.t())
            low, high = (float(v) for v in _neura.aminmax(x))
            check_finite("DynamicLinear", low, high)
            low, high = min(low, 0.0), max(high, 0.0)
            step = max((high - low) / 255, 2.0**-23)
            zero_point = min(max(-round(low / step), 0), 255)
            scale, zero = _neura.tensor([step], device=x.device), _neura.tensor([zero_point], dtype=_neura.int32)
            q = _neura.quantize_affine(x.reshape(-1, x.shape[-1]), scale, zero, dtype=_neura.uint8)
            sums = _neura.integer_matmul(q, self.weight.t(), self._packed[1])
            y = _neura.dequantize_affine(sums, self.weight_scale * scale, self._packed[0] * zero_point, axis=1)
            if self.bias is not None:
                y += self.bias  # the steps of an input near 0 are too small to say it in
            return (y.relu_() if self.relu else y).reshape(*x.shape[:-1], -1)


def check_bits(bits, group):
    """ValueError for widths and groups that no layer has."""
    if bits not in (4, 8):
        raise errors.ValueError(f"quantize_weights: expected bits to be 8 or 4, got {bits}")
    if group < 1:
        raise errors.ValueError(f"quantize_weights: expected group to be 1 or more, got {group}")


class WeightOnlyLinear(Module):
    """A Linear whose weight is kept as integers of 8 or 4 bits, and computed with as float32. See quantize_weights.

    Args:
        layer (neura.nn.Linear): whose weight it takes.
        bits (int): 8 or 4. Two numbers of 4 bits share a byte, the first in its lower half.
        group (int): so many weights of a row share a scale; it must divide in_features, which are even for 4 bits.
    """

    _ROWS = 512  # of the weight that are float at a time

    def __init__(self, layer, bits=8, group=32):
        super().__init__()
        check_bits(bits, group)
        out, width = layer.weight.shape
        if width % group:
            raise errors.ValueError(
                f"quantize_weights: expected group to divide the {width} features of the input, got {group}"
            )
        if bits == 4 and width % 2:
            raise errors.ValueError(
                f"quantize_weights: expected an even number of features for 4 bits, got {width}; take 8 bits"
            )
        q, scale = rows_quantized(layer.weight.detach().float().reshape(-1, group), bits)
        bias = None if layer.bias is None else layer.bias.detach().clone()
        self._keep(q.reshape(out, width), scale.reshape(out, -1), bias, bits, group)

    @classmethod
    def from_integers(cls, weight, scale, bias=None, zero=None, order=None, bits=4):
        """A layer of weights that are integers already.

        Args:
            weight (Tensor): int8 [out, in], of 4 bits from -8 to 7.
            scale (Tensor): float32 [out, groups]; a row's weights are in so many groups of equal size.
            bias (Tensor): [out], or None.
            zero (Tensor): int8 [out, groups], which integers stand for 0; None: all of them are 0.
            order (Tensor): int64 [in], which feature of the input each column of the weight is for; None: in order.
            bits (int): 8 or 4.
        """
        layer = cls.__new__(cls)
        Module.__init__(layer)
        layer._keep(weight, scale, bias, bits, weight.shape[1] // scale.shape[1], zero, order)
        return layer

    def _keep(self, q, scale, bias, bits, group, zero=None, order=None):
        self.out_features, self.in_features = q.shape
        self.bits, self.group = bits, group
        if bits == 4:
            nibbles = (q.to(_neura.int32) & 15).to(_neura.uint8)
            q = nibbles[:, ::2] | (nibbles[:, 1::2] << 4)
        self.register_buffer("weight", q.contiguous())
        self.register_buffer("weight_scale", scale)
        self.register_buffer("bias", bias)
        self.register_buffer("weight_zero", zero)
        self.register_buffer("order", order)

    def _rows(self, first, last):
        """Rows of the weight, float32, columns as they are kept."""
        q = self.weight[first:last]
        if self.bits == 4:
            pairs = _neura.stack((q & 15, q >> 4), 2).to(_neura.int32)
            q = ((pairs ^ 8) - 8).to(_neura.int8)
        zero = None if self.weight_zero is None else self.weight_zero[first:last].reshape(-1).to(_neura.int32)
        scale = self.weight_scale[first:last].reshape(-1)
        return _neura.dequantize_affine(q.reshape(-1, self.group), scale, zero, axis=0).reshape(-1, self.in_features)

    def float_weight(self):
        """The weight that the integers stand for, float32 [out, in]."""
        y = self._rows(0, self.out_features)
        return y if self.order is None else y.index_select(1, self.order.argsort())

    def forward(self, x):
        """x [.., in] -> [.., out]; gradients pass to x."""
        x = x if self.order is None else x.index_select(-1, self.order)
        parts = [
            functional.linear(x, self._rows(i, i + self._ROWS).to(x.dtype))
            for i in range(0, self.out_features, self._ROWS)
        ]
        y = parts[0] if len(parts) == 1 else _neura.cat(parts, -1)
        return y if self.bias is None else y + self.bias.to(x.dtype)

    def extra_repr(self):
        """Its sizes."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bits={self.bits}, group={self.group}"
