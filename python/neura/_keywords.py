"""What functions of C++ say of arguments that they do not take: NumPy's names, as in PyTorch, and mistakes."""

_SAME = {  # NumPy's name, or another of PyTorch's, and what it is called here
    "axis": ("dim", "dims"),
    "keepdims": ("keepdim",),
    "x": ("input",),
    "a": ("input",),
    "x1": ("input",),
    "x2": ("other",),
    "split_size_or_sections": ("split_size",),
    "sections": ("indices_or_sections",),
    "indices": ("indices_or_sections",),
    "min_value": ("min_val",),
    "max_value": ("max_val",),
}
_MEANT = {  # what is only a mistake
    "axes": ("dim", "dims"),
    "dim": ("dims",),
    "dims": ("dim",),
    "keep_dims": ("keepdim",),
    "input": ("self", "tensor"),
    "self": ("input",),
    "correction": ("unbiased",),
}
_OWN = {"None": type(None), "bool": bool, "bytes": bytes, "dict": dict, "list": list, "str": str}
_WORDS = {  # how nanobind writes a type, and how errors do
    "None": "None",
    "bool": "True or False",
    "bytes": "bytes",
    "collections.abc.Callable": "a function",
    "Callable": "a function",
    "collections.abc.Sequence[float]": "numbers",
    "collections.abc.Sequence[int]": "integers",
    "collections.abc.Sequence[neura.Tensor]": "tensors",
    "collections.abc.Sequence[str]": "texts",
    "dict": "a dict",
    "float": "a number",
    "int": "an integer",
    "list": "a list",
    "neura.Tensor": "a tensor",
    "neura.device": "a device",
    "neura.dtype": "a dtype",
    "neura.nn.Module": "a module",
    "number": "a number",
    "object": "anything",
    "str": "a text",
    "tuple": "a tuple",
    "tuple[int, ...]": "a tuple of integers",
}


def _name(function):
    """As the user knows it: of a constructor, its class."""
    if function.__name__ == "__init__":
        return function.__qualname__.split(".")[-2]
    return function.__name__.lstrip("_").removesuffix("_method") or function.__name__


def _names(function):
    """The keywords of all overloads, in order; empty where they cannot be told."""
    from ._signatures import keywords_of

    return keywords_of(function)


def renamed(keyword, names):
    """What NumPy's keyword is called by a function with these names; None if it is no such keyword."""
    return next((new for new in _SAME.get(keyword, ()) if new in names), None)


def unknown(name, keyword, names):
    """The sentence about a keyword that a function does not have."""
    meant = renamed(keyword, names) or next((new for new in _MEANT.get(keyword, ()) if new in names), None)
    if meant is None:
        import difflib

        meant = next(iter(difflib.get_close_matches(keyword, names, 1)), None)
    if meant is not None:
        return f"{name}: unknown argument '{keyword}'; did you mean '{meant}'?"
    shown = ", ".join(n for n in names if n != "self")
    return f"{name}: unknown argument '{keyword}'; expected {'one of ' + shown if shown else 'no keywords'}"


def _choices(annotation):
    """The types that a union is of; brackets hold their own."""
    depth, start = 0, 0
    for i, c in enumerate(annotation):
        depth += (c == "[") - (c == "]")
        if c == "|" and not depth:
            yield annotation[start:i].strip()
            start = i + 1
    yield annotation[start:].strip()


def _is(kind, value):
    """Whether a value is of the type of this name; None where that is not known."""
    import collections.abc

    from . import _neura

    if kind in _OWN:
        return isinstance(value, _OWN[kind])
    if kind == "int":
        return hasattr(value, "__index__") and not (type(value) is int and not -(2**63) <= value < 2**64)
    if kind in ("float", "number"):
        return hasattr(value, "__float__") or hasattr(value, "__index__")
    if kind in ("neura.Tensor", "neura.nn.Module"):
        return isinstance(value, _neura.Tensor if kind == "neura.Tensor" else _neura.nn.Module)
    if "Callable" in kind:
        return callable(value)
    if kind == "object":
        return True
    listed = kind.startswith(("tuple", "collections.abc.Sequence", "Sequence"))
    return False if listed and not isinstance(value, collections.abc.Iterable) else None


def _words(annotation):
    """What "int | None" is in errors: "an integer or None"."""
    words = list(dict.fromkeys(_WORDS.get(kind, kind) for kind in _choices(annotation)))
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _owner(function, parameters):
    """The class of a method, whose first argument is what stands before the dot; empty for a function."""
    from . import _neura

    if vars(_neura.methods).get(function.__name__) is function:
        return "UntypedStorage" if function.__name__.startswith("_storage_") else "Tensor"
    return function.__qualname__.rpartition(".")[0] if parameters and parameters[0].name == "self" else ""


def _misfit(parameters, owner, args, kwargs):
    """(how many arguments fit, the sentence about the first that does not) of one overload; None: it cannot be told."""
    from . import _neura

    method = bool(owner)
    by_place = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(args) > len(by_place) and not any(p.kind == p.VAR_POSITIONAL for p in parameters):
        return len(by_place), _neura._surplus_arguments(len(by_place) - method, len(args) - method)
    doubtful = []
    for i, p in enumerate(parameters):
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            break
        by_name_alone = p.kind == p.KEYWORD_ONLY
        if not by_name_alone and i < len(args):
            if p.name in kwargs:
                return i, f"got two values for {p.name}"
            value = args[i]
        elif p.name in kwargs:
            value = kwargs[p.name]
        elif method and i == 0:
            return i, f"expected {owner} to be called on, got none"
        elif p.default is p.empty and p.kind == p.POSITIONAL_ONLY:  # it has no name
            return i, f"expected {len(by_place) - method} arguments, got {max(len(args) - method, 0)}"
        elif p.default is p.empty:
            return i, _neura._missing_argument(p.name, 0 if by_name_alone else i + 1 - method, by_name_alone)
        else:
            continue
        if method and i == 0:  # no other overload has another one
            if len(args) == 1 and not kwargs:
                doubtful.append((i, f"expected {owner} to be called on, got {type(value).__name__}"))
            continue
        said = None if p.annotation is p.empty else str(p.annotation)
        fits = [_is(kind, value) for kind in _choices(said)] if said else [None]
        name = p.name if p.kind != p.POSITIONAL_ONLY else f"argument {i + 1 - method}"
        sentence = _neura._misfit_argument(_words(said) if said else "another type", name, value)
        if not any(fits) and None not in fits:
            return i, sentence
        if not any(fits):
            doubtful.append((i, sentence))
    return doubtful[0] if len(doubtful) == 1 else None


def _sentence(function, args, kwargs):
    """What is wrong with a call that no overload takes: of the overload that takes most of it."""
    from ._signatures import _parameters

    found, shown = [], []
    for text, _, defaults in getattr(function, "__nb_signature__", ()):
        try:
            parameters = _parameters(text, defaults or ())[0]
        except (SyntaxError, ValueError, IndexError):
            continue
        shown.append(f"({', '.join(p.name for p in parameters)})")
        found.append(_misfit(parameters, _owner(function, parameters), args, kwargs))
    best = max((one for one in found if one), key=lambda one: one[0], default=None)
    if best and all(found):
        return best[1]
    kinds = [type(value).__name__ for value in args] + [f"{k}={type(v).__name__}" for k, v in kwargs.items()]
    return f"expected {' or '.join(dict.fromkeys(shown))} of other types, got {', '.join(kinds) or 'nothing'}"


def call_again(function, args, kwargs, error):
    """The call with its keywords under the names that the function has; TypeError where that is of no help."""
    names = _names(function)
    if not hasattr(function, "__nb_signature__"):
        raise error
    new = {}
    for keyword, value in kwargs.items():
        if function.__name__ == "__init__" and keyword not in names:  # without the object, which is not made yet
            raise TypeError(unknown(_name(function), keyword, names)) from None
        name = keyword if keyword in names else renamed(keyword, names)
        if name is None or name in new or (name != keyword and name in kwargs):
            raise TypeError(unknown(_name(function), keyword, names)) from None
        new[name] = value
    if list(new) == list(kwargs):
        raise TypeError(f"{_name(function)}: {_sentence(function, args, kwargs)}") from None
    return function(*args, **new)
