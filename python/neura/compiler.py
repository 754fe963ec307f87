"""Compiled functions, by the names of torch.compiler; see docs/graph.md."""

import functools

from . import _neura
from .nn import Module

__all__ = ["OptimizedModule", "compile", "disable", "is_compiling", "list_backends", "reset"]

_MODES = (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
_BACKENDS = ("inductor", "eager")
_PLAIN = ("aot_eager", "cudagraphs")  # PyTorch's other names, which here compile nothing either
_OPTIONS = {"least_elements": 1 << 15}


class OptimizedModule(Module):
    """What `compile` makes of a module: its calls are compiled, all else is the module's, which is `_orig_mod`.

    >>> import neura
    >>> net = neura.compile(neura.nn.Linear(2, 3))
    >>> net(neura.ones(1, 2)).shape, net.out_features, list(net.state_dict())
    (neura.Size([1, 3]), 3, ['_orig_mod.weight', '_orig_mod.bias'])
    """

    def __init__(self, module, least):
        super().__init__()
        self._orig_mod = module
        self._least = least
        self.training = module.training

    def __call__(self, *args, **kwargs):
        if self._least is None:
            return self._orig_mod(*args, **kwargs)
        return _neura._graph.call_compiled(self._orig_mod, args, kwargs, self._least)

    def forward(self, *args, **kwargs):
        return self(*args, **kwargs)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "_orig_mod":
                raise
            return getattr(self._orig_mod, name)


class CompiledForward:
    """The forward of a module that `Module.compile` has compiled in place; it is copied and pickled with the module."""

    def __init__(self, module, least):
        self.module, self.least = module, least

    def __call__(self, *args, **kwargs):
        forward = type(self.module).forward
        if self.least is None:
            return forward(self.module, *args, **kwargs)
        return _neura._graph.call_compiled(forward, (self.module, *args), kwargs, self.least)


def compile_in_place(
    module, *, fullgraph=False, dynamic=None, backend="inductor", mode=None, options=None, disable=False
):
    """What `Module.compile` does: the module's forward is compiled in place, so that names in its state dict stay."""
    least = _least_elements(backend, mode, options)
    if not disable:
        module.forward = CompiledForward(module, least)


def _least_elements(backend, mode, options):
    """The size from which calls wait; None where nothing is compiled."""
    if callable(backend):
        raise NotImplementedError("compile: a backend of one's own is not implemented; leave it out")
    if backend not in _BACKENDS + _PLAIN:
        raise ValueError(f"compile: expected one of the backends {', '.join(_BACKENDS)}, got {backend!r}")
    if mode not in _MODES:
        raise ValueError(f"compile: expected one of the modes {', '.join(map(str, _MODES))}, got {mode!r}")
    if mode is not None and options is not None:
        raise ValueError("compile: expected a mode or options, got both; leave one out")
    for name in options or {}:
        if name not in _OPTIONS:
            raise NotImplementedError(f"compile: the option {name!r} is not implemented; there is least_elements")
    return None if backend != "inductor" else {**_OPTIONS, **(options or {})}["least_elements"]


def compile(model=None, *, fullgraph=False, dynamic=None, backend="inductor", mode=None, options=None, disable=False):
    """A function or module that does the same in fewer passes over memory, with the same bits.

    Inside of it, pointwise calls on large contiguous tensors of the cpu wait until a value is needed; those that follow
    one another become one call. The function itself runs every time, so branches, numbers, prints, gradients, random
    draws and errors are those of eager. `neura.graph.explain()` tells what was gained; NEURA_COMPILE=0 in the
    environment switches it off.

    model (callable): a function or a module; None: the result decorates one.
    fullgraph, dynamic (bool): have no effect: what cannot wait runs at once, and any size is as good as another.
    backend (str): "inductor", the default, is Neura's own; "eager", "aot_eager" and
        "cudagraphs" compile nothing.
    mode (str): "default", "reduce-overhead", "max-autotune" and "max-autotune-no-cudagraphs" do the same.
    options (dict): {"least_elements": 32768}: calls on smaller tensors run at once.
    disable (bool): gives the model back as it is.

    Raises ValueError for another mode or name of a backend, NotImplementedError for a backend that is a function and
    for other options.

    >>> import neura
    >>> @neura.compile
    ... def f(a, b):
    ...     return neura.sigmoid(a * b + 1) - a
    >>> a, b = neura.randn(200, 300), neura.randn(200, 300)
    >>> bool((f(a, b) == neura.sigmoid(a * b + 1) - a).all())
    True
    """
    given = dict(fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable)
    if model is None:
        return lambda model: compile(model, **given)
    if not callable(model):
        raise TypeError(f"compile: expected a function or a module, got {type(model).__name__}")
    least = _least_elements(backend, mode, options)
    if disable or (least is None and not isinstance(model, Module)):
        return model
    if isinstance(model, Module):
        return OptimizedModule(model, least)
    call = _neura._graph.call_compiled

    @functools.wraps(model)
    def compiled(*args, **kwargs):
        return call(model, args, kwargs, least)

    return compiled


def disable(fn=None, recursive=True, *, reason=None):
    """A function whose calls all run at once, inside of compiled ones, too. recursive=False is not implemented.

    >>> import neura
    >>> f = neura.compile(neura.compiler.disable(lambda x: (x + 1, neura.compiler.is_compiling())))
    >>> f(neura.zeros(2))
    (tensor([1., 1.]), False)
    """
    if not recursive:
        raise NotImplementedError("disable: recursive=False is not implemented; leave it out")
    if fn is None:
        return lambda fn: disable(fn)
    call = _neura._graph.call_eager

    @functools.wraps(fn)
    def disabled(*args, **kwargs):
        return call(fn, args, kwargs)

    return disabled


def is_compiling():
    """True inside of a compiled function. Values are those of eager mode all the same.

    >>> import neura
    >>> neura.compiler.is_compiling(), neura.compile(neura.compiler.is_compiling)()
    (False, True)
    """
    return _neura._graph.is_compiling()


def list_backends(exclude_tags=("debug", "experimental")):
    """The names that `compile` takes as backend.

    >>> import neura
    >>> neura.compiler.list_backends()
    ['inductor']
    """
    return [name for name in _BACKENDS if name != "eager" or "debug" not in exclude_tags]


def reset():
    """Forgets all plans; they are made again when needed.

    >>> import neura
    >>> neura.compiler.reset()
    """
    _neura._graph.forget_plans()
