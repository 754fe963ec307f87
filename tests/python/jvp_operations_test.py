"""Forward mode of every differentiable operation is the transpose of reverse mode: <u, J t> = <J' u, t>."""

import neura
import pytest
from neura.func import jvp, vjp
from transform_cases import cases, difference, names

# Results beside the first have derivatives in forward mode alone: statistics, residuals.
MORE_RESULTS = {"_native_batch_norm_legit", "native_batch_norm", "native_layer_norm", "linalg.lstsq"}
# Several values may be written to one place: reverse mode reaches each, forward mode follows the one that stays.
OVERWRITING = {f"nn.functional.max_unpool{n}d" for n in (1, 2, 3)}


def product(a, b):
    return complex((a * (b.conj() if b.is_complex() else b)).sum().to(neura.complex128).item()).real if a.numel() else 0


def random_like(t):
    r = neura.rand(t.shape, dtype=neura.float64) - 0.3
    return (neura.complex(r, neura.rand(t.shape, dtype=neura.float64)) if t.is_complex() else r).to(t.dtype)


def check(case, k):
    def of(x):
        results = case.call(*[x if j == k else t for j, t in enumerate(case.tensors)])
        return tuple(y for y in results if y.is_floating_point() or y.is_complex())

    x = case.tensors[k]
    t = random_like(x)
    outputs, tangents = jvp(of, (x,), (t,))
    again, back = vjp(of, x)
    cotangents = tuple(random_like(y) for y in again)
    (gradient,) = back(cotangents)
    forward = sum(product(a, b) for a, b in zip(tangents, cotangents))
    reverse = product(gradient, t)
    size = max(1.0, abs(reverse), *(float(a.abs().to(neura.float64).sum()) for a in tangents if a.numel()))
    tolerance = (1e-7 if x.dtype in (neura.float64, neura.complex128) else 1e-3) * size
    assert abs(forward - reverse) <= tolerance or forward != forward and reverse != reverse
    for a, b in zip(outputs, again):
        assert difference(a, b) is None


@pytest.mark.parametrize("name", [n for n in names() if n not in MORE_RESULTS | OVERWRITING])
def test_is_the_transpose_of_reverse_mode(name):
    neura.manual_seed(3)
    for case in cases(name, 2):
        for k, wanted in enumerate(case.differentiable):
            if wanted:
                check(case, k)


@pytest.mark.parametrize("name", sorted(OVERWRITING))
def test_is_the_operation_itself_where_it_is_linear(name):
    neura.manual_seed(3)
    for case in cases(name, 4):
        x, *rest = case.tensors
        t = random_like(x)
        (tangent,) = jvp(lambda x: case.call(x, *rest), (x,), (t,))[1]
        assert difference(tangent, case.call(t, *rest)[0]) is None
