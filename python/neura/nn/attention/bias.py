"""Causal masks for queries and keys of different length, by the names of torch.nn.attention.bias."""

import enum

from ... import _neura

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """The corner of the triangle."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


def CausalBias(variant, seq_len_q, seq_len_kv):
    """The mask [seq_len_q, seq_len_kv] as bools, for attn_mask; with more queries than keys rows may keep nothing."""
    shift = seq_len_kv - seq_len_q if variant == CausalVariant.LOWER_RIGHT else 0
    return _neura.ones(seq_len_q, seq_len_kv, dtype=_neura.bool).tril(shift)


def _sizes(size):
    return size if len(size) == 2 else size[0]


def causal_upper_left(*size):
    """Query i sees keys 0 to i.

    >>> from neura.nn.attention.bias import causal_upper_left
    >>> causal_upper_left(2, 3).int()
    tensor([[1, 0, 0],
            [1, 1, 0]], dtype=neura.int32)
    """
    return CausalBias(CausalVariant.UPPER_LEFT, *_sizes(size))


def causal_lower_right(*size):
    """The last query sees all keys, the one before all but the last, and so on."""
    return CausalBias(CausalVariant.LOWER_RIGHT, *_sizes(size))
