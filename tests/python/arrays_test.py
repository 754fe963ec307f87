"""Arrays of NumPy, buffers and DLPack: shared memory, lifetimes, what cannot be shared."""

import gc
import hashlib
import pickle
import warnings

import neura
import neura.utils.dlpack
import numpy as np
import pytest

DTYPES = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split()


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_both_ways(name):
    a = np.arange(6).reshape(2, 3).astype(name)
    x = neura.from_numpy(a)
    assert x.dtype is getattr(neura, name) and x.data_ptr() == a.ctypes.data
    b = x.numpy()
    assert b.dtype == a.dtype and b.ctypes.data == a.ctypes.data and np.array_equal(a, b)
    c = np.from_dlpack(x)
    assert c.dtype == a.dtype and c.ctypes.data == a.ctypes.data
    y = neura.from_dlpack(a)
    assert y.dtype is x.dtype and y.data_ptr() == a.ctypes.data and neura.equal(x, y)


def test_an_array_is_data_and_a_size_is_sizes():
    assert neura.Tensor(np.ones(2)).tolist() == [1, 1] and neura.Tensor(np.array([2, 3])).tolist() == [2, 3]
    assert neura.Tensor(np.array([2])).tolist() == [2] and neura.Tensor(np.array(2.5)).item() == 2.5
    assert neura.Tensor(np.ones((2, 2), dtype="float64")).dtype is neura.float32
    assert neura.Tensor(neura.Size([2])).shape == (2,) and neura.Tensor(neura.Size([2, 0])).shape == (2, 0)
    assert neura.Tensor(neura.Size([])).shape == () and neura.Tensor((2,)).tolist() == [2]
    for size in (2, np.int64(2), np.array(2)):
        assert neura.Tensor(size).shape == (2,) and neura.Tensor(size, 3).shape == (2, 3)
    for wrong in (True, np.array(["a"])):
        with pytest.raises(TypeError):
            neura.Tensor(wrong)


@pytest.mark.parametrize("name", DTYPES)
def test_a_sequence_takes_the_dtypes_of_arrays_in_it(name):
    dtype = getattr(neura, name)
    number = np.dtype(name).type(1)
    assert neura.tensor([number]).dtype is dtype and neura.tensor(number).dtype is dtype
    x = neura.tensor([np.ones((2, 3), name), np.zeros((2, 3), name)])
    assert x.dtype is dtype and x.shape == (2, 2, 3) and x.sum().item() == 6 if name != "bool" else x.any()


def test_strides_are_kept():
    a = np.arange(24.0).reshape(2, 3, 4)
    for view in (a.transpose(2, 0, 1), a[:, ::2, 1:3], a[1], a[..., 2], np.broadcast_to(a[0], (5, 3, 4))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert np.array_equal(neura.from_numpy(view).numpy(), view)
    x = neura.arange(24.0).view(2, 3, 4).permute(2, 0, 1)
    assert x.numpy().strides == (4, 48, 16) and np.asarray(x).ctypes.data == x.data_ptr()


def test_what_cannot_be_shared_says_so_or_is_copied():
    a = np.arange(6.0)
    with pytest.raises(ValueError, match="negative"):
        neura.from_numpy(a[::-1])
    with pytest.raises(ValueError, match="byte order"):
        neura.from_numpy(a.astype(">f8"))
    assert neura.tensor(a[::-1]).tolist() == neura.as_tensor(a[::-1]).tolist() == [5, 4, 3, 2, 1, 0]
    for swapped in (">f8", ">i2", ">c16", ">f2"):
        assert neura.tensor(a.astype(swapped)).tolist() == a.astype(swapped).tolist()
    pairs = np.zeros(3, dtype=[("a", "i1"), ("b", "f8")])
    pairs["b"] = [1, 2, 3]
    assert neura.tensor(pairs["b"]).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="multiples"):
        neura.from_numpy(pairs["b"])
    for wrong in (np.array(["a"]), np.array([object()]), np.array([1], "M8[s]"), np.array([1], "g")):
        with pytest.raises(TypeError, match="dtype that tensors have"):
            neura.from_numpy(wrong)
    with pytest.raises(TypeError, match="got list"):
        neura.from_numpy([1])
    with pytest.raises(ValueError, match="8 dimensions"):
        neura.from_numpy(np.zeros((1,) * 9))


def test_read_only_memory_is_never_written():
    a = np.arange(3.0)
    a.flags.writeable = False
    with pytest.warns(UserWarning, match="read-only"):
        x = neura.from_numpy(a)
    x += 1
    neura.as_tensor(a).fill_(9)
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":  # before it, NumPy offers no such memory by DLPack
        neura.from_dlpack(a).fill_(9)
    neura.frombuffer(b"\1\2", dtype=neura.uint8).fill_(9)
    assert a.tolist() == [0, 1, 2]
    with pytest.raises(ValueError):
        neura.asarray(a, copy=False)


def test_lifetimes():
    def arrays():
        for make in (np.asarray, np.from_dlpack, lambda t: t.numpy(), memoryview):
            x = neura.ones(1000)
            b = make(x)
            neura.mul(neura.ones(200000), 1, out=x)  # the tensor moves on; the array keeps the old bytes
            x.zero_()
            yield b

    for b in list(arrays()):
        gc.collect()
        assert np.asarray(b).sum() == 1000
    x = neura.from_dlpack(np.ones(1000))
    y = neura.from_numpy(np.ones(1000))
    gc.collect()
    assert float(x.sum() + y.sum()) == 2000


def test_an_array_turned_over_that_has_one_row_can_be_copied():
    a = np.ones((1, 3), np.float32)[::-1]  # its stride is negative, which no tensor's is
    x = neura.from_dlpack(a)
    assert x.data_ptr() == a.ctypes.data and x.stride() == (3, 1)
    assert neura.equal(pickle.loads(pickle.dumps(x)), x)
    with pytest.raises(ValueError, match="expected no negative sizes or strides"):
        neura.from_dlpack(np.ones((2, 3), np.float32)[::-1])


def test_capsules_serve_once():
    x = neura.arange(3)
    for capsule in (x.__dlpack__(), x.__dlpack__(max_version=(1, 0))):
        y = neura.from_dlpack(capsule)
        assert y.data_ptr() == x.data_ptr()
        with pytest.raises(ValueError, match="once"):
            neura.from_dlpack(capsule)
    assert x.__dlpack_device__() == (1, 0)
    assert neura.utils.dlpack.from_dlpack(neura.utils.dlpack.to_dlpack(x)).data_ptr() == x.data_ptr()
    x.__dlpack__()  # a capsule that nobody takes frees its struct


def test_dlpack_arguments():
    x = neura.ones(2)
    assert neura.from_dlpack(x.__dlpack__(copy=True)).data_ptr() != x.data_ptr()
    assert neura.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    assert neura.from_dlpack(x.__dlpack__(dl_device=(1, 0))).data_ptr() == x.data_ptr()
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(ValueError):
        x.__dlpack__(stream=1)
    with pytest.raises(RuntimeError, match="detach"):
        neura.ones(2, requires_grad=True).__dlpack__()
    with pytest.raises(TypeError):
        neura.from_dlpack([1])
    b = neura.ones(3).to(neura.bfloat16)
    assert neura.from_dlpack(b).dtype is neura.bfloat16


def test_arithmetic_with_arrays():
    a, x = np.array([1.0, 2.0]), neura.ones(2)
    for r in (a + x, x + a, a * x + x, x - a):
        assert isinstance(r, neura.Tensor) and r.dtype is neura.float64
    assert (a == x).tolist() == (x == a).tolist() == [True, False]
    x += a
    assert x.tolist() == [2, 3]
    assert isinstance(np.sin(x), neura.Tensor)
    assert (x + np.float32(1)).dtype is (x * np.int64(2)).dtype is neura.float32
    assert (neura.ones(2, dtype=neura.int64) + np.bool_(True)).dtype is neura.int64
    assert (x + np.complex64(1j)).tolist() == [2 + 1j, 3 + 1j]


def test_numbers_of_numpy():
    assert neura.tensor(np.float32(1.5)).dtype is neura.float32
    assert neura.tensor(np.True_).dtype is neura.bool
    assert neura.tensor([np.int32(1), 2]).tolist() == [1, 2]
    assert neura.tensor([np.ones(2), np.zeros(2)]).tolist() == [[1, 1], [0, 0]]
    assert neura.zeros(2)[np.int64(1)].item() == 0
    assert neura.full((2,), np.float64(3)).tolist() == [3, 3]


def test_numpy_refuses_with_a_sentence():
    x = neura.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="detach"):
        x.numpy()
    assert x.numpy(force=True).tolist() == [1, 1]
    with pytest.raises(TypeError, match="bfloat16"):
        neura.ones(2).to(neura.bfloat16).numpy()
    assert np.asarray(neura.ones(2), dtype="i4").dtype == np.int32
    assert np.array(neura.ones(2), copy=True).ctypes.data


def test_asarray_and_as_tensor():
    a, x = np.ones(2), neura.ones(2)
    assert neura.asarray(a).data_ptr() == neura.as_tensor(a).data_ptr() == a.ctypes.data
    assert neura.as_tensor(x) is x and neura.asarray(x) is x and neura.asarray(x, copy=True) is not x
    assert neura.as_tensor(a, dtype=neura.float32).dtype is neura.float32
    assert neura.asarray([1, 2]).tolist() == [1, 2] and neura.asarray(3).dim() == 0
    assert neura.asarray(x, requires_grad=True).requires_grad
    for call in (lambda: neura.asarray([1], copy=False), lambda: neura.asarray(a, dtype=neura.float32, copy=False)):
        with pytest.raises(ValueError):
            call()


def test_frombuffer():
    b = bytearray(b"abcdefgh")
    x = neura.frombuffer(b, dtype=neura.int16, count=2, offset=2)
    assert x.tolist() == [25699, 26213]
    x.fill_(0)
    assert b == b"ab\0\0\0\0gh"
    assert neura.frombuffer(b, dtype=neura.int16, offset=1, count=2).tolist() == [98, 0]
    for wrong in ({"count": 9}, {"offset": 8}, {"offset": -1}, {"count": 0}, {"offset": 1}):
        with pytest.raises(ValueError):
            neura.frombuffer(b, dtype=neura.int16, **wrong)
    with pytest.raises(ValueError):
        neura.frombuffer(b"", dtype=neura.int16)


def test_buffer_protocol():
    x = neura.arange(6).view(2, 3)
    m = memoryview(x)
    assert m.shape == (2, 3) and m.format in ("l", "q") and m.tolist() == [[0, 1, 2], [3, 4, 5]] and not m.readonly
    with pytest.raises(BufferError, match="contiguous"):
        hash_of(x.T)
    with pytest.raises(BufferError, match="detach"):
        memoryview(neura.ones(2, requires_grad=True))


def hash_of(buffer):
    """Needs row-major bytes."""
    return hashlib.sha256(buffer).digest()
