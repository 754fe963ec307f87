"""The C interface from a language that knows nothing of it: by ctypes, with arrays of NumPy."""

import ctypes
import pathlib
import threading

import neura
import numpy as np
import pytest
from neura import nn

LIBRARY = pathlib.Path(neura.__file__).parents[2] / "lib/libneura_c.so"
ABI = 1
CODES = {np.dtype("float32"): (2, 32), np.dtype("int64"): (0, 64), np.dtype("bool"): (6, 8)}


class Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


class Port(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dtype", Type),
        ("ndim", ctypes.c_int32),
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
    ]


@pytest.fixture(scope="module")
def library():
    if not LIBRARY.exists():
        pytest.skip("libneura_c.so is not built")
    c = ctypes.CDLL(str(LIBRARY))
    c.neura_message.restype = ctypes.c_char_p
    c.neura_live.restype = ctypes.c_int64
    for name in ("neura_close", "neura_session_close", "neura_release"):
        getattr(c, name).argtypes, getattr(c, name).restype = [ctypes.c_void_p], None
    for name in ("neura_input_count", "neura_output_count"):
        getattr(c, name).argtypes, getattr(c, name).restype = [ctypes.c_void_p], ctypes.c_size_t
    for name in ("neura_input", "neura_output"):
        getattr(c, name).argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    c.neura_open.argtypes = [ctypes.c_uint32, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
    c.neura_session_open.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    c.neura_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t]
    assert c.neura_abi() == ABI
    return c


def tensor(array):
    code, bits = CODES[array.dtype]
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    strides = (ctypes.c_int64 * array.ndim)(*(s // array.itemsize for s in array.strides))
    return Tensor(array.ctypes.data, 1, 0, array.ndim, Type(code, bits, 1), shape, strides, 0)


class Model:
    def __init__(self, library, path):
        self.c, model, self.session = library, ctypes.c_void_p(), ctypes.c_void_p()
        if library.neura_open(ABI, str(path).encode(), None, ctypes.byref(model)):
            raise RuntimeError(library.neura_message().decode())
        self.ports = [self.read(library.neura_input, model, i) for i in range(library.neura_input_count(model))]
        self.outputs = library.neura_output_count(model)
        assert library.neura_session_open(model, ctypes.byref(self.session)) == 0
        library.neura_close(model)

    @staticmethod
    def read(ask, model, i):
        port = Port()
        assert ask(model, i, ctypes.byref(port)) == 0
        return port.name.decode(), port.sizes[: port.ndim]

    def close(self):
        self.c.neura_session_close(self.session)

    def __call__(self, *arrays):
        inputs = [tensor(a) for a in arrays]
        pointers = (ctypes.POINTER(Tensor) * len(inputs))(*map(ctypes.pointer, inputs))
        out = (ctypes.POINTER(Managed) * self.outputs)()
        if self.c.neura_run(self.session, pointers, len(inputs), out, self.outputs):
            raise RuntimeError(self.c.neura_message().decode())
        results = []
        for managed in out:
            t = managed.contents.tensor
            kind = next(d for d, code in CODES.items() if code == (t.dtype.code, t.dtype.bits))
            shape = t.shape[: t.ndim]
            size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
            results.append(np.frombuffer(ctypes.string_at(t.data, size), kind).reshape(shape))
            self.c.neura_release(managed)
        return results


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x, index):
        y = self.linear(x)
        return y, index + 1, y > 0


@pytest.fixture
def net(tmp_path):
    model = Two().eval()
    example = (neura.zeros(2, 4), neura.zeros(3, dtype=neura.int64))
    program = neura.graph.export(model, example, input_names=["x", "index"], output_names=["y", "next", "positive"])
    program.save(str(tmp_path / "net.neura"))
    return model, tmp_path / "net.neura"


def test_arrays_go_in_and_come_out(library, net):
    model, path = net
    c_model = Model(library, path)
    assert c_model.ports == [("x", [2, 4]), ("index", [3])]
    x, index = np.random.rand(2, 4).astype(np.float32), np.array([5, -7, 1 << 40])
    y, after, positive = c_model(x, index)
    want = model(neura.tensor(x), neura.tensor(index))[0].detach().numpy()
    np.testing.assert_array_equal(y, want)
    np.testing.assert_array_equal(after, index + 1)
    np.testing.assert_array_equal(positive, want > 0)
    columns = np.asfortranarray(x)  # other strides, the same numbers
    np.testing.assert_array_equal(c_model(columns, index)[0], want)
    np.testing.assert_array_equal(c_model(np.repeat(x, 2, axis=1)[:, ::2], index)[0], want)
    c_model.close()
    assert [library.neura_live(kind) for kind in range(3)] == [0, 0, 0]


def test_mistakes_are_sentences(library, net, tmp_path):
    c_model = Model(library, net[1])
    x, index = np.zeros((2, 4), np.float32), np.zeros(3, np.int64)
    with pytest.raises(RuntimeError, match=r'^neura_run: expected float32 \[2, 4\] as "x", got int64$'):
        c_model(index, index)
    with pytest.raises(RuntimeError, match=r'expected int64 \[3\] as "index", got \[2\]$'):
        c_model(x, index[:2])
    with pytest.raises(RuntimeError, match="expected 2 inputs, got 1$"):
        c_model(x)
    with pytest.raises(RuntimeError, match="stride of -4; copy it first$"):
        c_model(x[::-1], index)
    c_model.close()
    with pytest.raises(RuntimeError, match="none.neura"):
        Model(library, tmp_path / "none.neura")


def test_threads_share_a_model(library, net):
    c_model = Model(library, net[1])
    x, index = np.random.rand(2, 4).astype(np.float32), np.zeros(3, np.int64)
    want, different = c_model(x, index)[0], []

    def work():
        for _ in range(200):
            if not np.array_equal(c_model(x, index)[0], want):
                different.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    c_model.close()
    assert not different
    assert library.neura_live(2) == 0


def test_what_the_library_reads_arrays_of_numpy_have(library):
    array = np.zeros((2, 3), np.float32)
    t = tensor(array)
    assert (t.ndim, t.shape[:2], t.strides[:2], array.__dlpack_device__()) == (2, [2, 3], [3, 1], (1, 0))
