"""What is wrong with arguments is said in one kind of sentence: by functions, layers and whatever else C++ defines."""

import contextlib
import inspect
import io

import neura
import pytest
from neura import nn
from public_names_test import public

x = neura.ones(2, 3)


class Stranger:
    """What no function takes."""


# What nobody should call to see what happens: it ends, waits for others, reaches into the network, or
# changes what later tests see.
LEFT = {
    "neura.autograd.anomaly_mode",
    "neura.autograd.detect_anomaly",
    "neura.autograd.set_detect_anomaly",
    "neura.distributed",
    "neura.hub",
    "neura.models",  # some are gigabytes
    "neura.multiprocessing",
    "neura.set_anomaly_enabled",
    "neura.testing",
    "neura.train",
    "neura.utils.data.get_worker_info",
}


def entries():
    for name, value in public():
        if not any(name == left or name.startswith(left + ".") for left in LEFT):
            yield name, value
    for key in dir(neura.Tensor):  # as methods of a tensor
        if not key.startswith("__") and callable(getattr(neura.Tensor, key)):
            yield f"neura.Tensor.{key} of a tensor", getattr(x, key)


def binds(value, args, kwargs):
    """Could the call be meant? Then it is not made: without arguments, or for whoever takes any."""
    try:
        inspect.signature(value).bind(*args, **kwargs)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


CALLS = {
    "too few": ((), {}),
    "too many": ((Stranger(),) * 30, {}),
    "an unknown keyword": ((Stranger(),), {"nobody_has_this": 1}),
    "of a wrong type": None,
}


def wrong_calls(value):
    """(kind, args, kwargs) of calls that cannot be meant."""
    for kind, call in CALLS.items():
        if call and not binds(value, *call):
            yield kind, *call
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return
    needed = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if needed:
        yield "of a wrong type", (Stranger(),) * len(needed), {}


def texts_of(value):
    for kind, args, kwargs in wrong_calls(value):
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                value(*args, **kwargs)
        except Exception as error:
            yield kind, str(error)


def is_nanobinds(text):
    return "incompatible function arguments" in text or "nvoked with types" in text or "nanobind" in text


def test_no_public_name_answers_in_the_words_of_nanobind():
    found, seen = [], 0
    for name, value in entries():
        for kind, text in texts_of(value):
            seen += 1
            if is_nanobinds(text):
                found.append(f"{name}, {kind}: {text.splitlines()[0]}")
    assert not found
    assert seen > 3000


LAYERS = [name for name in dir(nn) if isinstance(getattr(nn, name), type) and issubclass(getattr(nn, name), nn.Module)]


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_names_itself_and_its_argument(name):
    layer = getattr(nn, name)
    for kind, text in texts_of(layer):
        assert not is_nanobinds(text), kind


SENTENCES = {
    "Linear: expected out_features, got none; pass it as the 2nd argument or by its name": lambda: nn.Linear(3),
    "Linear: expected in_features, got none; pass it as the 1st argument or by its name": lambda: nn.Linear(),
    "Linear: expected an integer for in_features, got str": lambda: nn.Linear("a", 3),
    "Linear: expected an integer for out_features, got float": lambda: nn.Linear(3, 4.0),
    "Linear: expected at most 5 arguments by position, got 6": lambda: nn.Linear(1, 2, True, None, None, 3),
    "Linear: expected an integer for in_features, got an integer beyond 64 bits": lambda: nn.Linear(2**70, 3),
    "Linear: expected True or False or None for bias, got str": lambda: nn.Linear(3, 4, "yes"),
    "Linear: got two values for in_features": lambda: nn.Linear(3, 4, in_features=3),
    "Conv2d: unknown argument 'kernel'; did you mean 'kernel_size'?": lambda: nn.Conv2d(3, 4, kernel=3),
    "Conv2d: expected kernel_size, got none; pass it as the 3rd argument or by its name": lambda: nn.Conv2d(3, 4),
    "Conv2d: expected numbers, 'same' or 'valid' for padding, got float": lambda: nn.Conv2d(3, 4, 3, padding=0.5),
    "MaxPool2d: expected an integer or integers for kernel_size, got str": lambda: nn.MaxPool2d("a"),
    "BatchNorm1d: expected a number or None for momentum, got str": lambda: nn.BatchNorm1d(3, momentum="a"),
    "LSTM: expected True or False or None for bias, got int": lambda: nn.LSTM(2, 3, bias=1),
    "LSTM: unknown argument 'nonlinearity'; expected one of": lambda: nn.LSTM(2, 3, nonlinearity="relu"),
    "AvgPool1d: unknown argument 'divisor_override'; expected one of": lambda: nn.AvgPool1d(2, divisor_override=3),
    "GaussianNLLLoss: expected at most 0 arguments by position, got 1": lambda: nn.GaussianNLLLoss(True),
    "CrossEntropyLoss: expected a tensor or None for weight, got list": lambda: nn.CrossEntropyLoss([1, 2]),
    "MSELoss: expected a text for reduction, got int": lambda: nn.MSELoss(reduction=1),
    "LeakyReLU: expected a number for negative_slope, got str": lambda: nn.LeakyReLU("a"),
    "Threshold: expected value, got none; pass it as the 2nd argument or by its name": lambda: nn.Threshold(1),
    "TransformerEncoder: expected a module for encoder_layer, got int": lambda: nn.TransformerEncoder(3, 2),
    "Transformer: expected a module or None for custom_encoder, got int": lambda: nn.Transformer(custom_encoder=3),
    "Embedding: expected a tensor or None for _weight, got list": lambda: nn.Embedding(2, 3, _weight=[1]),
    "ModuleList: expected at most 1 argument by position, got 2": lambda: nn.ModuleList([], []),
    "Sequential: unknown argument 'args'; expected": lambda: nn.Sequential(args=()),
    "matmul: expected other, got none; pass it by position or by its name": lambda: neura.matmul(x),
    "exp: expected input, got none; pass it by position or by its name": lambda: neura.exp(),
    "layer_norm: expected normalized_shape, got none; pass it as the 2nd argument or by its name": (
        lambda: nn.functional.layer_norm(x)
    ),
    "exp: expected at most 1 argument by position, got 2": lambda: neura.exp(x, x),
    "trunc_normal_: expected tensor, got none; pass it as the 1st argument or by its name": (
        lambda: nn.init.trunc_normal_()
    ),
}


@pytest.mark.parametrize("text", SENTENCES)
def test_the_sentence_names_the_argument_and_what_fits(text):
    with pytest.raises(TypeError) as error:
        SENTENCES[text]()
    assert str(error.value).startswith(text)


def test_no_bias_is_none_as_in_torch():
    assert nn.Linear(2, 3, bias=None).bias is None
    assert nn.Linear(2, 3, None).bias is None
    assert nn.Conv2d(1, 2, 3, bias=None).bias is None


def test_a_failed_constructor_leaves_no_module():
    layer = nn.Linear.__new__(nn.Linear)
    with pytest.raises(TypeError):
        layer.__init__(3)
    with pytest.raises(AttributeError):
        layer.weight
    layer.__init__(3, 4)
    assert layer.weight.shape == (4, 3)
