"""Layers with a FakeQuantize of their input and one of their weight: what prepare and prepare_qat put in."""

from ..nn import Module, functional
from ..nn.utils.fusion import fuse_conv_bn_weights


class Prepared(Module):
    """A layer with float parameters that computes with what the integers would hold.

    input_fake_quant and weight_fake_quant are the grids; weight and bias are the layer's own parameters.
    """

    def __init__(self, layer, qconfig, bn=None):
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias
        if bn is not None:
            self.bn = bn
        self.input_fake_quant = qconfig.activation().to(layer.weight.device)
        self.weight_fake_quant = qconfig.weight().to(layer.weight.device)
        self.train(layer.training)
        self.observe_weight()

    def observe_weight(self):
        """The grid of the weight as it is now."""
        self.weight_fake_quant.activation_post_process.reset_min_max_vals()
        self.weight_fake_quant.activation_post_process(self.rounded_weight())
        self.weight_fake_quant.refresh()

    def rounded_weight(self):
        """The weight that is put on its grid."""
        return self.weight

    def folded(self):
        """(weight, bias) that the integers stand for: with the normalisation after the layer, if there is one."""
        return self.weight, self.bias

    def forward(self, x):
        """The layer's answer."""
        return self.compute(self.input_fake_quant(x), self.weight_fake_quant(self.weight), self.bias)


class PreparedLinear(Prepared):
    """A Linear with its grids."""

    def __init__(self, layer, qconfig):
        super().__init__(layer, qconfig)
        self.in_features, self.out_features = layer.in_features, layer.out_features

    def compute(self, x, weight, bias):
        """x weight^T + bias."""
        return functional.linear(x, weight, bias)

    def extra_repr(self):
        """Its sizes."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


def _plain_padding(layer):
    """The zeros around the input, one count for each spatial dimension."""
    if layer.padding == "valid":
        return (0, 0)
    if layer.padding == "same":
        return tuple(d * (k - 1) // 2 for d, k in zip(layer.dilation, layer.kernel_size))
    return tuple(layer.padding)


def supported_conv(layer):
    """Is this a Conv2d that integers can compute: zeros around its input, as many on both sides?"""
    even = layer.padding == "same" and any(d * (k - 1) % 2 for d, k in zip(layer.dilation, layer.kernel_size))
    return layer.padding_mode == "zeros" and not even


class PreparedConv2d(Prepared):
    """A Conv2d with its grids."""

    def __init__(self, layer, qconfig, bn=None):
        super().__init__(layer, qconfig, bn)
        self.stride, self.dilation, self.groups = tuple(layer.stride), tuple(layer.dilation), layer.groups
        self.padding = _plain_padding(layer)

    def compute(self, x, weight, bias):
        """The convolution."""
        return functional.conv2d(x, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def extra_repr(self):
        """Its sizes."""
        out, channels, *kernel = self.weight.shape
        return f"{channels * self.groups}, {out}, kernel_size={tuple(kernel)}, stride={self.stride}"


class PreparedConvBn2d(PreparedConv2d):
    """A Conv2d with its grids and the BatchNorm2d after it.

    The weight is put on its grid with the factor of the running statistics, as the converted layer will have it; the
    factor is taken out again after the convolution, so that the normalisation sees, and learns from, what it would
    have seen without.
    """

    def folded(self):
        """(weight, bias) with the running statistics taken in."""
        bn = self.bn
        return fuse_conv_bn_weights(self.weight, self.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)

    def _factor(self):
        """What the running statistics multiply each channel by; 1 in place of 0, by which nothing can be divided."""
        factor = (self.bn.running_var + self.bn.eps).rsqrt()
        factor = factor if self.bn.weight is None else factor * self.bn.weight
        return factor.masked_fill(factor == 0, 1.0)

    def rounded_weight(self):
        """The weight that is put on its grid: with the factor. A channel whose factor is 0 can so learn another one."""
        return self.weight * self._factor().reshape(-1, 1, 1, 1)

    def forward(self, x):
        """The answer of both layers."""
        factor = self._factor()
        weight = self.weight_fake_quant(self.weight * factor.reshape(-1, 1, 1, 1))
        y = self.compute(self.input_fake_quant(x), weight, None) / factor.reshape(1, -1, 1, 1)
        return self.bn(y if self.bias is None else y + self.bias.reshape(1, -1, 1, 1))


def freeze_bn_stats(module):
    """For model.apply(): the normalisations after prepared convolutions use their running statistics from now on.

    model.train() switches them on again: call it after that.
    """
    if isinstance(module, PreparedConvBn2d):
        module.bn.eval()
