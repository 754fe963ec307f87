"""Differentiable functions written in Python."""

from .. import _neura
from .._neura import _FunctionCtx as FunctionCtx

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]


class Function:
    """Base of differentiable custom functions; call one by Name.apply(...), never make an instance.

    forward(ctx, *args) computes the result, a tensor or a tuple of tensors and other objects, with recording off. It
    may instead be forward(*args), with setup_context(ctx, inputs, output) with it. backward(ctx, *grads) gets one
    gradient per result and returns one per argument of forward, None for those that have none. ctx carries what
    backward needs: ctx.save_for_backward(*tensors) and ctx.saved_tensors for tensors, attributes for anything else.
    What backward computes from differentiable operations can be differentiated again.

    Inside transforms (neura.func) a function with setup_context has rules of its own: jvp(ctx, *tangents) for forward
    mode, with what ctx.save_for_forward(*tensors) kept, and vmap(info, in_dims, *args) for batches of samples, or
    generate_vmap_rule = True where forward, backward and jvp are made of neura's operations.

    >>> class Cube(neura.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return grad * 3 * x**2
    >>> x = neura.tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor(12.)
    """

    generate_vmap_rule = False
    _splits = False

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls._splits = cls.setup_context is not Function.setup_context
        body = {"_forward_cls": cls, "__module__": __name__, "__doc__": f"The context of {cls.__name__}."}
        body["__repr__"] = lambda ctx: f"<{__name__}.{type(ctx).__name__} object at {id(ctx):#x}>"
        cls._backward_cls = type(cls.__name__ + "Backward", (FunctionCtx,), body)

    def __call__(self, *args, **kwargs):
        raise RuntimeError(
            f"{type(self).__name__}: expected a call of {type(self).__name__}.apply, got one of an instance"
        )

    @staticmethod
    def forward(*args, **kwargs):
        """The value: forward(ctx, *args), or forward(*args) with setup_context."""
        raise NotImplementedError("Function: expected forward to be defined; write forward(ctx, *args)")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Fills ctx for backward after forward(*inputs) gave output."""
        raise NotImplementedError("Function: expected setup_context to be defined, or forward to take ctx")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """The gradients of the arguments of forward, from those of its results."""
        raise NotImplementedError("Function: expected backward to be defined; write backward(ctx, *grad_outputs)")

    vjp = backward

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """The tangents of the results of forward, from those of its arguments: None for what is no tensor."""
        raise NotImplementedError("Function: expected jvp to be defined; write jvp(ctx, *tangents)")

    @staticmethod
    def vmap(info, in_dims, *args):
        """(output, out_dims) of forward for info.batch_size samples, which stand in dimension in_dims[i] of args[i].

        in_dims[i] is None for an argument that all samples share, out_dims likewise for results.
        """
        raise NotImplementedError("Function: expected vmap to be defined; write vmap(info, in_dims, *args)")

    @classmethod
    def _has_jvp(cls):
        return cls.jvp is not Function.jvp

    @classmethod
    def _has_vmap(cls):
        written = cls.vmap is not Function.vmap
        if written and cls.generate_vmap_rule:
            raise RuntimeError(
                f"{cls.__name__}: expected vmap or generate_vmap_rule = True, got both; remove one of them"
            )
        return written or bool(cls.generate_vmap_rule)

    @classmethod
    def _derivative(cls, ctx, *grads):
        return (cls.vjp if cls.backward is Function.backward else cls.backward)(ctx, *grads)

    @classmethod
    def apply(cls, *args, **kwargs):
        """The result of forward, recorded with backward as its derivative."""
        if kwargs or cls._splits:
            import inspect

            lead = () if cls._splits else (None,)
            bound = inspect.signature(cls.forward).bind(*lead, *args, **kwargs)
            bound.apply_defaults()
            if bound.kwargs:
                raise TypeError(f"{cls.__name__}: expected no keyword-only arguments, got {', '.join(bound.kwargs)}")
            args = bound.args[len(lead) :]
        return _neura._apply(cls, args)


class InplaceFunction(Function):
    """A Function that may write its input in place; the same as Function, kept for its name."""


def once_differentiable(function):
    """Decorates a backward that cannot be differentiated: differentiating its result raises an error."""
    import functools

    from .grad_mode import no_grad

    @functools.wraps(function)
    def inner(ctx, *args):
        with no_grad():
            grads = function(ctx, *args)
        if not _neura.is_grad_enabled():
            return grads
        many = isinstance(grads, (tuple, list))
        refused = _neura._refuse_twice(ctx, tuple(grads) if many else (grads,), args)
        return refused if many else refused[0]

    return inner
