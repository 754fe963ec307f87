"""Containers of modules and parameters. They are C++ classes; here are their list and dict methods."""

import operator
from collections import OrderedDict
from collections.abc import Mapping
from itertools import chain

from .._neura import Tensor
from .._neura import nn as _nn
from .extend import extend
from .module import Module, Parameter

ModuleList, ModuleDict, Sequential, ParameterList = _nn.ModuleList, _nn.ModuleDict, _nn.Sequential, _nn.ParameterList


def _index(container, i):
    i, n = operator.index(i), len(container)
    if not -n <= i < n:
        raise IndexError(f"{type(container).__name__}: index {i} is out of range for {n} entries")
    return i % n


class ListOfModules:
    """What ModuleList and Sequential share."""

    def __iter__(self):
        return iter([m for m in self._modules.values()])

    def __setitem__(self, idx, module):
        self._set(_index(self, idx), module)

    def __delitem__(self, idx):
        if isinstance(idx, slice):
            for i in sorted(range(*idx.indices(len(self))), reverse=True):
                self._erase(i)
        else:
            self._erase(_index(self, idx))

    def append(self, module):
        """Adds a module at the end; returns itself."""
        self._insert(len(self), module)
        return self

    def insert(self, index, module):
        """Puts a module before the one at `index`."""
        n = len(self)
        if not -n <= index <= n:
            raise IndexError(f"insert: index {index} is out of range for {n} modules")
        self._insert(index + n if index < 0 else index, module)

    def pop(self, key=-1):
        """Takes a module out and returns it."""
        module = self[key]
        del self[key]
        return module

    def extend(self, modules):
        """Adds modules at the end; returns itself."""
        for module in list(modules):
            self.append(module)
        return self

    def __iadd__(self, modules):
        return self.extend(modules)

    def __dir__(self):
        return [name for name in Module.__dir__(self) if not name.isdigit()]


class ModuleListMethods(ListOfModules):
    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(list(self)[idx])
        return self._at(_index(self, idx))

    def __add__(self, other):
        return ModuleList(chain(self, other))


class SequentialMethods(ListOfModules):
    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return self._at(_index(self, idx))

    def insert(self, index, module):
        """Puts a module before the one at `index`; returns itself."""
        ListOfModules.insert(self, index, module)
        return self

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add: expected two Sequentials, got one and {type(other).__name__}")
        return Sequential(*self, *other)

    def __mul__(self, times):
        if not isinstance(times, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(times)}")
        if times <= 0:
            raise ValueError(f"multiply: expected a positive number of repetitions, got {times}")
        return Sequential(*(m for _ in range(times) for m in self))

    __rmul__ = __mul__

    def __imul__(self, times):
        for m in list(self * times)[len(self) :]:
            self.append(m)
        return self


class ModuleDictMethods:
    """Of ModuleDict."""

    def __init__(self, modules=None):
        Module.__init__(self)
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Takes all modules out."""
        self._modules.clear()

    def pop(self, key):
        """Takes a module out and returns it."""
        return self._modules.pop(key)

    def keys(self):
        """The names."""
        return self._modules.copy().keys()

    def items(self):
        """Pairs of a name and a module."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def update(self, modules):
        """Adds the modules of a mapping, or of pairs of a name and a module; those of a known name are replaced."""
        for pair in modules.items() if hasattr(modules, "items") else modules:
            if len(pair) != 2:
                raise ValueError(f"update: expected pairs of a name and a module, got {len(pair)} entries")
            self[pair[0]] = pair[1]


def _parameter(value):
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _describe(name, value, note="", by_kind=False):
    if isinstance(value, Tensor):
        kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
        where = "" if value.device.type == "cpu" else f" ({value.device})"
        size = "x".join(str(n) for n in value.shape)
        of = value.type() if by_kind else value.dtype
        return f"  ({name}): {note or kind + ' containing:'} [{of} of size {size}{where}]"
    return f"  ({name}): Object of type: {type(value).__name__}"


class ParameterListMethods:
    """Of ParameterList."""

    def __init__(self, values=None):
        Module.__init__(self)
        self._size = 0
        if values is not None:
            self.extend(values)

    def __len__(self):
        return self.__dict__.get("_size", len(self._parameters))  # one that C++ made holds parameters alone

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            out = type(self)()
            for i in range(*idx.indices(len(self))):
                out.append(self[i])
            return out
        return getattr(self, str(_index(self, idx)))

    def __setitem__(self, idx, value):
        setattr(self, str(_index(self, idx)), _parameter(value))

    def __iter__(self):
        return iter([self[i] for i in range(len(self))])

    def __iadd__(self, values):
        return self.extend(values)

    def __dir__(self):
        return [name for name in Module.__dir__(self) if not name.isdigit()]

    def append(self, value):
        """Adds a value at the end, a tensor as a parameter; returns itself."""
        n = len(self)
        self._size = n + 1
        self[n] = value
        return self

    def extend(self, values):
        """Adds values at the end; returns itself."""
        if isinstance(values, Tensor) or not hasattr(values, "__iter__"):
            raise TypeError(f"ParameterList.extend: expected an iterable, got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def pop(self, idx=-1):
        """Takes a value out and returns it."""
        at = _index(self, idx)
        values = list(self)
        for i in range(at, len(values)):
            delattr(self, str(i))
        self._size = at
        self.extend(values[at + 1 :])
        return values[at]

    def extra_repr(self):
        """A line for each entry."""
        return "\n".join(_describe(i, value) for i, value in enumerate(self))

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called: index it, or loop over it")


class ParameterDict(Module):
    """Parameters by name, in order of insertion (tensors become parameters); used like a dictionary."""

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key):
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key, value):
        if not isinstance(key, str):
            raise TypeError(f"ParameterDict: expected a name, got {type(key).__name__}")
        self._keys[key] = None
        setattr(self, key, _parameter(value))

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, key)

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(list(self._keys))

    def __contains__(self, key):
        return key in self._keys

    def copy(self):
        """Another one with the same parameters."""
        return type(self)(OrderedDict(self.items()))

    def setdefault(self, key, default=None):
        """The parameter of that name; if there is none, inserts `default`."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def clear(self):
        """Takes all parameters out."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key):
        """Takes a parameter out and returns it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Takes the last parameter out; returns its name and itself."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key, default=None):
        """The parameter of that name, or `default`."""
        return self[key] if key in self._keys else default

    def fromkeys(self, keys, default=None):
        """A new one with these names, and `default` under each."""
        return type(self)((key, default) for key in keys)

    def keys(self):
        """The names."""
        return self._keys.keys()

    def items(self):
        """Pairs of a name and a parameter."""
        return {key: self[key] for key in self._keys}.items()

    def values(self):
        """The parameters."""
        return {key: self[key] for key in self._keys}.values()

    def update(self, parameters):
        """Adds those of a mapping, or of pairs of a name and a tensor. Those of a plain dict come in order of names."""
        pairs = parameters.items() if hasattr(parameters, "items") else parameters
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            pairs = sorted(pairs, key=operator.itemgetter(0))
        for pair in pairs:
            if len(pair) != 2:
                raise ValueError(f"update: expected pairs of a name and a parameter, got {len(pair)} entries")
            self[pair[0]] = pair[1]

    def extra_repr(self):
        """A line for each entry."""
        return "\n".join(_describe(key, value, by_kind=True) for key, value in self.items())

    def __or__(self, other):
        out = self.copy()
        out.update(other)
        return out

    def __ror__(self, other):
        out = other.copy()
        out.update(self)
        return out

    def __ior__(self, other):
        self.update(other)
        return self

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterDict should not be called: index it, or loop over it")


extend(ModuleList, ListOfModules, ModuleListMethods)
extend(Sequential, ListOfModules, SequentialMethods)
extend(ModuleDict, ModuleDictMethods)
extend(ParameterList, ParameterListMethods)
