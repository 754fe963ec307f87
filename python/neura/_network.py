"""Functions of networks as torch has them outside nn.functional: in another order, and with numbers for reductions."""

from . import _arguments, _neura
from ._neura import functional as F
from ._neura import _reductions, errors


def _reduction(op, number):
    number = _arguments.integer(op, "reduction", number)
    if number not in (0, 1, 2):
        raise errors.ValueError(f"{op}: expected reduction 0 (none), 1 (mean) or 2 (sum), got {number}")
    return _reductions[number]


@_arguments.named
def adaptive_max_pool1d(input, output_size):
    """Adaptive max pooling to output_size: (values, indices)."""
    return F.adaptive_max_pool1d_with_indices(input, output_size)


@_arguments.named
def conv_tbc(input, weight, bias, pad=0):
    """A convolution over time: input [T, N, in], weight [k, in, out], bias [out] -> [T + 2 * pad - k + 1, N, out]."""
    _arguments.tensors("conv_tbc", input=input, weight=weight, bias=bias)
    if input.dim() != 3 or weight.dim() != 3 or bias.dim() != 1:
        raise errors.ShapeError(
            "conv_tbc: expected input [T, N, in], weight [k, in, out] and bias [out], got "
            f"{list(input.shape)}, {list(weight.shape)} and {list(bias.shape)}"
        )
    return F.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad).permute(2, 0, 1)


@_arguments.named
def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """conv1d, conv2d or conv3d, by the dimensions of weight; transposed: conv_transpose1d, 2d or 3d."""
    _arguments.tensors("convolution", weight=weight)
    n = weight.dim() - 2
    if n not in (1, 2, 3):
        raise errors.ShapeError(f"convolution: expected a weight of 3 to 5 dimensions, got {list(weight.shape)}")
    if transposed:
        f = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[n - 1]
        return f(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return (F.conv1d, F.conv2d, F.conv3d)[n - 1](input, weight, bias, stride, padding, dilation, groups)


@_arguments.named
def dropout(input, p, train):
    """Sets elements to 0 with probability p and scales the others by 1 / (1 - p); without train, the input."""
    return F.dropout(input, p, train)


@_arguments.named
def dropout_(input, p, train):
    """dropout, in place."""
    return F.dropout(input, p, train, True)


@_arguments.named
def alpha_dropout(input, p, train):
    """neura.nn.functional.alpha_dropout: keeps the mean and variance of SELU activations."""
    return F.alpha_dropout(input, p, train)


@_arguments.named
def alpha_dropout_(input, p, train):
    """alpha_dropout, in place."""
    return F.alpha_dropout(input, p, train, True)


@_arguments.named
def feature_alpha_dropout(input, p, train):
    """alpha_dropout of whole channels of [N, C, *]."""
    return F.feature_alpha_dropout(input, p, train)


@_arguments.named
def feature_alpha_dropout_(input, p, train):
    """feature_alpha_dropout, in place."""
    return F.feature_alpha_dropout(input, p, train, True)


@_arguments.named
def feature_dropout(input, p, train):
    """Dropout of whole channels of [N, C, *]: 0 with probability p, the others scaled by 1 / (1 - p)."""
    _arguments.tensors("feature_dropout", input=input)
    if input.dim() < 2:
        raise errors.ShapeError(f"feature_dropout: expected an input [N, C, *], got {list(input.shape)}")
    if not train or p == 0 or not input.numel():
        return F.dropout(input, p, False)
    channels = F.dropout(_neura.ones(input.shape[:2], dtype=input.dtype, device=input.device), p, True)
    return input * channels.reshape([*input.shape[:2]] + [1] * (input.dim() - 2))


@_arguments.named
def feature_dropout_(input, p, train):
    """feature_dropout, in place."""
    _arguments.tensors("feature_dropout_", input=input)
    return input.copy_(feature_dropout(input, p, train)) if train else feature_dropout(input, p, train)


@_arguments.named
def native_dropout(input, p, train):
    """Dropout and its mask: (output, bool mask of the elements that were kept)."""
    _arguments.tensors("native_dropout", input=input)
    _arguments.numbers("native_dropout", p=p)
    if not 0 <= p <= 1:
        raise errors.ValueError(f"native_dropout: expected a probability in [0, 1], got {p}")
    if train is not None and not train:
        return input.clone(), _neura.ones_like(input, dtype=_neura.bool)
    mask = _neura.empty_like(input, dtype=_neura.bool).bernoulli_(1 - p)
    return input * mask * (1 / (1 - p) if p < 1 else 0.0), mask


@_arguments.named
def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """Looks up rows of weight [num_embeddings, embedding_dim]; padding_idx: the row without a gradient, -1 for none."""
    padding = _arguments.integer("embedding", "padding_idx", padding_idx)
    padding = None if padding == -1 else padding
    return F.embedding(indices, weight, padding, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


@_arguments.named
def embedding_renorm_(input, indices, max_norm, norm_type):
    """Scales the rows of input at these indices in place to a norm of at most max_norm; returns input."""
    _arguments.tensors("embedding_renorm_", input=input)
    F.embedding(indices, input.detach(), None, max_norm, norm_type)
    return input


@_arguments.named
def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled):
    """neura.nn.functional.batch_norm, in the order of torch.batch_norm."""
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@_arguments.named
def instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled):
    """neura.nn.functional.instance_norm, in the order of torch.instance_norm."""
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


@_arguments.named
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    """neura.nn.functional.group_norm."""
    return F.group_norm(input, num_groups, weight, bias, eps)


@_arguments.named
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    """neura.nn.functional.layer_norm."""
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


@_arguments.named
def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    """group_norm and its statistics: (output, mean [N, group], rstd [N, group])."""
    _arguments.tensors("native_group_norm", input=input)
    _arguments.numbers("native_group_norm", eps=eps)
    grouped = input.detach().reshape(N, group, -1)
    rstd = (grouped.double().var(2, correction=0) + eps).rsqrt().to(input.dtype)
    return F.group_norm(input, group, weight, bias, eps), grouped.mean(2), rstd


@_arguments.named
def norm_except_dim(v, pow=2, dim=0):
    """The norms of v over all dimensions but one, with sizes of 1 there; dim -1: of all elements."""
    _arguments.tensors("norm_except_dim", v=v)
    dim = _arguments.integer("norm_except_dim", "dim", dim)
    if dim == -1:
        return v.norm(pow)
    if not 0 <= dim < v.dim():
        raise errors.IndexError(f"norm_except_dim: expected dim from -1 to {v.dim() - 1}, got {dim}")
    others = [d for d in range(v.dim()) if d != dim]
    return v.norm(pow, others, True) if others else v.abs()


@_arguments.named
def frobenius_norm(input, dim=None, keepdim=False, *, out=None):
    """The root of the sum of the squared magnitudes, over at most two dimensions or (dim None) all."""
    dims = [] if dim is None else [dim] if isinstance(dim, int) else _arguments.listed("frobenius_norm", "dim", dim)
    if len(dims) > 2:
        raise errors.ValueError(f"frobenius_norm: expected at most two dimensions in dim, got {list(dims)}")
    return _neura.linalg.vector_norm(input, 2, dims or None, keepdim, out=out)


@_arguments.named
def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=1):
    """neura.nn.functional.binary_cross_entropy_with_logits; reduction: 0 none, 1 mean, 2 sum."""
    r = _reduction("binary_cross_entropy_with_logits", reduction)
    return F.binary_cross_entropy_with_logits(input, target, weight, reduction=r, pos_weight=pos_weight)


@_arguments.named
def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=1):
    """neura.nn.functional.cosine_embedding_loss; reduction: 0 none, 1 mean, 2 sum."""
    return F.cosine_embedding_loss(
        input1, input2, target, margin, reduction=_reduction("cosine_embedding_loss", reduction)
    )


@_arguments.named
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1, zero_infinity=False):
    """neura.nn.functional.ctc_loss; reduction: 0 none, 1 mean, 2 sum."""
    r = _reduction("ctc_loss", reduction)
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, r, zero_infinity)


@_arguments.named
def hinge_embedding_loss(input, target, margin=1.0, reduction=1):
    """neura.nn.functional.hinge_embedding_loss; reduction: 0 none, 1 mean, 2 sum."""
    return F.hinge_embedding_loss(input, target, margin, reduction=_reduction("hinge_embedding_loss", reduction))


@_arguments.named
def kl_div(input, target, reduction=1, *, log_target=False):
    """neura.nn.functional.kl_div; reduction: 0 none, 1 mean, 2 sum."""
    return F.kl_div(input, target, reduction=_reduction("kl_div", reduction), log_target=log_target)


@_arguments.named
def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=1):
    """neura.nn.functional.margin_ranking_loss; reduction: 0 none, 1 mean, 2 sum."""
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=_reduction("margin_ranking_loss", reduction))


@_arguments.named
def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    """neura.nn.functional.poisson_nll_loss; reduction: 0 none, 1 mean, 2 sum."""
    r = _reduction("poisson_nll_loss", reduction)
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=r)


@_arguments.named
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction=1):
    """neura.nn.functional.triplet_margin_loss; reduction: 0 none, 1 mean, 2 sum."""
    r = _reduction("triplet_margin_loss", reduction)
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=r)
