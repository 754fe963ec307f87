"""Parametrizations: a parameter that is computed from others whenever it is read."""

import copy
from contextlib import contextmanager

from ..._neura import Tensor
from ..._neura import nn as _nn
from ...autograd.grad_mode import no_grad
from ..container import ModuleDict, ModuleList
from ..module import Module, Parameter

_cache, _cache_depth = {}, 0


@contextmanager
def cached():
    """While it lasts, each parametrized tensor is computed once, when it is first read."""
    global _cache_depth
    _cache_depth += 1
    try:
        yield
    finally:
        _cache_depth -= 1
        if _cache_depth == 0:
            _cache.clear()


def _register(module, name, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _inverse(parametrizations, value, strict):
    """The originals for which the parametrizations give `value`."""
    with no_grad():
        for p in reversed(list(parametrizations)):
            if hasattr(p, "right_inverse"):
                try:
                    value = p.right_inverse(value)
                except NotImplementedError:
                    if strict:
                        raise
            elif strict:
                raise RuntimeError(
                    f"parametrization {type(p).__name__}: expected a right_inverse to assign through, got none; "
                    "define right_inverse(self, value)"
                )
    return value


def _check_dtype(new, original):
    if new.dtype != original.dtype:
        raise ValueError(
            f"right_inverse: expected a tensor of dtype {original.dtype}, got {new.dtype}; set unsafe=True to allow it"
        )


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and what they start from: original, or original0, original1, ..."""

    def __init__(self, modules, original, unsafe=False):
        modules = list(modules)
        if not modules:
            raise ValueError("ParametrizationList: expected at least one parametrization, got none")
        super().__init__(modules)
        self.unsafe = unsafe
        new = _inverse(self, original, strict=False)
        if not isinstance(new, (Tensor, list, tuple)):
            raise ValueError(f"right_inverse: expected a tensor or a sequence of tensors, got {type(new).__name__}")
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            if not unsafe:
                _check_dtype(new, original)
            if new is not original:
                _nn._set_data(original, new.detach())
            _register(self, "original", original)
        else:
            for i, tensor in enumerate(new):
                if not unsafe:
                    _check_dtype(tensor, original)
                if isinstance(original, Parameter):
                    tensor = Parameter(tensor, original.requires_grad)
                _register(self, f"original{i}", tensor)
        if not unsafe:
            self._check(original)

    def _check(self, original):
        result = self()
        if not isinstance(result, Tensor):
            raise ValueError(f"parametrization: expected it to return a tensor, got {type(result).__name__}")
        if result.dtype != original.dtype:
            raise ValueError(f"parametrization: expected dtype {original.dtype}, got {result.dtype}; or unsafe=True")
        if not self.is_tensor:
            return
        if result.shape != original.shape:
            raise ValueError(
                f"parametrization: expected shape {list(original.shape)}, got {list(result.shape)}; or unsafe=True"
            )

    def originals(self):
        """The tensors that it starts from."""
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value):
        """Changes the originals so that the parametrized tensor becomes `value`."""
        value = _inverse(self, value, strict=True)
        values = [value] if self.is_tensor else list(value)
        if len(values) != self.ntensors:
            raise ValueError(f"right_inverse: expected {self.ntensors} tensors, got {len(values)}")
        for original, new in zip(self.originals(), values):
            if not isinstance(new, Tensor):
                raise ValueError(f"right_inverse: expected a tensor, got {type(new).__name__}")
            _check_dtype(new, original)
            _nn._set_data(original, new.detach())

    def forward(self):
        first, *rest = list(self)
        x = first(*self.originals())
        for parametrization in rest:
            x = parametrization(x)
        return x


def _refuse_pickle(self):
    raise RuntimeError(
        "pickle: expected a module without parametrizations, got a parametrized one; save its state_dict, or call "
        "remove_parametrizations first"
    )


def _deepcopy(self, memo):
    new = type(self).__new__(type(self))
    memo[id(self)] = new
    _nn._make_blank(new)
    from ..copying import native_state, restore_native

    restore_native(new, copy.deepcopy(native_state(self), memo))
    new.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return new


def _inject_class(module):
    cls = type(module)
    body = {"__getstate__": _refuse_pickle, "__deepcopy__": _deepcopy, "__module__": cls.__module__}
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), body)


def _inject_property(module, name):
    def get(self):
        if _cache_depth:
            key = id(self), name
            if key not in _cache:
                _cache[key] = self.parametrizations[name]()
            return _cache[key]
        return self.parametrizations[name]()

    def put(self, value):
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, put))


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """From now on module.<tensor_name> is parametrization(original); returns the module.

    What is trained and saved is module.parametrizations.<tensor_name>.original. A right_inverse(value) of the
    parametrization says what the original must be for a value; it is used now and by assignments. Several
    parametrizations run one after the other. Unless unsafe, shape and dtype must stay.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            now = getattr(module, tensor_name)
            result = parametrization(now)
            if not isinstance(result, Tensor) or result.dtype != now.dtype or result.shape != now.shape:
                raise ValueError(
                    f"register_parametrization: expected {type(parametrization).__name__} to keep shape "
                    f"{list(now.shape)} and dtype {now.dtype}; or unsafe=True"
                )
        parametrizations = module.parametrizations[tensor_name]
        parametrizations.append(parametrization)
        parametrizations.unsafe |= unsafe
    elif tensor_name in module._parameters or tensor_name in module._buffers:
        original = getattr(module, tensor_name)
        parametrizations = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"register_parametrization: expected a parameter, buffer or parametrized tensor of {module._get_name()}, "
            f"got {tensor_name!r}"
        )
    return module


def is_parametrized(module, tensor_name=None):
    """True if the module has a parametrized tensor (of that name)."""
    parametrizations = module._modules.copy().get("parametrizations") if isinstance(module, Module) else None
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Makes it an ordinary tensor again, with the computed value or the original; returns the module."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"remove_parametrizations: expected a parametrized tensor, got {tensor_name!r}")
    parametrizations = module.parametrizations[tensor_name]
    original = parametrizations.originals()[0]
    if leave_parametrized:
        with no_grad():
            value = getattr(module, tensor_name)
        if parametrizations.is_tensor:
            _nn._set_data(original, value.detach())
        else:
            original = Parameter(value, original.requires_grad) if isinstance(original, Parameter) else value
    elif not parametrizations.is_tensor:
        raise ValueError(
            "remove_parametrizations: expected one original tensor to leave; leave_parametrized must be True"
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module):
    """The class that the module had before it was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Gives to_module the parametrizations of from_module, and their originals; returns to_module."""
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        source = from_module.parametrizations[name]
        for p in source:
            register_parametrization(to_module, name, copy.deepcopy(p), unsafe=source.unsafe)
        for old, new in zip(to_module.parametrizations[name].originals(), source.originals()):
            _nn._set_data(old, new.detach().clone())
    return to_module
