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
        raise AttributeError(f"neura.ops.{self._name} has no attribute {name!r}; see whether neura.{name} is it")


aten = _Library("aten", "_safe_softmax _softmax_backward_data grid_sampler_2d grid_sampler_3d hash_tensor")
