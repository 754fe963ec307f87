"""Functions that are written in Python refuse arguments of another kind as those of C++ do: typed, with a sentence."""

import inspect
import warnings

import neura
import pytest
from neura import _functions, _methods, _network, errors

x = neura.ones(2, 3)
HOSTILE = [
    None,
    "text",
    [],
    [None],
    {},
    object(),
    1j,
    b"x",
    float("nan"),
    -1,
    2**70,
    (1, "a"),
    lambda *args: 0,
    neura.int8,
]
GOOD = {  # by the name of the parameter; a tensor otherwise
    "dim index padding_idx pad N C HxW blank num size": 0,
    "start split_size group groups num_groups stride dilation": 1,
    "end step reduction pow shared debug_mode": 2,
    "p eps momentum margin norm_type max_norm": 0.5,
    "train training transposed use_input_stats pred non_blocking": True,
    "true_fn false_fn callable": lambda *args: neura.ones(2, 3),
    "cond_fn": lambda *args: False,
    "body_fn": lambda *args: args,
    "operands carried_inputs": (1,),
    "filename": "/nowhere/at/all",
    "t": "torch.FloatTensor",
}
GOOD = {name: value for names, value in GOOD.items() for name in names.split()}
FREE = set("is_storage typename _assert _check compiled_with_cxx11_abi sym_not sym_ite set_flush_denormal".split())


def own(module):
    found = {n: f for n, f in vars(module).items() if inspect.isfunction(f) and f.__module__ == module.__name__}
    return {n: f for n, f in found.items() if n not in FREE and (n[0] != "_" or n == "_check")}


FUNCTIONS = own(_functions) | own(_network)
METHODS = {n: f for n, f in vars(_methods.TensorMethods).items() if inspect.isfunction(f) and n[:2] != "__"}


def refused_well(call):
    try:
        call()
    except errors.Error:
        return True
    except (TypeError, OSError) as error:  # of what C++ defines, and of the system
        return isinstance(error, OSError) or str(error).split(": ")[0].isidentifier()
    except Exception:
        return False
    return True


def wrong_calls(function):
    parameters = list(inspect.signature(function).parameters.values())
    parameters = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    values = [GOOD.get(p.name, x) if p.default is p.empty else p.default for p in parameters]
    for i, p in enumerate(parameters):
        for wrong in HOSTILE:
            chosen = [*values[:i], wrong, *values[i + 1 :]]
            by_name = {p.name: v for p, v in zip(parameters, chosen) if p.kind is p.KEYWORD_ONLY}
            yield [v for p, v in zip(parameters, chosen) if p.kind is not p.KEYWORD_ONLY], by_name


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions(name):
    warnings.simplefilter("ignore")
    function = FUNCTIONS[name]
    before, mode = neura.get_default_dtype(), neura.get_deterministic_debug_mode()
    for args, keywords in wrong_calls(function):
        try:
            assert refused_well(lambda: function(*args, **keywords)), (args, keywords)
        finally:
            neura.set_default_dtype(before)
            neura.set_deterministic_debug_mode(mode)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_methods(name):
    function = METHODS[name]
    for args, keywords in wrong_calls(function):
        if args and isinstance(args[0], neura.Tensor):
            args[0] = x.clone()
            assert refused_well(lambda: function(*args, **keywords)), (args, keywords)


def test_sentences():
    for text, call in {
        "range: expected a number for end, got str": lambda: neura.range(1, "2"),
        "range: expected a dtype or None for dtype, got str": lambda: neura.range(1, dtype="float"),
        "select_copy: expected a tensor for input, got NoneType": lambda: neura.select_copy(None, 0, 0),
        "slice_copy: expected an integer for step, got str": lambda: neura.slice_copy(x, 0, 0, 1, "s"),
        "cond: expected a function for true_fn, got int": lambda: neura.cond(True, 1, 2),
        "conv_tbc: expected a tensor for bias, got list": lambda: neura.conv_tbc(x, x, []),
        "ctc_loss: expected an integer for reduction, got str": lambda: neura.ctc_loss(x, x, x, x, 0, "mean"),
        "apply_: expected a function for callable, got NoneType": lambda: x.apply_(None),
        "map_: expected a tensor for tensor, got int": lambda: x.map_(1, max),
        "copy_: expected a storage for source, got NoneType": lambda: x.untyped_storage().copy_(None),
    }.items():
        with pytest.raises(errors.ArgumentError) as error:
            call()
        assert str(error.value) == text
