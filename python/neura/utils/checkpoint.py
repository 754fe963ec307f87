"""Activation checkpointing: saves memory by recomputing activations in backward."""

import contextlib as _contextlib
from collections import OrderedDict as _OrderedDict

from .. import _neura
from ..nn import Sequential as _Sequential

__all__ = [
    "CheckpointError",
    "CheckpointModule",
    "checkpoint",
    "checkpoint_sequential",
    "noop_context_fn",
    "set_checkpoint_early_stop",
]

CheckpointError = _neura.errors.AutogradError  # what a second run that differs raises, among others
_early_stop = None


@_contextlib.contextmanager
def set_checkpoint_early_stop(enable):
    """Within a block, calls of checkpoint take this for their early_stop.

    >>> with neura.utils.checkpoint.set_checkpoint_early_stop(False):
    ...     y = neura.utils.checkpoint.checkpoint(neura.exp, neura.ones(2))
    """
    global _early_stop
    before, _early_stop = _early_stop, bool(enable)
    try:
        yield
    finally:
        _early_stop = before


def noop_context_fn():
    """Two contexts that do nothing: the default of context_fn."""
    return _contextlib.nullcontext(), _contextlib.nullcontext()


def checkpoint(
    function,
    *args,
    use_reentrant=None,
    context_fn=noop_context_fn,
    determinism_check="default",
    debug=False,
    early_stop=True,
    preserve_rng_state=True,
    **kwargs,
):
    """function(*args, **kwargs) without saving activations: they are recomputed in backward.

    Arguments and results may be anything; parameters that function reads get their gradients as ever; calls nest.
    preserve_rng_state: random numbers are drawn the same way the second time. context_fn() gives a context for the
    first run and one for the second. determinism_check 'default' raises AutogradError in backward if the second run
    does not save tensors of the same shapes and dtypes; 'none' looks only at how many they are. early_stop: the second
    run ends with the last value needed. use_reentrant is PyTorch's choice of an algorithm; there is one here, which
    gives what use_reentrant=False gives.

    >>> layer = lambda x: x.exp().sin()
    >>> x = neura.ones(3, requires_grad=True)
    >>> neura.utils.checkpoint.checkpoint(layer, x, use_reentrant=False).sum().backward()
    """
    if determinism_check not in ("default", "none"):
        raise ValueError(f"checkpoint: expected determinism_check to be 'default' or 'none', got {determinism_check!r}")
    if debug:
        raise NotImplementedError("checkpoint: debug is not there; anomaly mode names the line of a forward call")
    at = [i for i, a in enumerate(args) if isinstance(a, _neura.Tensor)]
    names = [k for k, a in kwargs.items() if isinstance(a, _neura.Tensor)]
    contexts = iter(context_fn())
    rest = [None if isinstance(a, _neura.Tensor) else a for a in args]
    named = {k: None if k in names else a for k, a in kwargs.items()}
    second = []

    def run(tensors):
        if not second:
            second.append(None)
            context = next(contexts)
            second[0] = next(contexts)
        else:
            context = second[0]
        positional, keywords = list(rest), dict(named)
        for i, tensor in zip(at, tensors):
            positional[i] = tensor
        for k, tensor in zip(names, tensors[len(at) :]):
            keywords[k] = tensor
        with context:
            return function(*positional, **keywords)

    stops = early_stop if _early_stop is None else _early_stop
    tensors = [args[i] for i in at] + [kwargs[k] for k in names]
    return _neura._checkpoint(run, tensors, preserve_rng_state, determinism_check == "default", stops)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """functions one after another, in segments of which all but the last are checkpoints.

    functions: an nn.Sequential or a list of callables. segments (int): how many parts.
    """
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)
    if not 1 <= segments <= max(1, len(functions)):
        raise ValueError(f"checkpoint_sequential: expected 1 to {len(functions)} segments, got {segments}")

    def part(start, end):
        def forward(value):
            for function in functions[start:end]:
                value = function(value)
            return value

        return forward

    size, end = len(functions) // segments, 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(part(start, end), input, use_reentrant=use_reentrant, **kwargs)
    return part(end, len(functions))(input)


class CheckpointModule(_Sequential):
    """A module that saves only its inputs, and recomputes in backward what its parts would have saved.

    module: of an nn.Sequential the entries are held under their own names, so that parameters, states and files are the
    same as without; any other module is held as `module`. They stay shared with whoever else holds them. segments
    (int): of a Sequential, how many parts of about equal length it runs in, each a checkpoint. options: those of
    checkpoint, such as preserve_rng_state.

    >>> nn = neura.nn
    >>> net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    >>> checked = neura.utils.checkpoint.CheckpointModule(net, segments=2)
    >>> checked(neura.ones(3, 4)).sum().backward()
    """

    def __init__(self, module, segments=1, **options):
        entries = module._modules.items() if isinstance(module, _Sequential) else [("module", module)]
        super().__init__(_OrderedDict(entries))
        if not 1 <= segments <= max(1, len(self)):
            raise ValueError(f"CheckpointModule: expected 1 to {max(1, len(self))} segments, got {segments}")
        self.segments, self.options = segments, options

    def forward(self, *args, **kwargs):
        steps = list(self)
        for k in range(self.segments):
            part = steps[k * len(steps) // self.segments : (k + 1) * len(steps) // self.segments]
            if part:
                args, kwargs = (checkpoint(_Part(part), *args, **self.options, **kwargs),), {}
        return args[0]

    def extra_repr(self):
        return f"segments={self.segments}" if self.segments > 1 else ""


class _Part:
    """Modules one after the other, as one function."""

    def __init__(self, modules):
        self.modules = modules

    def __call__(self, *args, **kwargs):
        value = self.modules[0](*args, **kwargs)
        for module in self.modules[1:]:
            value = module(value)
        return value
