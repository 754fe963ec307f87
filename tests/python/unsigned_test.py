"""uint16, uint32 and uint64: dtypes to hold numbers in, as PyTorch has them; arithmetic is for what they convert to."""

import struct

import neura
import numpy
import pytest

KINDS = [neura.uint16, neura.uint32, neura.uint64]


def name(dtype):
    return str(dtype).split(".")[-1]


@pytest.mark.parametrize("dtype", KINDS, ids=name)
def test_values_in_and_out(dtype):
    most = neura.iinfo(dtype).max
    assert most == 2 ** (8 * dtype.itemsize) - 1 and neura.iinfo(dtype).min == 0 and not dtype.is_signed
    x = neura.tensor([0, 1, most], dtype=dtype)
    assert x.dtype is dtype and x.tolist() == [0, 1, most] and x[2].item() == most and int(x[2]) == most
    assert f"{most}]" in repr(x) and repr(x).endswith(f"dtype={dtype})")
    assert neura.tensor(most, dtype=dtype).item() == most and float(x[1]) == 1.0 and bool(x[1])
    assert neura.zeros(2, dtype=dtype).tolist() == [0, 0] and neura.full((2,), 7, dtype=dtype).tolist() == [7, 7]
    with pytest.raises((ValueError, RuntimeError), match="expected"):
        neura.tensor([2**64], dtype=dtype)
    assert not x.is_floating_point() and not x.is_complex()


def test_numbers_beyond_int64_say_what_to_do():
    with pytest.raises(ValueError, match="expected integers that int64 holds, got one beyond; give dtype=uint64"):
        neura.tensor([1, 2**63])
    assert neura.tensor([1, 2**63], dtype=neura.uint64).tolist() == [1, 2**63]
    assert neura.tensor([2**63], dtype=neura.float64).item() == 2.0**63
    with pytest.raises(ValueError, match="expected a number that uint32 holds"):
        neura.tensor([2**63], dtype=neura.uint32)


@pytest.mark.parametrize("dtype", KINDS, ids=name)
def test_conversions_are_those_of_numpy(dtype):
    held = numpy.dtype(name(dtype))
    for other in (
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint16",
        "uint32",
        "uint64",
        "float32",
        "float64",
    ):
        values = numpy.array([0, 1, 2, 100, 127], other)
        there = neura.tensor(values).to(dtype)
        assert there.dtype is dtype and there.tolist() == values.astype(held).tolist(), other
        assert neura.tensor(values.astype(held)).to(getattr(neura, other)).tolist() == values.tolist(), other
    wrapped = numpy.array([-1, -2, 2**31, 2**62 + 5], "int64")
    assert neura.tensor(wrapped).to(dtype).tolist() == wrapped.astype(held).tolist()
    assert neura.tensor(wrapped.astype(held)).to(neura.int64).tolist() == wrapped.astype(held).astype("int64").tolist()
    most = numpy.array([numpy.iinfo(held).max], held)
    assert neura.tensor(most).to(neura.float64).item() == float(most[0])
    assert neura.tensor([3.7, 2.0**15], dtype=neura.float32).to(dtype).tolist() == [3, 2**15]
    columns = neura.arange(6).reshape(2, 3).t().to(dtype)
    assert columns.tolist() == [[0, 3], [1, 4], [2, 5]]


def test_fractions_beyond_the_range_become_its_ends():
    large = neura.tensor([1e30, -5.0, float("nan"), 2.0**63], dtype=neura.float64)
    assert large.to(neura.uint64).tolist() == [2**64 - 1, 0, 0, 2**63]
    assert large.to(neura.uint32).tolist() == [2**32 - 1, 0, 0, 2**32 - 1]
    assert large.to(neura.uint16).tolist() == [2**16 - 1, 0, 0, 2**16 - 1]


@pytest.mark.parametrize("dtype", KINDS, ids=name)
def test_arrays_share_their_memory(dtype):
    array = numpy.arange(6, dtype=name(dtype)).reshape(2, 3)
    x = neura.from_numpy(array)
    assert x.dtype is dtype and x.shape == (2, 3)
    array[0, 1] = 77
    assert x[0, 1].item() == 77
    assert x.numpy().dtype == array.dtype and numpy.shares_memory(x.numpy(), array)
    assert numpy.array_equal(numpy.from_dlpack(x), array)
    assert neura.from_dlpack(numpy.arange(3, dtype=name(dtype))).tolist() == [0, 1, 2]


@pytest.mark.parametrize("dtype", KINDS, ids=name)
def test_what_moves_elements(dtype):
    x = neura.tensor([[1, 2], [3, 4]], dtype=dtype)
    assert x.t().contiguous().tolist() == [[1, 3], [2, 4]] and x.clone().dtype is dtype
    assert neura.cat([x, x]).tolist() == [[1, 2], [3, 4]] * 2 and neura.stack([x, x]).shape == (2, 2, 2)
    assert x[neura.tensor([1, 0])].tolist() == [[3, 4], [1, 2]] and x[:, 1].tolist() == [2, 4]
    assert x.repeat(1, 2).tolist() == [[1, 2, 1, 2], [3, 4, 3, 4]] and x.roll(1, 0).tolist() == [[3, 4], [1, 2]]
    x[0, 0] = 9
    assert x.tolist() == [[9, 2], [3, 4]] and x.view(neura.uint8).numel() == 4 * dtype.itemsize
    assert x.fill_(5).tolist() == [[5, 5], [5, 5]]


def test_comparisons_and_refusals():
    a, b = neura.tensor([1, 60000], dtype=neura.uint16), neura.tensor([1, 2], dtype=neura.uint16)
    assert (
        (a == b).tolist() == [True, False] and (a > b).tolist() == [False, True] and (a != 1).tolist() == [False, True]
    )
    assert neura.equal(a, a.clone()) and not neura.equal(a, b)
    c = neura.tensor([2**32 - 1], dtype=neura.uint32)
    assert (c > 0).item() and (c == 2**32 - 1).item()
    d = neura.tensor([2**64 - 1], dtype=neura.uint64)
    assert neura.equal(d, d.clone()) and not neura.equal(d, neura.zeros(1, dtype=neura.uint64))
    for wrong in (lambda: a + b, lambda: a.sum(), lambda: a @ b):
        with pytest.raises(neura.errors.DTypeError, match=r"uint16"):
            wrong()


@pytest.mark.parametrize("dtype", KINDS, ids=name)
def test_files(dtype, tmp_path):
    x = neura.tensor([1, neura.iinfo(dtype).max], dtype=dtype)
    for suffix in ("pt", "safetensors"):
        neura.save({"x": x}, tmp_path / f"x.{suffix}")
        back = neura.load(tmp_path / f"x.{suffix}")["x"]
        assert back.dtype is dtype and back.tolist() == x.tolist()
    assert neura.safetensors.save({"x": x}).endswith(struct.pack("<2" + "HIQ"[KINDS.index(dtype)], *x.tolist()))


def test_the_bits_of_a_hash_are_unsigned():
    h = neura.hash_tensor(neura.tensor([-1, 0]))
    assert h.dtype is neura.uint64 and h.item() == 2**64 - 1
