"""Methods that C++ classes have in Python alone."""

from collections import namedtuple

from .._neura import Tensor, errors, tensor
from .._neura import nn as _nn
from .extend import extend


_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


def _check_table(embeddings):
    if embeddings.dim() != 2:
        raise errors.AssertedShapeError(
            f"from_pretrained: expected a table of 2 dimensions, got {tuple(embeddings.shape)}; reshape it"
        )


class EmbeddingMethods:
    """Of Embedding."""

    @classmethod
    def from_pretrained(
        cls,
        embeddings,
        freeze=True,
        padding_idx=None,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        sparse=False,
    ):
        """An Embedding with given weights [num_embeddings, embedding_dim]; freeze: they are not trained."""
        _check_table(embeddings)
        options = (padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
        return cls(*embeddings.shape, *options, _weight=embeddings, _freeze=freeze)


class EmbeddingBagMethods:
    """Of EmbeddingBag."""

    @classmethod
    def from_pretrained(
        cls,
        embeddings,
        freeze=True,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        mode="mean",
        sparse=False,
        include_last_offset=False,
        padding_idx=None,
    ):
        """An EmbeddingBag with given weights [num_embeddings, embedding_dim]; freeze: they are not trained."""
        _check_table(embeddings)
        options = (max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings, include_last_offset, padding_idx)
        bag = cls(*embeddings.shape, *options)
        bag.weight.requires_grad = not freeze
        return bag


class AttentionMethods:
    """Of MultiheadAttention."""

    @property
    def _qkv_same_embed_dim(self):
        return self.kdim == self.embed_dim and self.vdim == self.embed_dim


class UpsampleMethods:
    """Of Upsample and similar ones."""

    name = property(lambda self: type(self).__name__, doc="The name of the class.")


class ConvMethods:
    """Of convolutions."""

    transposed = False

    @property
    def _reversed_padding_repeated_twice(self):
        sizes = [0] * len(self.kernel_size) if self.padding == "valid" else self.padding
        if self.padding == "same":
            totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
            return [p for t in reversed(totals) for p in (t // 2, t - t // 2)]
        return [p for size in reversed(sizes) for p in (size, size)]

    def _conv_forward(self, input, weight, bias):
        """What forward computes, with a given weight and bias: for layers that change them first."""
        from . import functional

        padding = self.padding
        if self.padding_mode != "zeros":
            input = functional.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        conv = getattr(functional, f"conv{len(self.kernel_size)}d")
        return conv(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class NormMethods:
    """Of batch and instance normalisation."""

    _version = 2  # version 1 had no num_batches_tracked

    def _complete_old_state(self, state_dict, prefix, version):
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            own = self.num_batches_tracked
            state_dict[key] = tensor(0) if own is None or own.is_meta else own


class QuietMethods:
    """Of Hardswish and Hardsigmoid, whose printed form says nothing in PyTorch."""

    def extra_repr(self):
        """Nothing."""
        return ""


class RecurrentMethods:
    """Of RNN, GRU and LSTM."""

    def forward(self, input, hx=None):
        """The outputs of the last layer at every time, and the states after the last one; packed as the input is."""
        if type(input) is Tensor:
            return self._forward_tensor(input, hx)
        from .utils.rnn import PackedSequence

        if not isinstance(input, PackedSequence):
            return self._forward_tensor(input, hx)
        fields, states = self._forward_packed(*input, hx)
        return PackedSequence(*fields), states

    @property
    def all_weights(self):
        """The parameters of each layer and direction, in one list each."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _all_weights(self):
        names = self._flat_weights_names
        each = len(names) // (self.num_layers * (2 if self.bidirectional else 1))
        return [names[i : i + each] for i in range(0, len(names), each)]

    @property
    def _flat_weights(self):
        return [getattr(self, name) for name in self._flat_weights_names]


class AdaptiveLogSoftmaxMethods:
    """Of AdaptiveLogSoftmaxWithLoss."""

    def forward(self, input, target):
        """The logarithm of each target's probability, and the mean of their negatives: (output, loss)."""
        return _ASMoutput(*self._forward_pair(input, target))


for _class in (_nn.RNN, _nn.GRU, _nn.LSTM):
    _class._forward_tensor = _class.forward
    extend(_class, RecurrentMethods)
_nn.RNN.nonlinearity = property(lambda self: self.mode[4:].lower(), doc="'tanh' or 'relu'.")
_nn.AdaptiveLogSoftmaxWithLoss._forward_pair = _nn.AdaptiveLogSoftmaxWithLoss.forward
extend(_nn.AdaptiveLogSoftmaxWithLoss, AdaptiveLogSoftmaxMethods)
extend(_nn.Embedding, EmbeddingMethods)
extend(_nn.EmbeddingBag, EmbeddingBagMethods)
for _class in (_nn.Upsample, _nn.UpsamplingNearest2d, _nn.UpsamplingBilinear2d):
    extend(_class, UpsampleMethods)
for _n in (1, 2, 3):
    extend(getattr(_nn, f"Conv{_n}d"), ConvMethods)
    getattr(_nn, f"ConvTranspose{_n}d").transposed = True
extend(_nn.MultiheadAttention, AttentionMethods)
for _class in (getattr(_nn, f"{kind}Norm{n}d") for kind in ("Batch", "Instance") for n in (1, 2, 3)):
    extend(_class, NormMethods)
for _class in (_nn.Hardswish, _nn.Hardsigmoid):
    extend(_class, QuietMethods)
_nn.ReLU6.min_val, _nn.ReLU6.max_val = 0.0, 6.0
