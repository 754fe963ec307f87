"""What classes of C++ have in Python alone."""

from .._neura import errors
from .._neura import nn as _nn
from .extend import extend


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
        """An Embedding of a table that is there already, [rows, width]; frozen: without gradient."""
        if embeddings.dim() != 2:
            raise errors.ShapeError(
                f"from_pretrained: expected a table of 2 dimensions, got {tuple(embeddings.shape)}; reshape it"
            )
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
        """An EmbeddingBag of a table that is there already, [rows, width]; frozen: without gradient."""
        if embeddings.dim() != 2:
            raise errors.ShapeError(
                f"from_pretrained: expected a table of 2 dimensions, got {tuple(embeddings.shape)}; reshape it"
            )
        options = (max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings, include_last_offset, padding_idx)
        bag = cls(*embeddings.shape, *options)
        bag.weight.requires_grad = not freeze
        return bag


class UpsampleMethods:
    """Of Upsample and its kin."""

    name = property(lambda self: type(self).__name__, doc="The name of the class.")


extend(_nn.Embedding, EmbeddingMethods)
extend(_nn.EmbeddingBag, EmbeddingBagMethods)
for _class in (_nn.Upsample, _nn.UpsamplingNearest2d, _nn.UpsamplingBilinear2d):
    extend(_class, UpsampleMethods)
_nn.ReLU6.min_val, _nn.ReLU6.max_val = 0.0, 6.0
