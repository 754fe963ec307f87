"""Names that programs for PyTorch call: storages, processes, _foreach, devices that are not there, files from URLs."""

import neura
import neura.multiprocessing as mp
import pytest
from neura import errors, hub
from neura.testing import assert_allclose, make_tensor
from neura.utils import checkpoint as checkpoints


class TestStorages:
    def test_a_tensors_storage_is_its_memory(self):
        x = neura.arange(6.0).reshape(2, 3)
        s = x[1:].storage()
        assert len(s) == s.size() == 6 and s.tolist() == [0, 1, 2, 3, 4, 5] and s.dtype is neura.float32
        assert s.data_ptr() == x.data_ptr() and s.nbytes() == 24 and s.element_size() == 4
        s[0], s[-1] = 9, 8
        assert x.flatten().tolist() == [9, 1, 2, 3, 4, 8] and list(s)[0] == s[0] == 9 and s[1:3].tolist() == [1, 2]
        assert isinstance(s, neura.FloatStorage) and not isinstance(s, neura.LongStorage)
        assert s.type() == "neura.FloatStorage" and s.double().dtype is neura.float64
        assert "FloatStorage" not in repr(s) and repr(s).endswith("(dtype=neura.float32, device=cpu) of size 6]")
        clone = s.clone()
        assert clone == s and clone.fill_(0) != s and s.copy_(clone) is s and not x.any()
        with pytest.raises(errors.ShapeError, match="copy_: expected a storage of 6 elements, got 2"):
            s.copy_(neura.FloatStorage(2))

    def test_of_its_own(self):
        assert neura.FloatStorage([1, 2]).tolist() == [1.0, 2.0] and len(neura.LongStorage(4)) == 4
        assert neura.TypedStorage([1], dtype=neura.int8).dtype is neura.int8 and len(neura.BoolStorage()) == 0
        s = neura.TypedStorage(wrap_storage=neura.ones(2).untyped_storage(), dtype=neura.int32)
        assert s.tolist() == [0x3F800000] * 2 and s.untyped().nbytes() == 8

    def test_bytes(self):
        x = neura.tensor([1, 256], dtype=neura.int16)
        u = x.untyped_storage()
        assert u.tolist() == [1, 0, 0, 1] and u[0] == 1 and u[2:].tolist() == [0, 1] and u.element_size() == 1
        assert u.device == neura.device("cpu") and not u.is_cuda and u.cpu().nbytes() == 4
        u[1] = 1
        assert x.tolist() == [257, 256] and u.clone().fill_(0).tolist() == [0] * 4 and x.tolist() == [257, 256]
        assert u.copy_(neura.zeros(2, dtype=neura.int16).untyped_storage()) is u and x.tolist() == [0, 0]


class TestForeach:
    def test_lists(self):
        a, b = [neura.ones(2), neura.full((3,), 2.0)], [neura.full((2,), 3.0), neura.ones(3)]
        values = [t.tolist() for t in neura._foreach_add(a, b, alpha=2)]
        assert values == [[7, 7], [4, 4, 4]] and [t[0].item() for t in neura._foreach_mul(a, [2.0, 3.0])] == [2, 6]
        assert neura._foreach_mul_(a, 0.5) is None and a[1].tolist() == [1, 1, 1]
        neura._foreach_addcmul_(a, b, b, value=0.5)
        assert [t[0].item() for t in a] == [5, 1.5]
        neura._foreach_addcdiv_(a, b, b, [1.0, 2.0])
        neura._foreach_lerp_(a, b, 0.5)
        assert [t[0].item() for t in a] == [4.5, 2.25]
        assert [round(n.item(), 4) for n in neura._foreach_norm(b)] == [4.2426, 1.7321]
        neura._foreach_copy_(a, b), neura._foreach_neg_(a)
        assert [t[0].item() for t in neura._foreach_maximum(a, b)] == [3, 1] and a[0].tolist() == [-3, -3]
        assert [t[0].item() for t in neura._foreach_maximum(a, -2.0)] == [-2, -1]
        assert [t[0].item() for t in neura._foreach_minimum(a, [-4, -2])] == [-4, -2]
        neura._foreach_clamp_max_(a, 1.0), neura._foreach_maximum_(a, -2)
        assert [t[0].item() for t in a] == [-2, -1]
        neura._foreach_zero_(a)
        assert not a[0].any() and [t.item() for t in neura._foreach_max(b)] == [3, 1]

    def test_mistakes(self):
        with pytest.raises(errors.ValueError, match="_foreach_add: expected 1 values"):
            neura._foreach_add([neura.ones(1)], [1.0, 2.0])
        with pytest.raises(TypeError, match="_foreach_exp: expected a list of tensors, got int"):
            neura._foreach_exp([3])
        with pytest.raises(AttributeError):
            neura._foreach_nothing


def test_default_tensor_type():
    neura.set_default_tensor_type("torch.DoubleTensor")
    assert neura.ones(1).dtype is neura.float64
    neura.set_default_tensor_type(neura.FloatTensor)
    assert neura.ones(1).dtype is neura.float32
    with pytest.raises(ValueError, match="expected a type of the CPU"):
        neura.set_default_tensor_type("torch.cuda.FloatTensor")


def test_control_flow():
    x = neura.ones(2)
    assert neura.cond(x.sum() > 1, lambda v: v + 1, lambda v: v - 1, (x,)).tolist() == [2, 2]
    assert neura.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2), (0, x))[1].tolist() == [8, 8]
    with pytest.raises(ValueError, match="body_fn to return 2 values, got 1"):
        neura.while_loop(lambda i, v: True, lambda i, v: i, (0, x))
    assert (neura.sym_max(2, 3), neura.sym_not(1), neura.sym_ite(True, 1, 2)) == (3, False, 1)


def test_memory_of_the_cpu():
    before = neura.cpu.memory_allocated()
    neura.cpu.reset_peak_memory_stats()
    peak = neura.cpu.max_memory_allocated()
    large = neura.zeros(4 << 20, dtype=neura.uint8)
    assert neura.cpu.memory_allocated() >= before + large.nbytes
    del large
    assert neura.cpu.memory_allocated() == before
    assert neura.cpu.max_memory_allocated() >= peak + (4 << 20)
    neura.cpu.reset_peak_memory_stats()
    assert neura.cpu.max_memory_allocated() <= peak


def test_devices():
    assert neura.get_device_module("cpu") is neura.cpu and neura.cpu.device_count() == 1
    assert not neura.xpu.is_available() and not neura.mps.is_available() and neura.get_device_module() is not None
    with neura.cpu.stream(neura.cpu.Stream()):
        neura.cpu.synchronize()
    with pytest.raises(errors.DeviceError):
        neura.mps.synchronize()
    with pytest.raises(RuntimeError, match="expected a kind of device"):
        neura.get_device_module("tpu")
    assert issubclass(neura.cuda.OutOfMemoryError, RuntimeError) and neura.get_num_interop_threads() == 1
    state = neura.get_rng_state()
    first = neura.rand(1)
    neura.cuda.set_rng_state_all([state])
    assert neura.equal(neura.rand(1), first) and len(neura.cuda.get_rng_state_all()) == neura.cuda.device_count()
    with neura.cuda.device_of(neura.ones(1)), neura.cuda.nvtx.range("step {}", 1):
        neura.cuda.nvtx.mark("here")
    assert neura.cuda.LongTensor.__module__ == "neura.cuda"
    with pytest.raises(AttributeError):
        neura.cuda.nothing


def test_switches_of_attention():
    b = neura.backends.cuda
    with b.sdp_kernel(enable_math=False):
        assert not b.math_sdp_enabled() and b.flash_sdp_enabled()
    b.enable_flash_sdp(False)
    assert b.math_sdp_enabled() and not b.flash_sdp_enabled()
    b.enable_flash_sdp(True)


class TestTesting:
    @pytest.mark.parametrize("dtype", [neura.float32, neura.int64, neura.uint8, neura.bool, neura.complex64])
    def test_tensors_to_test_with(self, dtype):
        x = make_tensor(40, 5, dtype=dtype, low=1, high=2, noncontiguous=True)
        assert x.shape == (40, 5) and x.dtype is dtype and not x.is_contiguous()
        if dtype not in (neura.complex64, neura.bool):
            assert (x >= 1).all() and (x <= 2).all()
        assert make_tensor((200,), dtype=dtype, exclude_zero=True).all()
        assert make_tensor(2, dtype=neura.float64, requires_grad=True).requires_grad
        with pytest.raises(ValueError, match="make_tensor: expected low"):
            make_tensor(2, dtype=neura.float32, low=3, high=1)

    def test_values_alone(self):
        assert_allclose(neura.ones(2), [1.0, 1.0])
        assert_allclose(neura.tensor([1, float("nan")]), neura.tensor([1, float("nan")]).double())
        with pytest.raises(AssertionError):
            assert_allclose(neura.ones(2), [1.0, 2.0])


def test_checkpoints_may_run_to_the_end():
    ends = []

    def function(x):
        y = x.exp().sin()
        ends.append(1)
        return y

    for early, count in ((True, 1), (False, 2)):
        ends.clear()
        x = neura.ones(2, requires_grad=True)
        with checkpoints.set_checkpoint_early_stop(early):
            y = checkpoints.checkpoint(function, x, use_reentrant=False)
        y.sum().backward()
        assert len(ends) == count and neura.allclose(x.grad, x.exp().cos() * x.exp())
    times = [2, 3]
    x = neura.ones(2, requires_grad=True)

    def changes(x):
        for _ in range(times.pop()):
            x = x.exp()
        return x

    y = checkpoints.checkpoint(changes, x, use_reentrant=False)
    with pytest.raises(checkpoints.CheckpointError):
        times.append(1)
        y.sum().backward()


def send(index, tensor, queue):
    queue.put((index, (tensor * index).sum().item()))


def fail(index):
    if index == 1:
        raise ValueError("this one")


def leave(index):
    import os

    os._exit(3)


class TestProcesses:
    def test_spawn(self):
        queue = mp.get_context("spawn").SimpleQueue()
        mp.spawn(send, (neura.ones(3), queue), nprocs=2)
        assert sorted(queue.get() for _ in range(2)) == [(0, 0.0), (1, 3.0)]

    def test_failures(self):
        with pytest.raises(mp.ProcessRaisedException, match="process 1 raised:(.|\n)*ValueError: this one") as error:
            mp.start_processes(fail, nprocs=2, start_method="fork")
        assert error.value.error_index == 1
        context = mp.start_processes(leave, nprocs=1, join=False, start_method="fork")
        assert len(context.pids()) == 1
        with pytest.raises(mp.ProcessExitedException, match="process 0 ended with code 3") as error:
            while not context.join():
                pass
        assert error.value.exit_code == 3

    def test_strategies(self):
        assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
        mp.set_sharing_strategy("file_system")
        with pytest.raises(ValueError):
            mp.set_sharing_strategy("pigeon")


class TestHub:
    @pytest.fixture
    def folder(self, tmp_path, monkeypatch):
        monkeypatch.setattr(hub, "_dir", None)
        monkeypatch.setenv("NEURA_HOME", str(tmp_path / "home"))
        code = 'dependencies = ["json"]\n\ndef double(n=2):\n    "Doubles n."\n    return n * 2\n'
        (tmp_path / "hubconf.py").write_text(code)
        neura.save({"a": neura.ones(2)}, tmp_path / "weights-00ff.st")
        return tmp_path

    def test_folders(self, folder):
        assert hub.load(folder, "double", 3, source="local") == 6 and hub.list(folder, source="local") == ["double"]
        assert hub.help(folder, "double", source="local") == "Doubles n."
        with pytest.raises(RuntimeError, match="expected a function of hubconf.py, got 'triple'"):
            hub.load(folder, "triple", source="local")
        with pytest.raises(ValueError, match="expected a folder with a hubconf.py"):
            hub.load(folder / "nowhere", "double", source="local")
        with pytest.raises(errors.NotImplementedError, match="expected source='local', got 'github'"):
            hub.load("someone/models", "resnet")
        (folder / "hubconf.py").write_text('dependencies = ["no_such_package"]\n')
        with pytest.raises(RuntimeError, match="expected the packages no_such_package"):
            hub.list(folder, source="local")

    def test_weights(self, folder):
        url = (folder / "weights-00ff.st").as_uri()
        assert hub.get_dir() == str(folder / "home" / "hub")
        for _ in range(2):
            assert hub.load_state_dict_from_url(url, progress=False)["a"].tolist() == [1, 1]
        (folder / "weights-00ff.st").unlink()
        assert hub.load_state_dict_from_url(url, progress=False)["a"].tolist() == [1, 1]  # kept
        with pytest.raises(OSError):
            hub.load_state_dict_from_url(url, file_name="other", progress=False)

    def test_a_wrong_hash_leaves_nothing(self, folder):
        url = (folder / "weights-00ff.st").as_uri()
        with pytest.raises(RuntimeError, match="expected a SHA-256 that begins with 00ff"):
            hub.load_state_dict_from_url(url, model_dir=folder / "m", check_hash=True, progress=False)
        assert list((folder / "m").iterdir()) == []
