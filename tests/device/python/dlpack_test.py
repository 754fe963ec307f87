"""Memory of a device handed to another library and taken from one, in the order of streams. On the device for tests,
and on CUDA; with PyTorch, where it has the device, too."""

import gc

import neura
import pytest

if not neura.cuda.is_available():
    pytest.skip("no device", allow_module_level=True)

CUDA = neura.device("cuda:0")


class Producer:
    """Another library's array: it notes which stream it was told."""

    def __init__(self, tensor, version=True):
        self.tensor, self.version, self.streams = tensor, version, []

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, stream=None, **more):
        if more and not self.version:
            raise TypeError("max_version")
        self.streams.append(stream)
        return self.tensor.__dlpack__(stream=stream, **more)


@pytest.mark.parametrize("dtype", [neura.float32, neura.bfloat16, neura.int64, neura.bool, neura.complex64])
def test_a_tensor_of_a_device_is_taken_without_a_copy(dtype):
    x = neura.arange(24, device=CUDA).reshape(2, 3, 4).to(dtype)
    for given in (x, x.transpose(0, 2), x[:, 1:, ::2], x[:0]):
        y = neura.from_dlpack(given)
        assert y.device == CUDA and y.dtype is dtype and y.shape == given.shape
        assert y.data_ptr() == given.data_ptr() or not given.numel()
        assert neura.equal(y.cpu(), given.cpu())
    y = neura.from_dlpack(x)
    y.zero_()
    assert not x.cpu().any()
    copy = neura.from_dlpack(x, copy=True)
    assert copy.device == CUDA and copy.data_ptr() != x.data_ptr()
    assert neura.from_dlpack(x, device="cpu").device.type == "cpu"


@pytest.mark.parametrize("version", [True, False])
def test_the_producer_is_told_the_current_stream(version):
    there = Producer(neura.ones(4, device=CUDA), version)
    assert neura.from_dlpack(there).sum().item() == 4
    side = neura.cuda.Stream(CUDA)
    with neura.cuda.stream(side):
        assert neura.from_dlpack(there).sum().item() == 4
    main, other = there.streams
    assert main != other and main > 0 and other > 0
    here = Producer(neura.ones(4), version)
    assert neura.from_dlpack(here).sum().item() == 4 and here.streams == [None]


def test_streams_of_the_consumer_are_checked():
    x = neura.ones(4, device=CUDA)
    for stream in (None, -1, 1, 2):
        assert neura.from_dlpack(x.__dlpack__(stream=stream)).sum().item() == 4
    for stream in (0, -2):
        with pytest.raises(neura.errors.ValueError, match="expected stream to be -1, 1, 2 or the address"):
            x.__dlpack__(stream=stream)
    assert x.__dlpack_device__() == (2, 0)


def test_the_memory_lives_as_long_as_either_end_uses_it():
    x = neura.full([1000], 3.0, device=CUDA)
    y = neura.from_dlpack(x)
    del x
    gc.collect()
    neura.zeros(1000, device=CUDA)
    assert y.sum().item() == 3000
    capsule = y.__dlpack__()
    del y
    gc.collect()
    assert neura.from_dlpack(capsule).sum().item() == 3000


def test_results_and_gradients_are_there():
    y = neura.from_dlpack(neura.ones(5, device=CUDA)).requires_grad_()
    (y * 3).sum().backward()
    assert y.grad.device == CUDA and y.grad.cpu().tolist() == [3] * 5


@pytest.mark.parametrize("other_stream", [False, True])
def test_with_pytorch_both_ways(other_stream):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no device")
    stream = neura.cuda.Stream(CUDA) if other_stream else neura.cuda.current_stream()
    a = neura.rand(1500, 1500, device=CUDA)
    b = torch.from_dlpack(a)
    assert b.data_ptr() == a.data_ptr()
    with neura.cuda.stream(stream):
        for _ in range(50):  # each side reads what the other one has only just been asked for
            x = (a @ a) / 1500
            y = torch.from_dlpack(x)
            z = neura.from_dlpack(y @ b)
            assert z.device == CUDA and z.dtype is neura.float32
            got = (z + 1).sum()
            want = (torch.matmul(y, b) + 1).sum()
            assert abs(got.item() / want.item() - 1) < 1e-4
            del x, y, z
