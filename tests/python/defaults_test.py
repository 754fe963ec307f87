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
DIFFERENT = {  # (function, argument): PyTorch's words where C++ has a number, and functions of one name in two places
    ("norm", "p"),
    ("matrix_norm", "ord"),
    ("cross", "dim"),
}
OF_CPP = {  # (struct, option): what Python has no argument for
    ("KlDivOptions", "batchmean"),
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
    for home, module in stubs.public_modules(neura).items():
        for name in stubs.public_names(module):
            function = getattr(module, name)
            for parameters in signatures(function) if callable(function) else ():
                given = {p.name: p.default for p in parameters}
                found.setdefault(name, []).append((f"{home}.{name}", given))
    return found


PYTHON = defaults()


def names_of(name):
    """ConvNd is Conv1d, Conv2d and Conv3d."""
    return [f"{name[:-2]}{n}d" for n in (1, 2, 3)] if name.endswith("Nd") else [name]


def differences(cpp):
    """(what was compared, what differs, options that were not compared)"""
    compared, wrong, options, reached = set(), set(), set(), set()
    for cpp_name, overloads in cpp.functions.items():
        for said in overloads:
            options.update((struct[1], argument) for argument, (_, struct) in said.items() if struct)
            for name, (place, given) in ((n, p) for n in names_of(cpp_name) for p in PYTHON.get(n, ())):
                for argument in said.keys() & given.keys():
                    default, (text, struct) = given[argument], said[argument]
                    reached.add((struct and struct[1], argument))
                    if default is inspect.Parameter.empty or (name, argument) in DIFFERENT:
                        continue
                    compared.add((name, argument))
                    if not agree(value_of(text), default):
                        wrong.add(f"{place}: {argument}={default!r}, in C++ {text}")
    return compared, sorted(wrong), options - reached


def test_defaults_are_the_same():
    compared, wrong, left = differences(defaults_of_cpp.Defaults(defaults_of_cpp.sources()))
    assert not wrong
    assert len(compared) > 1000
    assert left == OF_CPP


@pytest.mark.parametrize(
    "path, text, other, place",
    [
        (
            "ops/nn/norm.h",
            "struct NormOptions {\n  double eps = 1e-5;",
            "struct NormOptions {\n  double eps = 1e-6;",
            "layer_norm",
        ),
    ],
)
def test_a_default_that_differs_is_found(path, text, other, place):
    sources = defaults_of_cpp.sources()
    assert text in sources[path]
    sources[path] = sources[path].replace(text, other)
    _, wrong, _ = differences(defaults_of_cpp.Defaults(sources))
    assert wrong and all(place in line for line in wrong)


if __name__ == "__main__":
    compared, wrong, left = differences(defaults_of_cpp.Defaults(defaults_of_cpp.sources()))
    print(len(compared), *wrong, *sorted(left), sep="\n")
