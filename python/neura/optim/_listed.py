"""Constructors of classes whose arguments stand in a list of the library."""


def constructor(first, arguments, begin):
    """A function (self, first, *arguments) that calls `begin(self, first, name=value, ...)`.

    `arguments`: (name, default), (name,) where there is none; ("*",) before those that are given by name alone;
    ("=name", value) for what `begin` gets, but is no argument.
    """
    scope = {"begin": begin, "__name__": begin.__module__}
    texts, names = ["self", first], []
    for name, *default in arguments:
        fixed = name[0] == "="
        name = name.removeprefix("=")
        if default:
            scope[f"default_{name}"] = default[0]
        if not fixed:
            texts.append(f"{name}=default_{name}" if default else name)
        if name != "*":
            names.append(f"{name}=default_{name}" if fixed else f"{name}={name}")
    exec(f"def __init__({', '.join(texts)}):\n    begin(self, {first}, {', '.join(names)})", scope)
    scope["__init__"].__qualname__ = f"{begin.__qualname__.rpartition('.')[0]}.__init__"
    return scope["__init__"]
