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
DIFFERENT = {  # (function, argument): PyTorch's word, and C++'s number
    ("norm", "p"): ("fro", "2"),
    ("matrix_norm", "ord"): ("fro", "{}"),
}
OF_CPP = set()  # options that Python has no argument for


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
    return text.strip('"').rpartition("::")[2]


def agree(said, given):
    """None in Python says that C++ knows: there the default stands once."""
    if given is None or said == given:
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


def differences(cpp):
    """(compared, what differs)"""
    compared, wrong = set(), set()
    for name, declared in cpp.functions.items():
        for _, said in declared:
            for place, given in PYTHON.get(name, ()):
                for argument in said.keys() & given.keys():
                    default = given[argument]
                    if default is inspect.Parameter.empty or (name, argument) in DIFFERENT:
                        continue
                    compared.add((name, argument))
                    if not agree(value_of(said[argument]), default):
                        wrong.add(f"{place}: {argument}={default!r}, in C++ {said[argument]}")
    return compared, sorted(wrong)


def test_defaults_are_the_same():
    compared, wrong = differences(defaults_of_cpp.Defaults(defaults_of_cpp.sources()))
    assert not wrong
    assert len(compared) > 700


if __name__ == "__main__":
    cpp = defaults_of_cpp.Defaults(defaults_of_cpp.sources())
    compared, wrong = differences(cpp)
    print(len(compared), *wrong, sep="\n")
    reached = {struct for struct in cpp.structs}
    for key, users in sorted(cpp.functions.items()):
        if not key.startswith("struct "):
            continue
        names = {n for _, n in users}
        args = {a for n in names for _, given in PYTHON.get(n, ()) for a in given}
        fields = {f for fs in cpp.structs[key[7:]].values() for f in fs}
        if fields - args:
            print("UNREACHED", key, sorted(names), sorted(fields - args))
