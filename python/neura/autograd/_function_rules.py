"""What vmap makes of a Function: its own rule, or one generated from forward, backward and jvp."""

from collections import namedtuple
from contextlib import contextmanager

from .. import _neura
from ..func._trees import spread
from .function import Function

VmapInfo = namedtuple("VmapInfo", ["batch_size", "randomness"])
VmapInfo.__doc__ = "What Function.vmap gets first: the number of samples, and vmap's randomness."


def _is_dim(value):
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


def batched(cls, size, randomness, dims, values):
    """(results, where the samples stand in each) of a call whose arguments hold their samples at dims."""
    info = VmapInfo(size, randomness)
    found = _generated(cls, info, dims, values) if cls.generate_vmap_rule else cls.vmap(info, dims, *values)
    if not isinstance(found, tuple) or len(found) != 2:
        got = f"a tuple of {len(found)}" if isinstance(found, tuple) else type(found).__name__
        raise RuntimeError(f"{cls.__name__}: expected vmap to give (output, out_dims), got {got}")
    outputs, out_dims = found
    if isinstance(outputs, list):
        outputs = tuple(outputs)
    if isinstance(out_dims, list):
        out_dims = tuple(out_dims)
    return outputs, spread(out_dims, outputs, _is_dim, "out_dims")


class _Samples:
    """A level of samples, the first dimension of what is batched."""

    def __init__(self, level, size):
        self.level, self.size = level, size

    def raise_all(self, values, dims):
        return tuple(self.level.wrap(x, 0) if d == 0 and x is not None else x for x, d in zip(values, dims))

    def lower(self, value):
        """(value beneath, its place)."""
        if not isinstance(value, _neura.Tensor):
            return value, None
        return self.level.beneath(value), 0 if self.level.is_batched(value) else None

    def gradient(self, value, dim, shape):
        """As the gradient of an argument whose samples stand at dim and have that shape."""
        if value is None:
            return None
        if value.ndim >= len(shape) and tuple(value.shape) != shape:
            value = value.sum_to_size(shape)
        value, place = self.lower(value)
        if dim == 0:
            return value if place == 0 else value.expand(self.size, *value.shape)
        return value.sum(0) if place == 0 else value


@contextmanager
def _samples(info):
    level = _neura._BatchLevel(info.batch_size, info.randomness)
    try:
        yield _Samples(level, info.batch_size)
    finally:
        level.close()


class _SampleContext:
    """A context as the functions of one sample see it."""

    def __init__(self, ctx, samples, results=()):
        self.__dict__.update(ctx.__dict__.get("_of_sample", {}))
        self.__dict__.update(_ctx=ctx, _samples=samples, _results=dict(results))

    def _close(self):
        kept = {k: v for k, v in self.__dict__.items() if k not in ("_ctx", "_samples", "_results")}
        self._ctx._of_sample = kept
        self.__dict__.update(_ctx=None, _samples=None, _results={})

    def _keep(self, tensors, where):
        lowered = [self._samples.lower(t) for t in tensors]
        setattr(self, where, [d for _, d in lowered])
        return [t for t, _ in lowered]

    def save_for_backward(self, *tensors):
        self._ctx.save_for_backward(*self._keep(tensors, "_backward_dims"))

    def save_for_forward(self, *tensors):
        self._ctx.save_for_forward(*self._keep(tensors, "_forward_dims"))

    @property
    def saved_tensors(self):
        dims = self._forward_dims if self.__dict__.get("_forward") else self.__dict__.get("_backward_dims", ())
        return self._samples.raise_all(self._ctx.saved_tensors, dims)

    @property
    def needs_input_grad(self):
        return self._ctx.needs_input_grad

    def _beneath(self, tensors):
        return [self._results.get(id(t), t) for t in tensors]

    def mark_non_differentiable(self, *tensors):
        self._ctx.mark_non_differentiable(*self._beneath(tensors))

    def mark_dirty(self, *tensors):
        self._ctx.mark_dirty(*self._beneath(tensors))

    def set_materialize_grads(self, value):
        self._ctx.set_materialize_grads(value)


def _tuple(value):
    return value if isinstance(value, tuple) else tuple(value) if isinstance(value, list) else (value,)


def _generated(cls, info, dims, values):
    if not cls._splits:
        raise RuntimeError(
            f"{cls.__name__}: expected setup_context along with forward, which generate_vmap_rule needs, got a forward "
            "with ctx; write forward(*args) and setup_context(ctx, inputs, output)"
        )
    places, shapes, many = [], [], []

    class Mapped(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(*values):
            with _samples(info) as samples:
                inputs = samples.raise_all(values, dims)
                shapes[:] = [tuple(x.shape) if isinstance(x, _neura.Tensor) else None for x in inputs]
                output = cls.forward(*inputs)
                many[:] = [isinstance(output, tuple)]
                lowered = [samples.lower(y) for y in _tuple(output)]
                places[:] = [d for _, d in lowered]
                return tuple(y for y, _ in lowered)

        @staticmethod
        def setup_context(ctx, inputs, output):
            with _samples(info) as samples:
                given, results = samples.raise_all(inputs, dims), samples.raise_all(output, places)
                beneath = [(id(a), b) for a, b in zip((*given, *results), (*inputs, *output))]
                sample = _SampleContext(ctx, samples, beneath)
                cls.setup_context(sample, given, results if many[0] else results[0])
                sample._close()

        @staticmethod
        def backward(ctx, *grads):
            with _samples(info) as samples:
                sample = _SampleContext(ctx, samples)
                found = _tuple(cls._derivative(sample, *samples.raise_all(grads, places)))
                return tuple(samples.gradient(g, d, s) for g, d, s in zip(found, dims, shapes))

        @staticmethod
        def jvp(ctx, *tangents):
            with _samples(info) as samples:
                sample = _SampleContext(ctx, samples)
                sample._forward = "_forward_dims" in sample.__dict__
                found = _tuple(cls.jvp(sample, *samples.raise_all(tangents, dims)))
                lowered = [samples.lower(t) for t in found]
                expanded = zip(lowered, places)
                return tuple(
                    t if t is None or d == p or p is None else t.expand(info.batch_size, *t.shape)
                    for (t, d), p in expanded
                )

    Mapped.__name__ = cls.__name__
    Mapped._backward_cls.__name__ = cls._backward_cls.__name__
    output = Mapped.apply(*values)
    return (output, tuple(places)) if many[0] else (output[0], places[0])
