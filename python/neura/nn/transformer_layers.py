"""What the layers of a Transformer have in Python: other activations, and blocks that a class of your own defines."""

import functools

from .._neura import nn as _nn
from .extend import extend

_BLOCKS = ("_sa_block", "_mha_block", "_ff_block")


def _whole(layer, activation, cls):
    """Is everything as C++ computes it? Not with another activation, nor with a block of your own."""
    kind = type(layer)
    own = kind is not cls and any(getattr(kind, name, None) is not getattr(cls, name, None) for name in _BLOCKS)
    return isinstance(activation, str) and not own


def _function(activation):
    if not isinstance(activation, str):
        return activation
    from . import functional

    return getattr(functional, activation)


def _set(self, name, value):
    """`layer.activation = nn.GELU()`: C++ has room for the names of two activations alone."""
    if name == "activation" and not isinstance(value, str) and isinstance(getattr(self, name, None), str):
        del self.activation
    _nn.Module.__setattr__(self, name, value)


class EncoderLayerMethods:
    """Of TransformerEncoderLayer."""

    __setattr__ = _set

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        """What the layer computes: like src."""
        if _whole(self, self.activation, _nn.TransformerEncoderLayer):
            return self._forward_whole(src, src_mask, src_key_padding_mask, is_causal)
        if self.norm_first:
            x = src + self._sa_block(self.norm1(src), src_mask, src_key_padding_mask, is_causal=is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(src + self._sa_block(src, src_mask, src_key_padding_mask, is_causal=is_causal))
        return self.norm2(x + self._ff_block(x))

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        return self.dropout1(_attended(self.self_attn, x, x, attn_mask, key_padding_mask, is_causal))

    def _ff_block(self, x):
        return self.dropout2(self.linear2(self.dropout(_function(self.activation)(self.linear1(x)))))


class DecoderLayerMethods:
    """Of TransformerDecoderLayer."""

    __setattr__ = _set

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal=False,
        memory_is_causal=False,
    ):
        """What the layer computes: like tgt."""
        own = tgt_mask, tgt_key_padding_mask, tgt_is_causal
        other = memory_mask, memory_key_padding_mask, memory_is_causal
        if _whole(self, self.activation, _nn.TransformerDecoderLayer):
            masks = tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
            return self._forward_whole(tgt, memory, *masks, tgt_is_causal, memory_is_causal)
        if self.norm_first:
            x = tgt + self._sa_block(self.norm1(tgt), *own)
            x = x + self._mha_block(self.norm2(x), memory, *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(tgt + self._sa_block(tgt, *own))
        x = self.norm2(x + self._mha_block(x, memory, *other))
        return self.norm3(x + self._ff_block(x))

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        return self.dropout1(_attended(self.self_attn, x, x, attn_mask, key_padding_mask, is_causal))

    def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
        return self.dropout2(_attended(self.multihead_attn, x, mem, attn_mask, key_padding_mask, is_causal))

    def _ff_block(self, x):
        return self.dropout3(self.linear2(self.dropout(_function(self.activation)(self.linear1(x)))))


def _attended(attention, x, memory, attn_mask, key_padding_mask, is_causal):
    masks = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask}
    return attention(x, memory, memory, need_weights=False, is_causal=is_causal, **masks)[0]


class _Signature:
    """What inspect.signature says of a class of C++ whose constructor is now a function of Python."""

    def __init__(self, cls):
        self._cls, self._text = cls, cls.__text_signature__

    def __get__(self, instance, owner):
        if owner is not self._cls:
            raise AttributeError("__signature__")  # a derived class has one of its own
        import inspect

        return inspect.signature(eval(f"lambda {self._text[1:-1]}: None"))


def _known(activation):
    """Does C++ know it: 'relu', 'gelu', or one of the two functions? Another text is refused there."""
    return isinstance(activation, str) or getattr(activation, "__name__", None) in ("relu", "gelu")


def _takes_any_activation(cls, position, keep):
    """Lets the constructor take any callable as activation; keep(layer, activation, args, kwargs) stores it."""
    plain = cls.__init__

    @functools.wraps(plain)
    def __init__(self, *args, **kwargs):
        given = args[position] if len(args) > position else kwargs.get("activation", "relu")
        if _known(given) or not callable(given):
            plain(self, *args, **kwargs)
            return
        if len(args) > position:
            args = (*args[:position], "relu", *args[position + 1 :])
        else:
            kwargs = {**kwargs, "activation": "relu"}
        plain(self, *args, **kwargs)
        keep(self, given, args, kwargs)

    cls.__signature__ = _Signature(cls)
    cls.__init__ = __init__


def _keep(layer, activation, *_):
    layer.activation = activation


def _keep_in_all(transformer, activation, args, kwargs):
    import copy

    for i, part in enumerate(("encoder", "decoder")):
        if (args[7 + i] if len(args) > 7 + i else kwargs.get(f"custom_{part}")) is None:
            for layer in getattr(transformer, part).layers:
                _keep(layer, copy.deepcopy(activation))


for _class, _methods in (
    (_nn.TransformerEncoderLayer, EncoderLayerMethods),
    (_nn.TransformerDecoderLayer, DecoderLayerMethods),
):
    _class._forward_whole = _class.forward
    extend(_class, _methods)
    _takes_any_activation(_class, 4, _keep)
_takes_any_activation(_nn.Transformer, 6, _keep_in_all)
