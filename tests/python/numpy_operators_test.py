"""NumPy's numbers and arrays on either side of every operator: a Tensor comes out, with its history."""

import operator

import neura
import numpy as np
import pytest

ARITHMETIC = "add sub mul truediv floordiv mod pow lt le eq ne gt ge".split()
BITS = "and_ or_ xor lshift rshift".split()
DTYPES = "float16 float32 float64 longdouble int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool_".split()
DTYPES += ["complex64", "complex128"]


def results(f):
    """What f gives, or the kind of error."""
    try:
        r = f()
    except Exception as error:
        return type(error)
    assert type(r) is neura.Tensor
    return r.dtype, r.shape, str(r.tolist()), r.requires_grad


@pytest.mark.parametrize("form", ["scalar", "0-d array"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_of_numpy_are_numbers(dtype, form):
    number = getattr(np, dtype)(1)
    plain = float(number) if dtype == "longdouble" else number.item()
    number = np.asarray(number) if form == "0-d array" else number
    tensors = [neura.tensor([1.5, 2.0], requires_grad=True), neura.tensor([3, 2]), neura.tensor([True, False])]
    for name in ARITHMETIC + BITS:
        op = getattr(operator, name)
        for t in tensors:
            assert results(lambda: op(number, t)) == results(lambda: op(plain, t)), (name, t)
            assert results(lambda: op(t, number)) == results(lambda: op(t, plain)), (name, t)


@pytest.mark.parametrize("name", "add sub mul truediv pow".split())
@pytest.mark.parametrize("number", [np.float64(2), np.float32(2), np.int64(2), np.array(2.0)], ids=repr)
@pytest.mark.parametrize("first", [True, False])
def test_the_gradient_reaches_the_tensor(name, number, first):
    op = getattr(operator, name)

    def gradient(two):
        x = neura.tensor([1.5, 3.0], requires_grad=True)
        (op(two, x) if first else op(x, two)).sum().backward()
        return x.grad.tolist()

    assert gradient(number) == gradient(2.0)


def test_parameters_and_arrays():
    p = neura.nn.Parameter(neura.ones(2, 3))
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    for r in (a * p, p * a, a + p, a - p, a / p, a == p, a < p, a.T @ p, p.detach() @ a.T):
        assert type(r) is neura.Tensor
    (a * p).sum().backward()
    assert p.grad.tolist() == a.tolist()
    assert (a.T @ p).requires_grad


def test_numbers_that_int64_does_not_hold_are_refused():
    with pytest.raises(TypeError):
        np.uint64(2**64 - 1) + neura.ones(2, dtype=neura.int64)


def test_in_place_operators_write_into_the_tensor():
    t = neura.tensor([1, 2, 3])
    same = t
    t += np.int32(1)
    t *= np.array(2)
    t **= 2
    t <<= 1
    t >>= np.int64(2)
    assert t is same and t.tolist() == [8, 18, 32]
