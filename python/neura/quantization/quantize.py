"""Models with integers instead of floats: calibrated, trained with them, or with integer weights alone."""

import copy

from .. import _neura, nn
from .._neura import errors
from ..autograd.grad_mode import no_grad
from ..nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from . import _layers
from ._parameters import rows_quantized
from ._prepared import Prepared, PreparedConv2d, PreparedConvBn2d, PreparedLinear, supported_conv
from .qconfig import get_default_qat_qconfig, get_default_qconfig

__all__ = ["convert", "convert_qat", "fuse_modules", "prepare", "prepare_qat", "quantize_dynamic", "quantize_weights"]


def _replace(model, make):
    """The model with make(child, name) in place of each module below it for which that is not None."""

    def walk(module, prefix):
        for name, child in list(module.named_children()):
            made = make(child, prefix + name)
            if made is not None:
                setattr(module, name, made)
            else:
                walk(child, f"{prefix}{name}.")

    whole = make(model, "")
    if whole is not None:
        return whole
    walk(model, "")
    return model


def _check_skip(op, skip):
    if isinstance(skip, str):  # "0" in "10" is true
        raise errors.ArgumentError(
            f"{op}: expected skip to be a list of names, got the text {skip!r}; write [{skip!r}]"
        )


def _own(model, inplace):
    return model if inplace else copy.deepcopy(model)


def _pairs(model):
    """(Sequential, name, layer, name of the normalisation, the normalisation) of neighbours in Sequentials."""
    wanted = {nn.Conv2d: nn.BatchNorm2d, nn.Linear: nn.BatchNorm1d}
    for module in list(model.modules()):
        if not isinstance(module, nn.Sequential):
            continue
        children = list(module.named_children())
        for (name, layer), (bn_name, bn) in zip(children, children[1:]):
            if type(bn) is wanted.get(type(layer)) and bn.running_mean is not None:
                yield module, name, layer, bn_name, bn


def _fused(layer, bn):
    """The layer with the normalisation after it folded in."""
    return (fuse_conv_bn_eval if isinstance(layer, nn.Conv2d) else fuse_linear_bn_eval)(layer, bn)


def fuse_modules(model, modules_to_fuse, inplace=False):
    """Folds batch normalisations into the layers before them, by name. The model must be evaluating.

    Args:
        model (Module): in evaluation.
        modules_to_fuse (list): of lists of names: a Conv2d (or Linear) and the normalisation after it, and perhaps a
            ReLU, which stays where it is.
        inplace (bool): changes the model itself instead of a copy.

    Returns:
        Module: with Identity in place of the normalisations.

    >>> import neura
    >>> model = neura.nn.Sequential(neura.nn.Conv2d(1, 2, 3), neura.nn.BatchNorm2d(2), neura.nn.ReLU()).eval()
    >>> neura.quantization.fuse_modules(model, [["0", "1", "2"]])[1]
    Identity()
    """
    model = _own(model, inplace)
    lists = [modules_to_fuse] if modules_to_fuse and isinstance(modules_to_fuse[0], str) else modules_to_fuse
    for names in lists:
        layer, bn = model.get_submodule(names[0]), model.get_submodule(names[1])
        if not isinstance(bn, (nn.BatchNorm1d, nn.BatchNorm2d)) or not isinstance(layer, (nn.Linear, nn.Conv2d)):
            raise errors.ValueError(
                f"fuse_modules: expected a Conv2d or Linear and a batch normalisation, got {type(layer).__name__} and "
                f"{type(bn).__name__}"
            )
        for name, made in ((names[0], _fused(layer, bn)), (names[1], nn.Identity())):
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent) if parent else model, last, made)
    return model


def _prepared(layer, qconfig):
    if type(layer) is nn.Linear:
        return PreparedLinear(layer, qconfig)
    if type(layer) is nn.Conv2d and supported_conv(layer):
        return PreparedConv2d(layer, qconfig)
    return None


def prepare(model, qconfig=None, inplace=False, skip=()):
    """The model with observers at the inputs and weights of its Linear and Conv2d layers, to be run on data.

    Batch normalisations right after them in a Sequential are folded in. Then run the model on a few hundred examples,
    and call convert().

    Args:
        model (Module): in evaluation; ValueError otherwise.
        qconfig (QConfig): get_default_qconfig() by default.
        inplace (bool): changes the model itself instead of a copy.
        skip (list): names of layers that stay float, such as the first or the last one.

    Returns:
        Module: that computes as before. One that is prepared already stays as it is.

    >>> import neura
    >>> _ = neura.manual_seed(0)
    >>> model = neura.nn.Sequential(neura.nn.Linear(8, 16), neura.nn.ReLU(), neura.nn.Linear(16, 4)).eval()
    >>> x = neura.randn(64, 8)
    >>> prepared = neura.quantization.prepare(model)
    >>> _ = prepared(x)
    >>> quantized = neura.quantization.convert(prepared)
    >>> quantized[0].weight.dtype, bool((quantized(x) - model(x)).abs().max() < 0.05)
    (neura.int8, True)
    """
    _check_skip("prepare", skip)
    if any(m.training for m in model.modules()):
        raise errors.ValueError(
            "prepare: expected a model in evaluation, got one in training; call eval(), or prepare_qat()"
        )
    qconfig = qconfig or get_default_qconfig()
    model = _own(model, inplace)
    for module, name, layer, bn_name, bn in list(_pairs(model)):
        setattr(module, name, _fused(layer, bn))
        setattr(module, bn_name, nn.Identity())

    def make(layer, name):
        if isinstance(layer, Prepared) or name in skip:
            return layer
        made = _prepared(layer, qconfig)
        if made is not None:
            made.input_fake_quant.disable_fake_quant()
            made.weight_fake_quant.disable_fake_quant()
        return made

    return _replace(model, make).eval()


def prepare_qat(model, qconfig=None, inplace=False, skip=()):
    """The model with fake quantisation at the inputs and weights of its Linear and Conv2d layers, to be trained on.

    A BatchNorm2d right after a Conv2d in a Sequential becomes part of it: the weight is rounded with its factor.
    After most of the training, freeze the grids, and the statistics of the normalisations:
    model.apply(disable_observer), model.apply(freeze_bn_stats).

    Args:
        model (Module): in training or evaluation, which it stays.
        qconfig (QConfig): get_default_qat_qconfig() by default.
        inplace (bool): changes the model itself instead of a copy.
        skip (list): names of layers that stay float.

    Returns:
        Module: whose parameters are still float. One that is prepared already stays as it is.

    >>> import neura
    >>> model = neura.quantization.prepare_qat(neura.nn.Sequential(neura.nn.Linear(4, 2)))
    >>> model(neura.randn(3, 4)).sum().backward()
    >>> model[0].weight.grad.shape, model[0].weight_fake_quant.quant_max
    (neura.Size([2, 4]), 127)
    """
    _check_skip("prepare_qat", skip)
    qconfig = qconfig or get_default_qat_qconfig()
    model = _own(model, inplace)
    names = {id(module): name for name, module in model.named_modules()}
    for module, name, layer, bn_name, bn in list(_pairs(model)):
        if isinstance(layer, nn.Conv2d) and supported_conv(layer) and names[id(layer)] not in skip:
            setattr(module, name, PreparedConvBn2d(layer, qconfig, bn))
            setattr(module, bn_name, nn.Identity())

    def make(layer, name):
        return layer if isinstance(layer, Prepared) or name in skip else _prepared(layer, qconfig)

    return _replace(model, make)


def _static_arguments(layer, relu):
    fake = layer.weight_fake_quant
    weight, bias = (None if t is None else t.detach().float() for t in layer.folded())
    if fake._observes:
        layer.observe_weight()
    scale, zero = fake.scale, fake.zero_point
    if bool((zero != 0).any()):
        raise errors.ValueError("convert: expected weights with a symmetric scheme, got zero points other than 0")
    if scale.numel() == 1:
        scale, zero = scale.expand(weight.shape[0]).contiguous(), zero.expand(weight.shape[0]).contiguous()
    q = _neura.quantize_affine(weight, scale, zero, fake.quant_min, fake.quant_max, axis=0, dtype=_neura.int8)
    inputs = layer.input_fake_quant
    if inputs._observes:
        inputs.refresh()
    shift = 0 if inputs.activation_post_process.dtype == _neura.uint8 else 128  # int8 as uint8: the same steps
    return dict(
        weight=q,
        weight_scale=scale.clone(),
        bias=bias,
        scale=inputs.scale.clone(),
        zero_point=(inputs.zero_point + shift).to(_neura.int32),
        quant_min=inputs.quant_min + shift,
        quant_max=inputs.quant_max + shift,
        relu=relu,
    )


def _converted(layer, relu=False):
    arguments = _static_arguments(layer, relu)
    if isinstance(layer, PreparedLinear):
        made = _layers.Linear(**arguments)
    else:
        windows = dict(stride=layer.stride, padding=layer.padding, dilation=layer.dilation, groups=layer.groups)
        made = _layers.Conv2d(**arguments, **windows)
    made.derived()
    return made


def convert(model, inplace=False):
    """The model that prepare() or prepare_qat() made, with integers: int8 weights, uint8 inputs, exact int32 sums.

    A ReLU right after such a layer in a Sequential becomes part of it. All else stays float, and sees float.

    Args:
        model (Module): that has seen data; RuntimeError otherwise.
        inplace (bool): changes the model itself instead of a copy.

    Returns:
        Module: in evaluation, for inference alone: its results have no gradient.

    >>> import neura
    >>> model = neura.quantization.prepare_qat(neura.nn.Sequential(neura.nn.Linear(4, 2)))
    >>> x = neura.randn(3, 4)
    >>> _ = model(x)
    >>> fake = model.apply(neura.quantization.disable_observer).eval()(x)
    >>> neura.allclose(neura.quantization.convert(model)(x), fake, atol=1e-4)
    True
    """
    model = _own(model, inplace).eval()
    with no_grad():
        for module in list(model.modules()):
            if not isinstance(module, nn.Sequential):
                continue
            children = [(n, c) for n, c in module.named_children() if type(c) is not nn.Identity]
            for (name, layer), (after, relu) in zip(children, children[1:]):
                if isinstance(layer, Prepared) and type(relu) is nn.ReLU:
                    setattr(module, name, _converted(layer, relu=True))
                    setattr(module, after, nn.Identity())
        return _replace(model, lambda m, name: _converted(m) if isinstance(m, Prepared) else None)


convert_qat = convert


def quantize_dynamic(model, inplace=False, skip=()):
    """The model with int8 weights in its Linear layers, and grids of their inputs that each call chooses by the range.

    Needs no data beforehand. For models whose time goes into Linear layers, such as transformers.

    Args:
        model (Module): any.
        inplace (bool): changes the model itself instead of a copy.
        skip (list): names of layers that stay float.

    Returns:
        Module: for inference alone.

    >>> import neura
    >>> model = neura.nn.Sequential(neura.nn.Linear(64, 32), neura.nn.ReLU())
    >>> x = neura.randn(5, 64)
    >>> bool((neura.quantization.quantize_dynamic(model)(x) - model(x)).abs().max() < 0.05)
    True
    """

    _check_skip("quantize_dynamic", skip)

    def make(layer, name):
        if type(layer) is not nn.Linear or name in skip:
            return None
        with no_grad():
            q, scale = rows_quantized(layer.weight.detach().float(), 8)
            bias = None if layer.bias is None else layer.bias.detach().float().clone()
            return _layers.DynamicLinear(q, scale, bias)

    return _replace(_own(model, inplace), make)


def quantize_weights(model, bits=8, group=32, inplace=False, skip=()):
    """The model with weights of 8 or 4 bits in its Linear layers, which compute in float as before.

    Args:
        model (Module): any.
        bits (int): 8 or 4.
        group (int): so many weights of a row share a scale. Layers whose in_features it does not divide stay float, and
            of 4 bits those whose in_features are odd.
        inplace (bool): changes the model itself instead of a copy.
        skip (list): names of layers that stay float.

    Returns:
        Module: of about a quarter (8 bits) or a seventh (4 bits) of the size.

    >>> import neura
    >>> model = neura.quantization.quantize_weights(neura.nn.Linear(64, 8), bits=4)
    >>> model.weight.shape, model.weight.dtype
    (neura.Size([8, 32]), neura.uint8)
    """

    _check_skip("quantize_weights", skip)
    _layers.check_bits(bits, group)

    def make(layer, name):
        if type(layer) is not nn.Linear or name in skip:
            return None
        if layer.in_features % group or (bits == 4 and layer.in_features % 2):
            return None
        with no_grad():
            return _layers.WeightOnlyLinear(layer, bits, group)

    return _replace(_own(model, inplace), make)
