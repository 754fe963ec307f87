"""Gradients of convolutions as functions of their own: of the input, or of the weight."""

from .. import _neura
from .._neura import Tensor, errors

__all__ = [f"conv{n}d_{of}" for n in (1, 2, 3) for of in ("input", "weight")]


def _each(value, n):
    return [value] * n if isinstance(value, int) else list(value)


def _of_input(n, input_size, weight, grad_output, stride, padding, dilation, groups):
    sizes = [_each(v, n) for v in (stride, padding, dilation)]
    if len(input_size) != n + 2:
        raise errors.ShapeError(f"conv{n}d_input: expected input_size of {n + 2} numbers, got {list(input_size)}")
    kernel, out = weight.shape[2:], grad_output.shape[2:]
    extra = [
        input_size[i + 2] - ((out[i] - 1) * s - 2 * p + d * (kernel[i] - 1) + 1)
        for i, (s, p, d) in enumerate(zip(*sizes))
    ]
    if any(not 0 <= e < s for e, s in zip(extra, sizes[0])):
        raise errors.ShapeError(
            f"conv{n}d_input: expected an input_size that gives grad_output {list(grad_output.shape)}, got "
            f"{list(input_size)}"
        )
    transposed = getattr(_neura.functional, f"conv_transpose{n}d")
    stride, padding, dilation = sizes
    return transposed(grad_output, weight, None, stride, padding, extra, groups, dilation)


def _of_weight(n, input, weight_size, grad_output, stride, padding, dilation, groups):
    weight = _neura.zeros(tuple(weight_size), dtype=input.dtype, device=input.device).requires_grad_()
    was = _neura.is_grad_enabled()
    _neura._set_grad_enabled(True)
    try:
        y = getattr(_neura.functional, f"conv{n}d")(input.detach(), weight, None, stride, padding, dilation, groups)
    finally:
        _neura._set_grad_enabled(was)
    return _neura._grad(y, weight, grad_output)[0]


def _make(n):
    def input(input_size, weight: Tensor, grad_output: Tensor, stride=1, padding=0, dilation=1, groups=1):
        return _of_input(n, input_size, weight, grad_output, stride, padding, dilation, groups)

    def weight(input: Tensor, weight_size, grad_output: Tensor, stride=1, padding=0, dilation=1, groups=1):
        return _of_weight(n, input, weight_size, grad_output, stride, padding, dilation, groups)

    for of, function in (("input", input), ("weight", weight)):
        function.__name__ = function.__qualname__ = f"conv{n}d_{of}"
        shape = "input_size" if of == "input" else "weight_size"
        function.__doc__ = f"The gradient of conv{n}d for its {of}, of sizes {shape}, from grad_output, its result's."
        globals()[function.__name__] = function


for _n in (1, 2, 3):
    _make(_n)
