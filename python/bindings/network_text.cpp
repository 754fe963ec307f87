// What help() says of the functions of neura.nn.functional.
#include "network.h"

#include <string_view>

namespace neura::python {

static constexpr std::pair<std::string_view, const char*> kTexts[] = {
    {"conv1d",
     "Convolution of [N, C, L] with weight [out, C / groups, k]; padding: numbers, 'same' or "
     "'valid'. See neura.nn.Conv1d."},
    {"conv2d",
     "Convolution of [N, C, H, W] with weight [out, C / groups, kh, kw]; padding: numbers, 'same' "
     "or 'valid'. See neura.nn.Conv2d."},
    {"conv3d",
     "Convolution of [N, C, D, H, W] with weight [out, C / groups, kd, kh, kw]. See "
     "neura.nn.Conv3d."},
    {"conv_transpose1d", "The gradient of conv1d as a function: [N, C, L] with weight [C, out / groups, k]."},
    {"conv_transpose2d",
     "The gradient of conv2d as a function: [N, C, H, W] with weight [C, out / groups, "
     "kh, kw]."},
    {"conv_transpose3d",
     "The gradient of conv3d as a function: [N, C, D, H, W] with weight [C, out / groups, "
     "kd, kh, kw]."},
    {"avg_pool1d", "The mean under each window of [N, C, L]. See neura.nn.AvgPool1d."},
    {"avg_pool2d", "The mean under each window of [N, C, H, W]. See neura.nn.AvgPool2d."},
    {"avg_pool3d", "The mean under each window of [N, C, D, H, W]. See neura.nn.AvgPool3d."},
    {"layer_norm",
     "By mean and variance over the last dimensions, normalized_shape, then times weight plus "
     "bias."},
    {"rms_norm",
     "By the root of the mean square over the last dimensions, normalized_shape, then times "
     "weight."},
    {"group_norm", "By mean and variance of groups of channels of [N, C, *], then times weight plus bias."},
    {"batch_norm",
     "By mean and variance of each channel of [N, C, *]: the batch's in training, which the "
     "running ones follow in place; else the running ones."},
    {"instance_norm", "By mean and variance of each channel of each sample of [N, C, *]."},
    {"local_response_norm", "x / (k + alpha * the mean of squares over size neighbouring channels) ** beta."},
    {"native_layer_norm", "layer_norm with what its gradient needs: (result, mean, reciprocal deviation)."},
    {"native_batch_norm", "batch_norm with what its gradient needs: (result, mean, reciprocal deviation)."},
    {"dropout",
     "In training, each element becomes 0 with probability p and the others grow by 1 / (1 - p). "
     "ValueError for p outside [0, 1]."},
    {"dropout1d", "dropout of whole channels of [N, C, L] or [C, L]."},
    {"dropout2d", "dropout of whole channels of [N, C, H, W]."},
    {"dropout3d", "dropout of whole channels of [N, C, D, H, W] or [C, D, H, W]."},
    {"alpha_dropout", "dropout that keeps the mean and deviation of what selu gives."},
    {"feature_alpha_dropout", "alpha_dropout of whole channels."},
    {"gelu", "x times the normal distribution function of x; approximate='tanh' takes the formula with tanh."},
    {"hardtanh", "x within [min_val, max_val]."},
    {"threshold", "x where it exceeds threshold, else value."},
    {"celu", "x where positive, otherwise alpha (exp(x / alpha) - 1)."},
    {"softshrink", "x moved towards 0 by lambd; 0 within [-lambd, lambd]."},
    {"softsign", "x / (1 + |x|)."},
    {"tanhshrink", "x - tanh(x)."},
    {"glu", "a sigmoid(b), with a and b the first and second half of the input along dim."},
    {"softmax", "exp(x) over its sum along dim: the results lie in [0, 1] and sum to 1."},
    {"log_softmax", "The logarithm of softmax along dim, without overflow."},
    {"softmin", "softmax of -x along dim."},
    {"linear", "x weight^T + bias: [..., in] with weight [out, in] and bias [out] -> [..., out]."},
    {"bilinear", "x1^T weight x2 + bias: [..., in1] and [..., in2] with weight [out, in1, in2] -> [..., out]."},
    {"embedding",
     "Rows of weight [rows, width] by number: integers of any shape -> that shape and [width]. "
     "IndexError outside the table."},
    {"one_hot",
     "Classes of any shape -> their shape and [num_classes], 1 at the class; -1: as many as the "
     "largest class needs."},
    {"scaled_dot_product_attention",
     "softmax(query key^T scale + mask) value, of [..., L, E], [..., S, E] "
     "and [..., S, V]; scale is 1 / sqrt(E) where None. attn_mask: bool (True takes part) or floating "
     "(added)."},
    {"pad",
     "Adds elements at the sides: pad is (before, after) of the last dimension, then of the one "
     "before, ...; mode 'constant' (value), 'reflect', 'replicate' or 'circular'."},
    {"constant_pad_nd", "pad with mode 'constant'."},
    {"pixel_shuffle", "[..., C r^2, H, W] -> [..., C, H r, W r], r = upscale_factor."},
    {"pixel_unshuffle", "[..., C, H r, W r] -> [..., C r^2, H, W], r = downscale_factor."},
    {"channel_shuffle", "The channels of groups of [N, C, *] by turns."},
    {"native_channel_shuffle", "channel_shuffle."},
    {"unfold", "The patches under a sliding window: [N, C, H, W] -> [N, C * kernel, windows]."},
    {"fold",
     "Puts patches back into an image of output_size, where they add up: [N, C * kernel, windows] -> "
     "[N, C, H, W]."},
    {"cross_entropy",
     "-log softmax(input)[target]: scores [C], [N, C] or [N, C, d1, ...] and classes, or "
     "probabilities of the input's shape. See neura.nn.CrossEntropyLoss."},
    {"nll_loss", "-input[target], of logarithms of probabilities and classes. See neura.nn.NLLLoss."},
    {"binary_cross_entropy", "-(target log(input) + (1 - target) log(1 - input)), of probabilities."},
    {"binary_cross_entropy_with_logits",
     "binary_cross_entropy of sigmoid(input), without overflow; "
     "pos_weight multiplies the loss of positive targets."},
    {"multi_margin_loss", "max(0, margin - input[target] + input[i])^p, the mean over the other classes i."},
    {"multilabel_soft_margin_loss",
     "binary_cross_entropy_with_logits of each class, the mean over the "
     "classes."},
    {"multilabel_margin_loss",
     "Margins of 1 between each target class and each other class; targets end at "
     "the first -1."},
    {"mse_loss", "(input - target)^2; reduction 'none', 'mean' or 'sum'."},
    {"l1_loss", "abs(input - target); reduction 'none', 'mean' or 'sum'."},
    {"soft_margin_loss", "log(1 + exp(-target * input)), target 1 or -1."},
    {"smooth_l1_loss", "d^2 / (2 beta) where d = abs(input - target) is below beta, else d - beta / 2."},
    {"huber_loss", "d^2 / 2 where d = abs(input - target) is below delta, else delta (d - delta / 2)."},
    {"kl_div",
     "target * (log(target) - input), input in logarithms; reduction 'batchmean' is the divergence "
     "itself."},
    {"poisson_nll_loss",
     "exp(input) - target * input, or without log_input, input - target * log(input + "
     "eps)."},
    {"gaussian_nll_loss",
     "(log(var) + (input - target)^2 / var) / 2, with var, a tensor or a number, at "
     "least eps."},
    {"hinge_embedding_loss", "input where target is 1, max(0, margin - input) where it is -1."},
    {"margin_ranking_loss", "max(0, -target (input1 - input2) + margin)."},
    {"cosine_embedding_loss",
     "1 - cos(input1, input2) where target is 1, max(0, cos - margin) where it is "
     "-1."},
    {"triplet_margin_loss", "max(0, |anchor - positive| - |anchor - negative| + margin), with the p-norm."},
    {"ctc_loss",
     "-log of the probability that log_probs [T, N, C] spell the targets; lengths are tensors or lists. See "
     "neura.nn.CTCLoss."},
    {"cosine_similarity", "The cosine of the angle between x1 and x2 along dim."},
    {"pairwise_distance", "The p-norm of x1 - x2 + eps over the last dimension."},
    {"normalize", "input over its p-norm along dim, which is at least eps."},
};

const char* text_of_function(std::string_view name) {
  for (const auto& [of, text] : kTexts)
    if (of == name) return text;
  return "";
}

}  // namespace neura::python
