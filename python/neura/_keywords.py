"""Keywords that a function of C++ does not have: NumPy's names, which PyTorch takes too, and mistakes."""

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


def _name(function):
    return function.__name__.lstrip("_").removesuffix("_method")


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


def call_again(function, args, kwargs, error):
    """The call with its keywords under the names that the function has; `error` where that is of no help."""
    names = _names(function)
    if not names and not hasattr(function, "__nb_signature__"):
        raise error
    new = {}
    for keyword, value in kwargs.items():
        name = keyword if keyword in names else renamed(keyword, names)
        if name is None or name in new or (name != keyword and name in kwargs):
            raise TypeError(unknown(_name(function), keyword, names)) from None
        new[name] = value
    if list(new) == list(kwargs):
        raise error from None
    return function(*args, **new)
