"""Checkpoints whose weights are integers already: GPTQ and AWQ, as folders of Hugging Face have them."""

import collections
import copy
import json
import os

from .. import _neura, nn, safetensors
from .._neura import errors
from ._layers import WeightOnlyLinear

__all__ = ["load_quantized"]

# method: gptq or awq; one_less: GPTQ's first format keeps each zero point less 1
_Scheme = collections.namedtuple("_Scheme", "method bits group one_less")

_AWQ_PLACES = [0, 4, 1, 5, 2, 6, 3, 7]  # where AWQ packs the numbers of eight neighbours


def _json(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return None
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (ValueError, RecursionError) as e:
        raise errors.FormatError(f"{path}: expected JSON, got other text ({e})") from None
    if not isinstance(found, dict):
        raise errors.FormatError(f"{path}: expected an object, got {type(found).__name__}")
    return found


def _config(folder):
    """What the folder says of its integers."""
    found = (_json(folder, "config.json") or {}).get("quantization_config")
    found = found or _json(folder, "quantize_config.json") or _json(folder, "quant_config.json")
    if not isinstance(found, dict):
        raise errors.FormatError(
            f"{folder}: expected quantization_config in config.json, quantize_config.json or quant_config.json, got "
            "none; load float weights with load_state_dict"
        )
    return found


def _scheme(folder, config):
    method = config.get("quant_method") or ("awq" if "w_bit" in config or "zero_point" in config else "gptq")
    bits, group = config.get("bits", config.get("w_bit")), config.get("group_size", config.get("q_group_size", -1))
    layout = str(config.get("version", "gemm") if method == "awq" else config.get("checkpoint_format") or "gptq")
    known = {"gptq": ("gptq", "gptq_v2"), "awq": ("gemm",)}
    if method not in known or layout.lower() not in known[method]:
        raise errors.NotImplementedError(
            f"load_quantized: expected GPTQ (gptq, gptq_v2) or AWQ (gemm), got {method} {layout} in {folder}"
        )
    if bits not in ((4,) if method == "awq" else (4, 8)):
        raise errors.NotImplementedError(
            f"load_quantized: expected {method} of 4 bits{' or 8' * (method == 'gptq')}, got {bits} in {folder}"
        )
    if type(group) is not int or not (group > 0 or group == -1):
        raise errors.FormatError(f"{folder}: expected group_size to be above 0, or -1, got {group!r}")
    return _Scheme(method, bits, group, layout.lower() == "gptq")


def _tensors(folder):
    """All tensors of the folder's safetensors files, by name."""
    try:
        files = sorted(os.listdir(folder))
    except OSError as e:
        raise errors.IoError(f'cannot open "{folder}": {e.strerror}') from None
    found = [f for f in files if f.endswith(".safetensors.index.json")]
    found = found or [f for f in files if f.endswith(".safetensors")]
    if len(found) != 1:
        raise errors.FormatError(
            f"{folder}: expected one .safetensors file or one index of several, got {', '.join(found) or 'none'}"
        )
    return safetensors.load_file(os.path.join(folder, found[0]))


def _spread(packed, bits, axis):
    """The numbers of int32 words, the lowest bits first, along axis 0 or 1."""
    shifts = _neura.arange(0, 32, bits, dtype=_neura.int32)
    words = packed.unsqueeze(axis + 1)
    numbers = (words >> shifts.reshape(-1, 1) if axis == 0 else words >> shifts) & (2**bits - 1)
    return numbers.reshape(-1, packed.shape[1]) if axis == 0 else numbers.reshape(packed.shape[0], -1)


class _Packed:
    """The tensors of one layer, checked, as integers."""

    def __init__(self, name, tensors, scheme):
        self.name, self.scheme = name, scheme
        self.given = {k: tensors.pop(f"{name}.{k}", None) for k in ("qweight", "qzeros", "scales", "g_idx", "bias")}
        per_word = 32 // scheme.bits
        weight, scales = self._matrix("qweight", _neura.int32), self._matrix("scales")
        gptq = scheme.method == "gptq"
        self.inputs = weight.shape[0] * (per_word if gptq else 1)
        self.outputs = weight.shape[1] * (1 if gptq else per_word)
        group = self.inputs if scheme.group == -1 else scheme.group
        if self.inputs % group:
            self._refuse(f"groups of {group} that divide the {self.inputs} inputs", "others")
        self.groups = self.inputs // group
        zeros = self._matrix("qzeros", _neura.int32)
        wanted = {"scales": [self.groups, self.outputs], "qzeros": [self.groups, self.outputs // per_word]}
        for key, tensor in (("scales", scales), ("qzeros", zeros)):
            if list(tensor.shape) != wanted[key] or self.outputs % per_word:
                self._refuse(f"{key} {wanted[key]}", list(tensor.shape))
        self.order = self._order(group)

    def _refuse(self, expected, got):
        raise errors.FormatError(f"load_quantized: expected {expected} for the layer {self.name}, got {got}")

    def _matrix(self, key, dtype=None):
        tensor = self.given[key]
        if tensor is None or tensor.dim() != 2 or (tensor.dtype != dtype if dtype else not tensor.is_floating_point()):
            got = "none" if tensor is None else f"{tensor.dtype} {list(tensor.shape)}"
            self._refuse(f"{key} to be a matrix of {dtype or 'floats'}", got)
        return tensor

    def _order(self, group):
        """Which input each column is for, if groups are not of neighbours."""
        index = self.given["g_idx"]
        if index is None or self.groups == 1:
            return None
        index = index.to(_neura.int64)
        plain = _neura.arange(self.inputs) // group
        if list(index.shape) != [self.inputs] or not index.sort()[0].equal(plain):
            self._refuse(f"g_idx to name {self.groups} groups {group} times each", "other numbers")
        return None if index.equal(plain) else index.argsort(stable=True)

    def layer(self):
        """A WeightOnlyLinear. Numbers from 0 are kept less half of their range, as signed ones."""
        bits, middle = self.scheme.bits, 2 ** (self.scheme.bits - 1)
        if self.scheme.method == "gptq":
            weight = _spread(self.given["qweight"], bits, 0)
            zeros = _spread(self.given["qzeros"], bits, 1)
            # of the range, so that 0, which becomes -1, comes back
            zeros = (zeros + 1) & (2**bits - 1) if self.scheme.one_less else zeros
        else:
            weight, zeros = (
                _spread(self.given[k], bits, 1).reshape(-1, self.outputs // 8, 8)[:, :, _AWQ_PLACES].flatten(1)
                for k in ("qweight", "qzeros")
            )
        weight = weight if self.order is None else weight.index_select(0, self.order)
        zero = (zeros - middle).to(_neura.int8).t().contiguous()
        return WeightOnlyLinear.from_integers(
            (weight - middle).to(_neura.int8).t(),
            self.given["scales"].float().t().contiguous(),
            self.given["bias"],
            zero if bool((zero != 0).any()) else None,
            self.order,
            bits,
        )


def _linear(model, packed):
    """The float layer that the packed one replaces."""
    try:
        found = model.get_submodule(packed.name)
    except AttributeError:
        found = None
    want = f"a Linear of {packed.inputs} inputs and {packed.outputs} outputs"
    fits = type(found) in (nn.Linear, WeightOnlyLinear) and (found.in_features, found.out_features) == (
        packed.inputs,
        packed.outputs,
    )
    if not fits or (found.bias is None) != (packed.given["bias"] is None):
        got = "no such layer" if found is None else found
        raise errors.ValueError(
            f"load_quantized: expected {want}{'' if packed.given['bias'] is None else ' with a bias'} as "
            f"{packed.name} in the model, got {got}; make the model that the checkpoint is of"
        )
    return found


def load_quantized(model, path, inplace=False, strict=True):
    """The model with the weights of a GPTQ or AWQ checkpoint: its Linear layers of these names become WeightOnlyLinear,
    which keep the checkpoint's integers as they are; all other tensors are loaded as by load_state_dict.

    Args:
        model (Module): with the checkpoint's names of layers.
        path: a folder as Hugging Face has them: safetensors in one file or several with an index, and config.json
            (quantization_config), quantize_config.json or quant_config.json. GPTQ of 4 and 8 bits, in its first and
            second format, with or without activation order; AWQ (GEMM) of 4 bits.
        inplace (bool): changes the model itself instead of a copy.
        strict (bool): names that only the model or only the checkpoint has are an error.

    Returns:
        Module: in evaluation. Its memory is that of the checkpoint, about a seventh of float32's for 4 bits.

    Raises FormatError for damaged files, NotImplementedError for other schemes, ValueError where the model has other
    layers; the model is then as it was.

    >>> import neura, os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> tensors = {"0.qweight": neura.full((1, 8), 0x21212121, dtype=neura.int32),
    ...            "0.qzeros": neura.zeros(1, 1, dtype=neura.int32), "0.scales": neura.ones(1, 8).half()}
    >>> neura.safetensors.save_file(tensors, os.path.join(folder, "model.safetensors"))
    >>> with open(os.path.join(folder, "quantize_config.json"), "w") as file:
    ...     _ = file.write('{"bits": 4, "group_size": -1}')
    >>> model = neura.nn.Sequential(neura.nn.Linear(8, 8, bias=False))
    >>> neura.quantization.load_quantized(model, folder)[0].float_weight()[0]
    tensor([0., 1., 0., 1., 0., 1., 0., 1.])
    """
    folder = os.fspath(path)
    tensors = _tensors(folder)
    scheme = _scheme(folder, _config(folder))
    names = [name[: -len(".qweight")] for name in tensors if name.endswith(".qweight")]
    if not names:
        raise errors.FormatError(f"{folder}: expected layers with a qweight, got none; load it with load_state_dict")
    packed = [_Packed(name, tensors, scheme) for name in names]
    for p in packed:
        _linear(model, p)
    model = model if inplace else copy.deepcopy(model)
    before = {}
    try:
        for p in packed:
            made = p.layer()
            parent, _, last = p.name.rpartition(".")
            owner = model.get_submodule(parent) if parent else model
            before[last, owner] = getattr(owner, last)
            setattr(owner, last, made)
            tensors.update({f"{p.name}.{k}": v for k, v in made.state_dict().items()})
        model.load_state_dict(tensors, strict=strict)
    except BaseException:
        for (last, owner), layer in before.items():
            setattr(owner, last, layer)
        raise
    return model.eval()
