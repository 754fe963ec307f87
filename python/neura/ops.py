"""PyTorch's names of operations by library and overload: neura.ops.aten._safe_softmax.default."""

from . import _neura


class _Operation:
    """One operation of a library; an attribute is one of its overloads."""

    def __init__(self, name, function):
        self.__name__, self.__doc__, self.default = name, function.__doc__, function

    def __call__(self, *args, **kwargs):
        return self.default(*args, **kwargs)

    def overloads(self):
        """The names of its overloads."""
        return ["default"]

    def __repr__(self):
        return f"<operation {self.__name__}>"


class _Library:
    """Operations by name. There are few: what else PyTorch has here is found under its usual name."""

    _name = ""

    def __init__(self, name, names):
        self._name = name
        for each in names.split():
            setattr(self, each, _Operation(f"{name}.{each}", getattr(_neura, each)))

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"neura.ops.{self._name} has no attribute {name!r}; see whether neura.{name} is it")


aten = _Library("aten", "_safe_softmax _softmax_backward_data grid_sampler_2d grid_sampler_3d hash_tensor")
_libraries = {"aten": aten}


def _register(namespace, name, function):
    """Makes the function neura.ops.<namespace>.<name>; later ones replace earlier ones. Called by `library`."""
    library = _libraries.setdefault(namespace, _Library(namespace, ""))
    setattr(library, name, _Operation(f"{namespace}.{name}", function))


def _find(namespace, name):
    """The function of that name, or None."""
    operation = vars(_libraries.get(namespace, aten)).get(name)
    return operation.default if operation is not None else None


def __getattr__(name):
    if name.startswith("__") or name not in _libraries:
        raise AttributeError(
            f"module 'neura.ops' has no attribute {name!r}: no operation of that namespace is registered"
        )
    return _libraries[name]
