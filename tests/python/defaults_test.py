"""A default that C++ and Python both state is the same: every function and class, found by walking the package."""

import inspect
import re

import defaults_of_cpp
import neura
import pytest
from public_names_test import stubs

NUMBER = re.compile(r"[-+\d.e/* ()]+")
WORDS = {"true": True, "false": False, "infinity": float("inf"), "Reduction::mean": "mean"}
NOTHING = {"{}", "nullptr", "std::nullopt", "none", "default_device()", "default_dtype()"}
DIFFERENT = {  # what bears the name of something else in C++, and PyTorch's words where C++ has a number
    ("neura.cpu.Stream", "priority"),
    ("neura.embedding", "padding_idx"),
    ("neura.functional.norm", "p"),
    ("neura.graph.load", "mmap"),
    ("neura.linalg.cross", "dim"),
    ("neura.linalg.diagonal", "dim1"),
    ("neura.linalg.diagonal", "dim2"),
    ("neura.linalg.matrix_norm", "ord"),
    ("neura.norm", "p"),
    ("neura.Tensor.norm", "p"),
}
ELSEWHERE = {"export_model": "neura.onnx.export", "load_program": "neura.graph.load", "read_wav": "neura.audio.load"}
OF_CPP = {  # (struct, option): what Python has no argument for, or says by other words
    ("CheckpointModuleOptions", "preserve_random"),
    ("CheckpointOptions", "check"),
    ("CheckpointOptions", "preserve_random"),
    ("DataLoaderOptions", "seed"),
    ("EmbeddingBagOptions", "table"),
    ("ExportOptions", "dynamic"),
    ("ExportOptions", "weights"),
    ("FractionalPoolOptions", "random_samples"),
    ("KlDivOptions", "batchmean"),
    ("Options", "devices"),
    ("Options", "memory"),
    ("Options", "shapes"),
    ("Options", "tensor"),
    ("RandomSplitOptions", "seed"),
    ("RunOptions", "maximize"),
    ("RunOptions", "patience"),
    ("StepOptions", "epoch"),
    ("StepOptions", "metrics"),
}


def value_of(text):
    """What a default of C++ is in Python; None: nothing is given."""
    if text in NOTHING:
        return None
    if text in WORDS:
        return WORDS[text]
    if NUMBER.fullmatch(text):
        return eval(text)
    if text[0] == "{":
        return tuple(value_of(part) for part in defaults_of_cpp.parts(text[1:-1]))
    return text.strip("\"'").rpartition("::")[2]


def agree(said, given):
    """None in Python says that C++ knows: there the default stands once."""
    if given is None or said == given or (said is None and given in ("", (), [])):
        return True
    if said in neura._neura._reductions and isinstance(given, int):  # as torch's functions beside nn.functional say it
        return neura._neura._reductions[given] == said
    if isinstance(given, tuple) and isinstance(said, (int, float)):  # for each dimension
        return all(one == said for one in given)
    if isinstance(said, tuple):
        given = tuple(given) if isinstance(given, (tuple, list)) else (given,)
        return len(said) == len(given) and all(agree(*both) for both in zip(said, given))
    return isinstance(said, str) and str(given).rpartition(".")[2] == said


def signatures(function):
    from neura import _signatures

    for text, _, defaults in getattr(function, "__nb_signature__", ()):
        try:
            yield _signatures._parameters(text, defaults or ())[0]
        except SyntaxError:
            pass
    try:
        yield inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        pass


def defaults():
    """name -> [(place, {argument: default})] of all that can be called."""
    found = {}
    for home, module in [*stubs.public_modules(neura).items(), ("neura.Tensor", neura.Tensor)]:
        for name in stubs.public_names(module) if home != "neura.Tensor" else dir(module):
            function = getattr(module, name)
            for parameters in signatures(function) if callable(function) else ():
                given = {p.name: p.default for p in parameters}
                found.setdefault(name, []).append((f"{home}.{name}", given))
    return found


PYTHON = defaults()


def places_of(name):
    """All of that name. ConvNd is Conv1d, Conv2d and Conv3d."""
    if name in ELSEWHERE:
        return [both for both in PYTHON[ELSEWHERE[name].rpartition(".")[2]] if both[0] == ELSEWHERE[name]]
    names = [f"{name[:-2]}{n}d" for n in (1, 2, 3)] if name.endswith("Nd") else [name]
    return [both for name in names for both in PYTHON.get(name, ())]


def differences(cpp):
    """(what was compared, what differs, options that were not compared)"""
    compared, wrong, options, reached = set(), set(), set(), set()
    for name, overloads in cpp.functions.items():
        for said in overloads:
            options.update((struct[1], argument) for argument, (_, struct) in said.items() if struct)
            for place, given in places_of(name):
                for argument in said.keys() & given.keys():
                    default, (text, struct) = given[argument], said[argument]
                    reached.add((struct and struct[1], argument))
                    if default is inspect.Parameter.empty or (place, argument) in DIFFERENT:
                        continue
                    compared.add((place, argument))
                    if not agree(value_of(text), default):
                        wrong.add(f"{place}: {argument}={default!r}, in C++ {text}")
    return compared, sorted(wrong), options - reached


def test_defaults_are_the_same():
    compared, wrong, left = differences(defaults_of_cpp.Defaults(defaults_of_cpp.sources()))
    assert not wrong
    assert len(compared) > 2000
    assert left == OF_CPP


@pytest.mark.parametrize(
    "path, text, other, place",
    [
        (
            "ops/nn/norm.h",
            "struct NormOptions {\n  double eps = 1e-5",
            "struct NormOptions {\n  double eps = 1e-6",
            "norm",
        ),
        ("ops/loss/loss.h", "double label_smoothing = 0;", "double label_smoothing = 1;", "ross"),
        ("tables/functions/functional.def", "input, int dim = -1", "input, int dim = 0", "glu"),
        ("nn/norm.h", "bool track_running_stats = true;", "bool track_running_stats = false;", "BatchNorm"),
        (
            "tables/functions/reduce.def",
            'double p = 2),\n         "pdist',
            'double p = 3),\n         "pdist',
            "pdist",
        ),
        (
            "tables/activation.def",
            "_celu,    same(floating), ATTR(alpha, 1_c)",
            "_celu, same(floating), ATTR(alpha, 2_c)",
            "celu",
        ),
        (
            "tables/optimizers.def",
            "OPTION(double, momentum_decay, 4e-3)",
            "OPTION(double, momentum_decay, 4e-2)",
            "NAdam",
        ),
        ("optim/schedules.def", "OPTION(double, power, 1.0)", "OPTION(double, power, 2.0)", "PolynomialLR"),
        ("data/epoch_plan.h", "std::int64_t batch_size = 1;", "std::int64_t batch_size = 2;", "DataLoader"),
    ],
)
def test_a_default_that_differs_is_found(path, text, other, place):
    sources = defaults_of_cpp.sources()
    before = differences(defaults_of_cpp.Defaults(sources))[1]
    assert text in sources[path]
    sources[path] = sources[path].replace(text, other)
    wrong = set(differences(defaults_of_cpp.Defaults(sources))[1]).difference(before)
    assert wrong and all(place in line for line in wrong)


def test_an_option_that_python_does_not_have_is_found():
    sources = defaults_of_cpp.sources()
    sources["ops/nn/norm.h"] = sources["ops/nn/norm.h"].replace("double eps = 1e-5", "double eps = 1e-5, delta = 1")
    assert ("NormOptions", "delta") in differences(defaults_of_cpp.Defaults(sources))[2]
