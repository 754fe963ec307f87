"""Pickling and copying of tensors, dtypes, devices, sizes, functions."""

import copy
import multiprocessing
import pickle

import neura
import pytest


class Marked(neura.Tensor):
    __slots__ = ("mark",)


def by_pickle(protocol):
    return lambda value: pickle.loads(pickle.dumps(value, protocol))


TRIPS = [by_pickle(p) for p in range(2, pickle.HIGHEST_PROTOCOL + 1)] + [copy.deepcopy]


@pytest.mark.parametrize("trip", TRIPS)
def test_values_dtype_strides_and_gradient_flag(trip):
    for dtype in (neura.float32, neura.bfloat16, neura.int64, neura.bool, neura.complex128, neura.uint8):
        x = (neura.arange(24).view(2, 3, 4) % 2).to(dtype).permute(2, 0, 1)
        y = trip(x)
        assert y.dtype is x.dtype and y.stride() == x.stride() and y.shape == x.shape and neura.equal(x, y)
        assert y.data_ptr() != x.data_ptr()
    assert trip(neura.ones(2, requires_grad=True)).requires_grad
    assert trip(neura.tensor(3.5)).item() == 3.5 and trip(neura.zeros(0, 2)).shape == (0, 2)


@pytest.mark.parametrize("trip", TRIPS)
def test_tensors_that_share_bytes_still_do(trip):
    x = neura.arange(6.0)
    parts = {"whole": x, "part": x[1:3], "again": x, "other": neura.arange(6.0)}
    got = trip(parts)
    assert got["whole"] is got["again"]
    got["whole"].fill_(9)
    assert got["part"].tolist() == [9, 9] and got["other"].tolist() == list(range(6))
    assert x.tolist() == list(range(6))


@pytest.mark.parametrize("trip", TRIPS)
def test_attributes_and_classes(trip):
    x = Marked(neura.ones(2))
    x.mark, x.note, x.me = "m", [1, 2], x
    y = trip(x)
    assert type(y) is Marked and y.mark == "m" and y.note == [1, 2] and y.me is y and y.tolist() == [1, 1]


def test_copy_shares_and_deepcopy_does_not():
    x = neura.ones(2)
    assert copy.copy(x).data_ptr() == x.data_ptr() and copy.deepcopy(x).data_ptr() != x.data_ptr()
    leaf = neura.ones(2, requires_grad=True)
    (leaf * 3).sum().backward()
    deep = copy.deepcopy(leaf)
    assert deep.grad.tolist() == [3, 3] and deep.grad.data_ptr() != leaf.grad.data_ptr()
    with pytest.raises(RuntimeError, match="leaf"):
        copy.deepcopy(leaf * 2)
    memo = {}
    assert copy.deepcopy(x, memo) is copy.deepcopy(x, memo)


def test_bytes_travel_out_of_band():
    x, buffers = neura.arange(1000.0), []
    data = pickle.dumps(x, 5, buffer_callback=buffers.append)
    assert len(data) < 500 and len(buffers) == 1
    assert neura.equal(pickle.loads(data, buffers=buffers), x)


def test_facts_are_themselves_again():
    for value in (neura.float32, neura.bool, neura.float8_e4m3fn):
        assert pickle.loads(pickle.dumps(value)) is value and copy.deepcopy(value) is value
    assert pickle.loads(pickle.dumps(neura.device("cpu"))) == neura.device("cpu")
    size = pickle.loads(pickle.dumps(neura.ones(2, 3).shape))
    assert type(size) is neura.Size and size.numel() == 6
    for function in (neura.relu, neura.softmax, neura.nn.functional.layer_norm, neura.matmul):
        assert pickle.loads(pickle.dumps(function)) is function


def test_broken_pickles_are_errors():
    x = neura.ones(4)
    rebuild, (kind, storage, dtype, *_), _ = x.__reduce_ex__(4)
    for sizes in [(0, (5,), (1,)), (1, (4,), (1,)), (0, (2, 2), (1,)), (-1, (1,), (1,)), (0, (2,), (2**62,))]:
        with pytest.raises(ValueError):
            rebuild(kind, storage, dtype, *sizes, False)
    with pytest.raises(TypeError):
        rebuild(int, storage, dtype, 0, (1,), (1,), False)


def double(x):
    return x * 2


def test_multiprocessing():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(double, [neura.ones(3)])[0].tolist() == [2, 2, 2]


def test_size_is_a_tuple():
    s = neura.ones(2, 3).shape
    assert repr(s) == "neura.Size([2, 3])" and s == (2, 3) and s.numel() == 6 and isinstance(s, tuple)
    for part in (s[:1], s + (4,), (4,) + s, s * 2, neura.ones(2).size(), neura.Size([1])):
        assert type(part) is neura.Size
    for wrong in ([1], 1, "a", None, (1.5,), ("a",)):
        with pytest.raises(TypeError):
            s + wrong
        with pytest.raises(TypeError):
            wrong + s
    number = neura.tensor(4)
    given = (number,)
    assert (s + given)[2].__class__ is int and neura.Size(given) == (4,) and given[0] is number
    assert s[-1] == 3 and neura.Size().numel() == 1 and hash(s) == hash((2, 3))
    with pytest.raises(TypeError):
        neura.Size([1.5])


def test_a_method_of_a_storage_wants_a_storage():
    for name in ("data_ptr", "nbytes", "size"):
        with pytest.raises(TypeError, match="UntypedStorage: expected a storage, got int"):
            getattr(neura.UntypedStorage, name)(3)
