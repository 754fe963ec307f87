"""Tokenizers that files tokenizer.json describe, with the names of PyPI's tokenizers.

>>> import neura
>>> model = '{"type": "WordLevel", "vocab": {"?": 0, "deep": 1, "learning": 2}, "unk_token": "?"}'
>>> steps = '"normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"}'
>>> t = neura.text.Tokenizer.from_str('{"model": ' + model + ", " + steps + "}")
>>> t.encode("Deep learning!").ids
[1, 2, 0]
>>> t.decode([1, 2])
'deep learning'
"""

from .. import _neura

Tokenizer, Encoding = _neura._text.Tokenizer, _neura._text.Encoding
Tokenizer.__module__ = Encoding.__module__ = __name__
__all__ = ["Encoding", "Tokenizer"]
