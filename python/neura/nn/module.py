"""The methods of Module that need not be C++, and the live views of its members."""

from collections.abc import MutableMapping

from .. import _neura
from .._neura import Tensor
from .._neura import nn as _nn
from ..autograd.grad_mode import no_grad
from .copying import ModuleCopying
from .extend import extend
from .hooks import ModuleHooks
from .state import ModuleState

Module, Parameter = _nn.Module, _nn.Parameter
_KINDS = {"_parameters": 0, "_buffers": 1, "_modules": 2}


class Members(MutableMapping):
    """A live view of the parameters, buffers or modules of one module: writing to it changes the module."""

    __slots__ = ("_module", "_kind")

    def __init__(self, module, kind):
        self._module, self._kind = module, kind

    def __getitem__(self, name):
        return _nn._member(self._module, self._kind, name)

    def __setitem__(self, name, value):
        _nn._set_member(self._module, self._kind, name, value)

    def __delitem__(self, name):
        self[name]
        _nn._remove_member(self._module, name)

    def __iter__(self):
        return iter([name for name, _ in _nn._members(self._module, self._kind)])

    def __len__(self):
        return len(_nn._members(self._module, self._kind))

    def __contains__(self, name):
        return any(name == known for known, _ in _nn._members(self._module, self._kind))

    def keys(self):
        return dict(_nn._members(self._module, self._kind)).keys()

    def items(self):
        return dict(_nn._members(self._module, self._kind)).items()

    def values(self):
        return dict(_nn._members(self._module, self._kind)).values()

    def copy(self):
        """A dict of what is there now."""
        return dict(_nn._members(self._module, self._kind))

    def __repr__(self):
        return repr(self.copy())

    def __reduce__(self):
        return dict, (self.copy(),)


def _view(kind):
    def get(self):
        return Members(self, kind)

    def put(self, values):
        view = Members(self, kind)
        values = dict(values)
        for name in list(view):
            if name not in values:
                del view[name]
        for name, value in values.items():
            view[name] = value

    return property(get, put)


def _check_name(what, name, module):
    if not isinstance(name, str):
        raise TypeError(f"{what} name should be a string, got {type(name).__name__}")
    if "." in name:
        raise KeyError(f'{what} name can\'t contain ".", got: {name}')
    if not name:
        raise KeyError(f'{what} name can\'t be empty string ""')
    if hasattr(module, name) and name not in getattr(
        module, {"parameter": "_parameters", "buffer": "_buffers"}.get(what, "_modules")
    ):
        raise KeyError(f"attribute '{name}' already exists")


def _typename(x):
    return f"{type(x).__module__}.{type(x).__qualname__}".replace("builtins.", "")


class ModuleMethods:
    """The methods of Module around its members."""

    call_super_init = dump_patches = False  # of PyTorch's module: programs ask for them
    _parameters, _buffers, _modules = _view(0), _view(1), _view(2)

    @property
    def _non_persistent_buffers_set(self):
        return _nn._non_persistent(self)

    def register_buffer(self, name, tensor, persistent=True):
        """Adds a buffer: a tensor (or None) that is not trained; a persistent one is in state_dict."""
        _check_name("buffer", name, self)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{_typename(tensor)}' object to buffer '{name}' (neura.Tensor or None required)"
            )
        _nn._set_member(self, 1, name, tensor)
        _nn._set_persistent(self, name, persistent)

    def register_parameter(self, name, param):
        """Adds a parameter, or None to say that there is none under that name."""
        _check_name("parameter", name, self)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{_typename(param)}' object to parameter '{name}' (neura.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"register_parameter: expected '{name}' to be a leaf, got the result of an operation; "
                "make it with nn.Parameter(tensor.detach())"
            )
        _nn._set_member(self, 0, name, param)

    def register_module(self, name, module):
        """Adds a module (or None) under a name."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{_typename(module)} is not a Module subclass")
        _check_name("module", name, self)
        _nn._set_member(self, 2, name, module)

    def add_module(self, name, module):
        """The same as register_module."""
        self.register_module(name, module)

    def get_submodule(self, target):
        """The module at a path such as "layer.0.conv"; "" is the module itself. AttributeError if there is none."""
        at = self
        for name in target.split(".") if target else ():
            if not hasattr(at, name):
                raise AttributeError(f"{at._get_name()} has no attribute `{name}`")
            at = getattr(at, name)
            if not isinstance(at, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return at

    def set_submodule(self, target, module, strict=False):
        """Puts a module at a path. Strict: only where there is one already."""
        if not target:
            raise ValueError("set_submodule: expected a path, got an empty one")
        if not isinstance(module, Module):
            raise ValueError(f"set_submodule: expected a module, got {_typename(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _tensor_at(self, target, kind, members):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        if name not in getattr(module, members):
            raise AttributeError(f"`{name}` is not a {kind}")
        return getattr(module, name)

    def get_parameter(self, target):
        """The parameter at a path such as "layer.0.weight"; AttributeError if there is none."""
        return self._tensor_at(target, "parameter", "_parameters")

    def get_buffer(self, target):
        """The buffer at a path; AttributeError if there is none."""
        return self._tensor_at(target, "buffer", "_buffers")

    def apply(self, fn):
        """Applies fn to every submodule, then to the module itself; returns the module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn, recurse=True):
        """Replaces each tensor by fn of it, in place: whoever holds a parameter sees the new values."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        with no_grad():
            for tensor in self._parameters.values():
                if tensor is not None:
                    _replace(tensor, fn)
            for name, tensor in self._buffers.items():
                if tensor is not None:
                    try:
                        _replace(tensor, fn)
                    except (ValueError, RuntimeError):  # a view, or computed: another tensor takes its place
                        _nn._set_member(self, 1, name, fn(tensor))
        return self

    def to(self, *args, **kwargs):
        """Moves or converts all parameters and buffers in place, gradients too.

        to(device), to(dtype), to(device, dtype), to(tensor), to(memory_format=...): dtypes must be floating or complex
        and leave integer tensors alone.
        """
        device, dtype, non_blocking, memory_format = _placement(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(f"to: expected a floating or complex dtype for a module, got {dtype}")

        def convert(t):
            wanted = dtype if dtype is not None and (t.is_floating_point() or t.is_complex()) else t.dtype
            place = t.device if device is None else device
            if memory_format is not None and t.dim() in (4, 5):
                return t.to(place, wanted, non_blocking=non_blocking, memory_format=memory_format)
            return t if wanted == t.dtype and place == t.device else t.to(place, wanted, non_blocking=non_blocking)

        return self._apply(convert)

    def cuda(self, device=None):
        """Moves all parameters and buffers to a GPU."""
        return self.to(_neura.device("cuda" if device is None else f"cuda:{device}" if type(device) is int else device))

    def cpu(self):
        """Moves all parameters and buffers to the CPU."""
        return self.to(_neura.device("cpu"))

    def type(self, dst_type):
        """Converts every tensor to this dtype, integers too."""
        return self._apply(lambda t: t.to(dst_type))

    def float(self):
        """Converts floating parameters and buffers to float32."""
        return self._convert(_neura.float32)

    def double(self):
        """Converts floating parameters and buffers to float64."""
        return self._convert(_neura.float64)

    def half(self):
        """Converts floating parameters and buffers to float16."""
        return self._convert(_neura.float16)

    def bfloat16(self):
        """Converts floating parameters and buffers to bfloat16."""
        return self._convert(_neura.bfloat16)

    def _convert(self, dtype):
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() and t.dtype != dtype else t)

    def compile(self, *args, **kwargs):
        """Compiles the calls of this module in place; the arguments are those of `neura.compile`.

        >>> net = neura.nn.Linear(2, 3)
        >>> net.compile()
        >>> list(net.state_dict())
        ['weight', 'bias']
        """
        from ..compiler import compile_in_place

        compile_in_place(self, *args, **kwargs)

    def share_memory(self):
        """Moves parameters and buffers to memory shared with processes forked from now on."""
        for tensor in (*self.parameters(), *self.buffers()):
            tensor.share_memory_()
        return self

    def to_empty(self, *, device, recurse=True):
        """Moves parameters and buffers to a device without copying their values, which are uninitialised there."""
        return self._apply(lambda t: _neura.empty_like(t, device=device), recurse=recurse)


def _replace(tensor, fn):
    new, grad = fn(tensor), tensor.grad
    if new is not tensor:
        if grad is not None:
            tensor.grad = None
        _nn._set_data(tensor, new)
    if grad is not None:
        moved = fn(grad)
        if moved is not grad:
            try:
                _nn._set_data(grad, moved)  # whoever holds the gradient sees it converted
            except (ValueError, RuntimeError):  # a view, or recorded
                grad = moved
        tensor.grad = grad


def _placement(*args, device=None, dtype=None, non_blocking=False, memory_format=None, tensor=None):
    for a in args:
        if isinstance(a, Tensor):
            tensor = a
        elif isinstance(a, _neura.dtype):
            dtype = a
        elif isinstance(a, bool):
            non_blocking = a
        elif isinstance(a, int):
            device = f"cuda:{a}"
        elif a is not None:
            device = a
    if tensor is not None:
        device, dtype = tensor.device, tensor.dtype
    if device is not None and not isinstance(device, _neura.device):
        device = _neura.device(device)
    return device, dtype, non_blocking, memory_format


Parameter.__torch_function__ = _neura._disabled_torch_function_impl
extend(Module, ModuleMethods, ModuleHooks, ModuleState, ModuleCopying)
_nn._seal()
