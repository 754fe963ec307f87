"""Folds batch normalisation in evaluation mode, a scale and a shift, into the layer before it."""

import copy

from ..._neura import errors
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _fused(weight, bias, mean, var, eps, bn_weight, bn_bias, dim):
    factor = (var + eps).rsqrt()
    if bn_weight is not None:
        factor = factor * bn_weight
    term = -mean if bias is None else bias - mean
    term = term * factor if bn_bias is None else term * factor + bn_bias
    sizes = [1] * weight.dim()
    sizes[dim] = -1
    bias_dtype = weight.dtype if bias is None else bias.dtype
    grads = (weight.requires_grad, weight.requires_grad if bias is None else bias.requires_grad)
    made = ((weight * factor.reshape(sizes)).to(weight.dtype), term.to(bias_dtype))
    return tuple(Parameter(t.detach(), requires_grad=g) for t, g in zip(made, grads))


def _check_evaluating(op, layer, bn):
    if layer.training or bn.training:
        raise errors.ValueError(f"{op}: expected both modules in evaluation, got one in training; call eval() first")
    if bn.running_mean is None or bn.running_var is None:
        raise errors.ValueError(f"{op}: expected a normalisation with running statistics, got one without")


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """The weight and bias of a convolution followed by a batch normalisation with these running statistics.

    transpose: of a transposed convolution, whose channels are dimension 1 of the weight.
    """
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 1 if transpose else 0)


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A copy of `conv` that does what `conv` and `bn`, both in evaluation, do one after the other.

    >>> import neura
    >>> conv, bn = neura.nn.Conv2d(3, 4, 3).eval(), neura.nn.BatchNorm2d(4).eval()
    >>> x = neura.rand(1, 3, 5, 5)
    >>> neura.allclose(neura.nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-6)
    True
    """
    _check_evaluating("fuse_conv_bn_eval", conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """The weight and bias of a linear layer followed by a batch normalisation with these running statistics."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def fuse_linear_bn_eval(linear, bn):
    """A copy of `linear` that does what `linear` and `bn`, both in evaluation, do one after the other."""
    _check_evaluating("fuse_linear_bn_eval", linear, bn)
    if bn.num_features not in (1, linear.out_features):
        raise errors.ValueError(
            f"fuse_linear_bn_eval: expected a normalisation of {linear.out_features} features, got {bn.num_features}"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused
