"""Every entry of the list of public functions in every form: function, method, in place, out=; over tensors that lie
in memory in different ways. What is called is found by walking docs/functions.md, which is made from the list, and what
to call it with by the types of its parameters."""

import functools
import inspect
import itertools
import pathlib
import re

import neura
import pytest
from neura._signatures import _parameters

PAGE = (pathlib.Path(__file__).parents[2] / "docs" / "functions.md").read_text()
ENTRY = re.compile(r"^\| `(\w+)\(.*\)`(?:<br>also in (\S+))? \| ([^|]*) \| ")
TYPED = (neura.errors.Error, TypeError)
UNINITIALISED = re.compile(r"(new_)?empty(_.*)?|resize_.*")
TENSORS = ("neura.Tensor", "neura.Tensor | number")
LIST = "collections.abc.Sequence[neura.Tensor]"


def entries():
    module = None
    for line in PAGE.splitlines():
        if line.startswith("## "):
            module = line[3:]
        elif match := ENTRY.match(line):
            name, also, forms = match.groups()
            yield module, name, also, tuple(forms.split(", "))


ALL = list(entries())


def module_of(name):
    found = neura
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def function_of(module, name, forms):
    return getattr(module_of(module) if "function" in forms else neura.Tensor, name)


def sliced(x):
    wide = neura.zeros((*x.shape[:-1], 2 * x.shape[-1] + 1), dtype=x.dtype)
    return wide[..., 1::2].copy_(x)


def with_an_offset(x):
    return neura.zeros(x.numel() + 3, dtype=x.dtype)[3:].view(x.shape).copy_(x)


# The same values (but for "expanded") that lie in memory in other ways.
LAYOUTS = {
    "contiguous": lambda x: x.clone(),
    "sliced": lambda x: sliced(x) if x.dim() else x,
    "with an offset": with_an_offset,
    "transposed": lambda x: x.transpose(0, -1).contiguous().transpose(0, -1) if x.dim() > 1 else x,
    "expanded": lambda x: x[:1].expand(x.shape) if x.dim() and len(x) else x,
}
# What tells or depends on how a tensor lies.
LIES = {"as_strided", "as_strided_", "as_strided_copy", "data_ptr", "dim_order", "is_contiguous", "is_set_to"}
LIES |= {"storage_offset", "stride", "view", "view_as"}


def drawn(shape, dtype):
    neura.manual_seed(7)
    if dtype.is_floating_point:
        x = neura.rand(shape, dtype=dtype) * 0.8 + 0.1
        if len(shape) > 1 and shape[-1] == shape[-2]:  # positive definite, for what wants it
            x = (x + x.mT) / 2 + 2 * neura.eye(shape[-1], dtype=dtype)
        return x
    return neura.randint(0, 2, shape).to(dtype)


SHAPES = ((3, 3), (4,), (2, 3, 4), (2, 3, 4, 4), (2, 2, 3, 4, 4), (), (2, 3, 3))
TWO_SHAPES = (((3, 3), (3,)), ((2, 3, 4), (3,)), ((2, 3, 4, 4), (3, 2, 2, 2)), ((2, 3, 4), (3, 2, 2)))
TWO_SHAPES += (((2, 3, 4, 4), (2, 2, 2, 2)), ((2, 3, 2, 4, 4), (2, 2, 2, 2, 3)), ((3, 3), (2, 3, 3)))
NUMBERS = {
    "int": (1, 0, 2, 3),
    "float": (0.5, 2.0),
    "number": (0.5, 2),
    "bool": (True,),
    "int | tuple[int, ...]": (0, 1, (0, 1), 2),
    "collections.abc.Sequence[int]": ([0, 1], [1, 2]),
    "collections.abc.Sequence[float]": ([0.5, 0.5],),
    "collections.abc.Sequence[tuple[int, ...]]": ([(0,), (1,)],),
    "neura.dtype": (neura.float64,),
    "neura.device | str": ("cpu",),
    "str": ("ij->ji", "mean", "sum"),
}


def tensor_draws(count):
    """Values for `count` tensors: of one shape and dtype, or with integers from the second on."""
    for shape in SHAPES:
        yield [drawn(shape, neura.float64)] * count
        if count > 1:
            yield [drawn(shape, neura.float64)] + [drawn(shape, neura.int64)] * (count - 1)
            yield [drawn(shape, neura.float64)] + [neura.tensor([0, 1])] * (count - 2) + [drawn(shape, neura.float64)]
    if count > 1:  # of two shapes, or a mask
        for first, others in TWO_SHAPES:
            yield [drawn(first, neura.float64)] + [drawn(others, neura.float64)] * (count - 1)
        yield [drawn((3, 3), neura.float64), drawn((3, 3), neura.bool)] + [drawn((), neura.float64)] * (count - 2)
    for dtype in (neura.int64, neura.bool, neura.complex128):
        yield [drawn((3, 3), neura.float64).to(dtype)] * count


def required(function):
    """{name: type} of the required parameters of each overload."""
    for text, _, defaults in function.__nb_signature__:
        parameters = _parameters(text, defaults or ())[0]
        if not any(p.kind == p.VAR_POSITIONAL for p in parameters):  # the same function takes a list as well
            wanted = [p for p in parameters if p.default is p.empty]
            yield {p.name.replace("from_", "from"): p.annotation.removesuffix(" | None") for p in wanted}


def framed(**others):
    """Arguments of spectrograms and what they are made of."""
    x, window = drawn((2, 40), neura.float64), neura.hann_window(8, dtype=neura.float64)
    sizes = {"window": window, "n_fft": 8, "hop_length": 2, "win_length": 8}
    return {"waveform": x, "pad": 1} | sizes | others


def quantised(dtype, channels=1, **others):
    """An input with its grid."""
    scale, zero = drawn((channels,), neura.float32), drawn((channels,), neura.int32)
    return {"input": drawn((3, 3), dtype), "scale": scale, "zero_point": zero} | others


GIVEN = {  # what draws do not find
    "fake_quantize_per_channel_affine": lambda: quantised(neura.float64, 3, axis=0, quant_min=-8, quant_max=7),
    "quantize_affine": lambda: quantised(neura.float64),
    "requantize_affine": lambda: quantised(neura.int32),
    "dequantize_affine": lambda: quantised(neura.int8),
    "integer_matmul": lambda: {"input": drawn((2, 3, 4), neura.int8), "other": drawn((4, 2), neura.uint8)},
    "integer_pack": lambda: {"other": drawn((4, 2), neura.int8)},
    "spectrogram": lambda: framed(power=2.0, normalized=True),
    "spectral_centroid": lambda: framed(sample_rate=8000),
    "phase_vocoder": lambda: {
        "complex_specgrams": drawn((3, 6), neura.float64).to(neura.complex128),
        "rate": 1.5,
        "phase_advance": drawn((3, 1), neura.float64),
    },
    "melscale_fbanks": lambda: {"n_freqs": 9, "f_min": 0.0, "f_max": 4000.0, "n_mels": 4, "sample_rate": 8000},
    "linear_fbanks": lambda: {"n_freqs": 9, "f_min": 0.0, "f_max": 4000.0, "n_filter": 4, "sample_rate": 8000},
    "create_dct": lambda: {"n_mfcc": 3, "n_mels": 5, "norm": "ortho"},
}


def choices(kind, first):
    if kind == LIST:
        return ([first, first],)
    if kind == "tuple[int, ...]":  # a shape: that of the first tensor, or an order of its dimensions
        return (
            (tuple(first.shape), (first.numel(),), tuple(range(first.dim()))[::-1]) if first is not None else ((2, 3),)
        )
    return NUMBERS.get(kind, ())


def calls(function):
    """Keywords to try: values for what is required, by their types."""
    for wanted in required(function):
        tensors = [name for name, kind in wanted.items() if kind in TENSORS]
        others = {name: kind for name, kind in wanted.items() if kind not in TENSORS}
        for values in tensor_draws(max(len(tensors), 1)) if tensors or LIST in others.values() else [[]]:
            drawn_choices = [choices(kind, values[0] if values else None) for kind in others.values()]
            for numbers in itertools.islice(itertools.product(*drawn_choices), 12):
                given = dict(zip(tensors, values)) | dict(zip(others, numbers))
                yield {name: given[name] for name in wanted}


def changed(args, change):
    """The arguments, with what `change` makes of each tensor."""

    def one(a):
        return change(a) if isinstance(a, neura.Tensor) else [one(b) for b in a] if isinstance(a, list) else a

    return {name: one(value) for name, value in args.items()}


def fresh(args):
    return changed(args, lambda t: t.clone(memory_format=neura.contiguous_format))


def run(function, *args, **named):
    neura.manual_seed(3)  # what draws numbers draws the same ones
    return function(*args, **named)


@functools.lru_cache(None)
def arguments(module, name, forms):
    """What the function can be called with, or None; and the errors on the way."""
    function, errors = function_of(module, name, forms), []
    for args in [GIVEN[name]()] if name in GIVEN else calls(function):
        try:
            run(function, **fresh(args))
            return args, errors
        except Exception as error:
            errors.append(error)
    return None, errors


def parts(result):
    if isinstance(result, neura.Tensor):
        return [result]
    return [t for part in result for t in parts(part)] if isinstance(result, (tuple, list)) else []


def agree(got, want, name, what):
    if not parts(want):
        assert got == want, f"{name}: {what}"
        return
    assert len(parts(got)) == len(parts(want)), f"{name}: {what}"
    for a, b in zip(parts(got), parts(want)):
        assert a.shape == b.shape and a.dtype is b.dtype, f"{name}: {what}"
        if not UNINITIALISED.fullmatch(name):
            neura.testing.assert_close(a, b, equal_nan=True, msg=lambda text: f"{name}: {what}: {text}")


def outcome(function, args):
    """The result, or the type of the error."""
    try:
        return run(function, **args)
    except TYPED as error:
        return type(error)


def check_layouts(function, name, args):
    for kind, change in LAYOUTS.items():
        if kind == "expanded" and (name.endswith("_") or name == "native_batch_norm"):  # it writes them
            continue
        lying = changed(fresh(args), change)
        want = outcome(function, fresh(lying))
        got = outcome(function, lying)
        if isinstance(want, type) or isinstance(got, type):
            assert want is got, f"{name}: {kind}: {got}, but of contiguous tensors {want}"
        else:
            agree(got, want, name, kind)


def check_in_place(name, method, args, key, want):
    for kind in ("contiguous", "sliced", "transposed"):
        named = changed(fresh(args), LAYOUTS[kind])
        self = named.pop(key)
        fits = isinstance(want, neura.Tensor) and want.shape == self.shape and want.dtype is self.dtype
        try:
            result = run(method, self, **named)
        except TYPED:
            assert not fits, f"{name}_: {kind}"
            continue
        assert result is self, name
        agree(self, want.to(self.dtype), name, "in place, " + kind)


def check_out(function, name, args, want):
    for kind in ("resized", "sliced"):
        outs = [t.new_empty(0) if kind == "resized" else LAYOUTS[kind](neura.zeros_like(t)) for t in parts(want)]
        places = [t.data_ptr() for t in outs]
        result = run(function, **fresh(args), out=outs[0] if isinstance(want, neura.Tensor) else tuple(outs))
        assert all(a is b for a, b in zip(parts(result), outs)), f"{name}: out="
        agree(outs, parts(want), name, "out=, " + kind)
        assert kind == "resized" or places == [t.data_ptr() for t in outs], f"{name}: out= has moved"


IDS = [f"{module}.{name}" for module, name, _, _ in ALL]


@pytest.mark.parametrize("module, name, also, forms", ALL, ids=IDS)
def test_forms_agree(module, name, also, forms):
    args, errors = arguments(module, name, forms)
    assert all(isinstance(error, TYPED) for error in errors), errors
    if args is None:
        pytest.skip("no drawn arguments fit")
    function = function_of(module, name, forms)
    want = run(function, **fresh(args))
    key = "input" if "input" in args else next(iter(args), None)
    if "method" in forms:
        named = fresh(args)
        got = run(getattr(neura.Tensor, name), named.pop(key), **named)
        if name not in LIES:
            agree(got, want, name, "method")
    if "in place" in forms:
        check_in_place(name, getattr(neura.Tensor, name + "_"), args, key, want)
    if "out=" in forms:
        check_out(function, name, args, want)
    if name not in LIES:
        check_layouts(function, name, args)


def test_most_functions_are_called():
    assert len(ALL) > 500
    assert sum(arguments(module, name, forms)[0] is not None for module, name, _, forms in ALL) > 0.9 * len(ALL)


def test_each_entry_has_the_forms_that_the_page_names():
    for module, name, also, forms in ALL:
        function = function_of(module, name, forms)
        assert type(function).__name__ == "function" and function.__name__ == name and function.__doc__, name
        assert ("method" in forms) <= hasattr(neura.Tensor, name), name
        assert ("in place" in forms) <= hasattr(neura.Tensor, name + "_"), name
        assert ("out=" in forms) == ("out" in inspect.signature(function).parameters), name
        if also:
            assert getattr(module_of(also), name) is function


def test_what_is_no_argument_is_refused_by_name():
    for module, name, _, forms in ALL:
        function = function_of(module, name, forms)
        with pytest.raises(TypeError, match=f"{name}: "):
            function(object(), object(), object(), object())
        with pytest.raises(TypeError, match=f"{name}: unknown argument 'nothing'"):
            function(nothing=1)


def test_a_call_of_a_method_makes_no_object_that_binds_it():
    descriptor = 1 << 17  # Py_TPFLAGS_METHOD_DESCRIPTOR
    for name in ("sum", "dim", "view", "numpy", "add_", "exp"):
        method = neura.Tensor.__dict__[name]
        assert type(method).__flags__ & descriptor
        assert method.__func__ is getattr(neura.Tensor, name) and method.__name__ == name
    bound = neura.ones(3).sum
    assert bound() == 3 and bound.__func__ is neura.Tensor.sum
