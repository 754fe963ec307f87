"""Operations of one's own by the names of torch.library: a Python function with its derivative, under neura.ops.

>>> import neura
>>> @neura.library.custom_op("doc::cube", mutates_args=())
... def cube(x: neura.Tensor) -> neura.Tensor:
...     return x * x * x
>>> cube.register_autograd(
...     lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2,
...     setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
... )
>>> x = neura.tensor([2.0], requires_grad=True)
>>> neura.ops.doc.cube(x).backward()
>>> x.grad
tensor([12.])
"""

import functools
import inspect

from . import ops
from ._neura import Tensor, device, errors
from .autograd.function import Function

__all__ = (
    "CustomOpDef Library custom_op define fallthrough_kernel get_ctx impl impl_abstract infer_schema opcheck "
    "register_autograd register_fake register_kernel register_torch_dispatch register_vmap triton_op"
).split()


def _split(name):
    namespace, colons, own = name.partition("::")
    if not colons or not namespace.isidentifier() or not own.split(".")[0].isidentifier():
        raise ValueError(f'library: expected a name "namespace::operation", got "{name}"')
    return namespace, own


class CustomOpDef:
    """An operation that `custom_op` makes: call it, or neura.ops.<namespace>.<name>.

    Without register_autograd its result has no history, as in PyTorch a backward through it is then an error.
    """

    def __init__(self, name, function, mutates_args=()):
        self._namespace, self._name = _split(name)
        self._qualname, self._init_fn = name, function
        self._kernels, self._backward, self._setup, self._fake, self._vmap = {}, None, None, None, None
        self._mutates = mutates_args if mutates_args == "unknown" else tuple(mutates_args)
        self._signature = inspect.signature(function) if function is not None else None
        functools.update_wrapper(self, function) if function is not None else None
        ops._register(self._namespace, self._name, self)

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(self, device_types, fn=None):
        """The function to call for tensors on these types of device: a name or several; None for all. A decorator."""
        if fn is None:
            return lambda fn: self.register_kernel(device_types, fn)
        for kind in (
            [None] if device_types is None else [device_types] if isinstance(device_types, str) else device_types
        ):
            self._kernels[None if kind in (None, "default") else device(kind).type] = fn
        return fn

    def register_fake(self, fn):
        """The sizes and dtypes of the results, for tensors on the device meta. A decorator."""
        self._fake = fn
        return fn

    def register_autograd(self, backward, /, *, setup_context=None):
        """The derivative: backward(ctx, *gradients), after setup_context(ctx, inputs, output)."""
        if self._mutates:
            raise RuntimeError(
                f"register_autograd: expected an operation that changes no argument, got {self._qualname}, which does"
            )
        self._backward, self._setup = backward, setup_context

    def register_vmap(self, func=None, /):
        """The rule under vmap: func(info, in_dims, *args) gives results and their dimensions. A decorator."""
        if func is None:
            return self.register_vmap
        self._vmap = func
        return func

    def _run(self, *args, **kwargs):
        kinds = [a.device.type for a in (*args, *kwargs.values()) if isinstance(a, Tensor)]
        if "meta" in kinds and self._fake is not None:
            return self._fake(*args, **kwargs)
        kernel = self._kernels.get(kinds[0] if kinds else "cpu") or self._kernels.get(None) or self._init_fn
        if kernel is None:
            raise errors.NotImplementedError(
                f"{self._qualname}: expected a kernel for {kinds[0] if kinds else 'cpu'}, got none; register one"
            )
        if not self._mutates and self._init_fn is not None:  # no history inside: as PyTorch, the kernel sees values
            args = tuple(a.detach() if isinstance(a, Tensor) else a for a in args)
            kwargs = {name: a.detach() if isinstance(a, Tensor) else a for name, a in kwargs.items()}
        return kernel(*args, **kwargs)

    def __call__(self, *args, **kwargs):
        if self._signature is not None and (kwargs or self._backward is not None):
            bound = self._signature.bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        if self._backward is not None and not kwargs:
            return self._function().apply(*args)
        return self._run(*args, **kwargs)

    def _function(self):
        op = self

        def forward(*args):
            return op._run(*args)

        def setup_context(ctx, inputs, output):
            if op._setup is not None:
                op._setup(ctx, inputs, output)

        def backward(ctx, *grads):
            return op._backward(ctx, *grads)

        members = {"forward": forward, "setup_context": setup_context, "backward": backward}
        members = {name: staticmethod(member) for name, member in members.items()}
        if self._vmap is not None:
            members["vmap"] = staticmethod(self._vmap)
        return type(f"GeneratedBackwardFor_{self._namespace}_{self._name}_default", (Function,), members)


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Makes an operation of a Python function, which it takes or decorates.

    name (str): "namespace::operation", under which neura.ops has it.
    mutates_args: the names of the arguments that the function changes in place; () for none.
    device_types: the types of device whose tensors the function takes; None for all. Others by register_kernel.
    schema: PyTorch's text of the signature: not read, the function's own is taken.
    """
    if fn is None:
        return lambda fn: custom_op(name, fn, mutates_args=mutates_args, device_types=device_types)
    made = CustomOpDef(name, fn, mutates_args)
    if device_types is not None:
        made.register_kernel(device_types, fn)
        made._init_fn = None
    return made


triton_op = custom_op


def _found(op):
    if isinstance(op, CustomOpDef):
        return op
    namespace, own = _split(op)
    found = ops._find(namespace, own.split(".")[0])
    if not isinstance(found, CustomOpDef):
        raise errors.NotImplementedError(f"library: expected an operation made by custom_op or define, got {op}")
    return found


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """`register_kernel` of an operation, which is given or named."""
    return _found(op).register_kernel(device_types, func)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """`register_fake` of an operation, which is given or named."""
    return _found(op).register_fake if func is None else _found(op).register_fake(func)


impl_abstract = register_fake


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """`register_autograd` of an operation, which is given or named."""
    _found(op).register_autograd(backward, setup_context=setup_context)


def register_vmap(op, func=None, /, *, lib=None):
    """`register_vmap` of an operation, which is given or named."""
    return _found(op).register_vmap(func)


def register_torch_dispatch(op, torch_dispatch_class, func=None, /, *, lib=None):
    """NotImplementedError: there is no __torch_dispatch__."""
    raise errors.NotImplementedError("register_torch_dispatch: there is no __torch_dispatch__; use __torch_function__")


def get_ctx():
    """NotImplementedError: a fake function cannot ask for sizes that depend on data."""
    raise errors.NotImplementedError("get_ctx: sizes without a value are not there; give the results fixed sizes")


def fallthrough_kernel():
    """NotImplementedError, as when PyTorch's is called."""
    raise errors.NotImplementedError("fallthrough_kernel: expected to be registered, got a call")


def infer_schema(prototype_function, /, *, mutates_args, op_name=None):
    """The signature of a function as text, as Python writes it."""
    return f"{op_name or ''}{inspect.signature(prototype_function)}"


def define(qualname, schema, *, lib=None, tags=()):
    """Declares the operation, whose functions `impl` gives. schema is PyTorch's text and not read."""
    CustomOpDef(qualname, None, "unknown" if "!" in schema else ())


def impl(qualname, types, func=None, *, lib=None):
    """The function of a declared operation for types of device, or PyTorch's words for all. A decorator."""
    if func is None:
        return lambda func: impl(qualname, types, func)
    kinds = {"cpu": "cpu", "cuda": "cuda", "meta": "meta"}
    wanted = [types] if isinstance(types, str) else list(types)
    for kind in wanted:
        kind = kind.lower()
        _found(qualname)._kernels[kinds.get(kind)] = func
    return func


class Library:
    """Declares and implements the operations of one namespace. kind: "DEF", "FRAGMENT" or "IMPL"."""

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("DEF", "FRAGMENT", "IMPL"):
            raise ValueError(f'Library: expected "DEF", "FRAGMENT" or "IMPL" as kind, got {kind!r}')
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema, alias_analysis="", *, tags=()):
        """Declares `name(arguments) -> results`; returns the name."""
        name = schema.partition("(")[0].strip()
        define(f"{self.ns}::{name}", schema)
        return name

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=False):
        """The function of an operation of this namespace."""
        name = op_name if isinstance(op_name, str) else op_name._name
        impl(f"{self.ns}::{name.rpartition('::')[2]}", dispatch_key or self.dispatch_key or "default", fn)


def opcheck(op, args, kwargs=None, *, test_utils=None, raise_exception=True, atol=None, rtol=None):
    """Calls the operation, and its fake function with tensors on meta: equal sizes and dtypes, or RuntimeError."""
    made = _found(op)
    results = made(*args, **(kwargs or {}))
    if made._fake is not None:
        fakes = made._fake(*(a.to("meta") if isinstance(a, Tensor) else a for a in args), **(kwargs or {}))
        pairs = zip(*[r if isinstance(r, (tuple, list)) else [r] for r in (results, fakes)])
        for real, fake in pairs:
            if (real.shape, real.dtype) != (fake.shape, fake.dtype):
                raise RuntimeError(
                    f"opcheck: expected {real.dtype} {list(real.shape)} of the fake function, got {fake.dtype} "
                    f"{list(fake.shape)}"
                )
    return {"test_schema": "SUCCESS", "test_faketensor": "SUCCESS"}
