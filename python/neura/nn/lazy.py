"""Modules that learn the sizes of their parameters from the first input."""

from .. import _neura
from .._neura import nn as _nn
from .module import Parameter


class _Uninitialized:
    """What parameters and buffers without a shape have in common."""

    _is_uninitialized = True

    def materialize(self, shape, device=None, dtype=None):
        """Gives it a shape; the values are not filled. From now on it is an ordinary one."""
        data = _neura.empty(shape, device=device or self.device, dtype=dtype or self.dtype)
        _nn._set_data(self, data)
        self.__class__ = self.cls_to_become

    @property
    def shape(self):
        raise RuntimeError(
            "shape: expected an initialised parameter, got one without a shape; run the module once, or materialise it"
        )

    def share_memory_(self):
        """RuntimeError: there is no memory yet."""
        raise RuntimeError("share_memory_: expected an initialised parameter; run the module once")

    def __repr__(self):
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo):
        copy = type(self)(device=self.device, dtype=self.dtype)
        copy.requires_grad_(self.requires_grad)
        memo[id(self)] = copy
        return copy

    def __reduce_ex__(self, protocol):
        return _rebuild, (type(self), self.dtype, self.requires_grad)


def _rebuild(cls, dtype, requires_grad):
    out = cls(dtype=dtype)
    out.requires_grad_(requires_grad)
    return out


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter without a shape; materialize(shape) gives it one."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return Parameter.__new__(cls, _neura.empty(0, device=device, dtype=dtype), requires_grad)

    def __init__(self, requires_grad=True, device=None, dtype=None):
        pass


class UninitializedBuffer(_Uninitialized, _neura.Tensor):
    """A buffer without a shape; materialize(shape) gives it one."""

    __torch_function__ = _neura._disabled_torch_function_impl
    cls_to_become = _neura.Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None):
        out = _neura.Tensor.__new__(cls, _neura.empty(0, device=device, dtype=dtype))
        return out.requires_grad_() if requires_grad else out

    def __init__(self, requires_grad=False, device=None, dtype=None):
        pass


def is_lazy(tensor):
    """True for a parameter or buffer that has no shape yet."""
    return isinstance(tensor, _Uninitialized)


class LazyModuleMixin:
    """For modules whose parameters get their shapes from the first input.

    Define initialize_parameters(self, *args), which materialises them; cls_to_become is the class afterwards.
    """

    cls_to_become = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        left_out = self._non_persistent_buffers_set
        for name, tensor in [*self._parameters.items(), *self._buffers.items()]:
            if tensor is not None and name not in left_out:
                destination[prefix + name] = tensor if is_lazy(tensor) or keep_vars else tensor.detach()

    def _lazy_load_hook(self, state_dict, prefix, *rest):
        for name, tensor in [*self._parameters.items(), *self._buffers.items()]:
            given = state_dict.get(prefix + name)
            if given is not None and is_lazy(tensor) and not is_lazy(given):
                tensor.materialize(given.shape)

    def initialize_parameters(self, *args, **kwargs):
        """Materialises the parameters for this input."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self):
        """True if a parameter or buffer has no shape yet."""
        return any(is_lazy(t) for t in [*self._parameters.values(), *self._buffers.values()])

    def _infer_parameters(self, module, args, kwargs=None):
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become


class _LazyWeights(LazyModuleMixin):
    """A layer with a weight and a bias."""

    def _make_lazy(self, bias, device, dtype):
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self):
        """Draws the parameters again, once they have shapes."""
        if not self.has_uninitialized_params():
            super().reset_parameters()


class LazyLinear(_LazyWeights, _nn.Linear):
    """A Linear whose in_features is the last size of the first input."""

    cls_to_become = _nn.Linear

    def __init__(self, out_features, bias=True, device=None, dtype=None):
        super().__init__(0, 0, False)
        self._make_lazy(bias, device, dtype)
        self.out_features = out_features

    def initialize_parameters(self, input):
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))
            if self.bias is not None:
                self.bias.materialize((self.out_features,))
            self.reset_parameters()
        elif self.in_features == 0:  # loaded from a state
            self.in_features = input.shape[-1]
