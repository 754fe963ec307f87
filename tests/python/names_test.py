"""Names that programs written for PyTorch ask for."""

import pickle
import os

import neura
import pytest
from neura import errors, nn

x = neura.tensor([[1.0, 2.0], [3.0, 4.0]])


def test_devices_that_are_not_there_are_said_not_to_be():
    b = neura.backends
    assert b.mps.is_available() is False and b.mps.is_built() is False
    for name in ("mkl", "mkldnn", "openmp", "opt_einsum"):
        assert getattr(b, name).is_available() is False
    assert b.cudnn.is_available() == neura.cuda.is_available() and b.cudnn.enabled
    assert b.cpu.get_cpu_capability() in ("AVX512", "AVX2", "NEON", "DEFAULT")
    assert not x.is_mps and not x.is_xpu and x.get_device() == -1


def test_switches_of_cudnn_last_as_long_as_their_block():
    cudnn = neura.backends.cudnn
    with cudnn.flags(enabled=True, benchmark=True, allow_tf32=False):
        assert cudnn.benchmark and not cudnn.allow_tf32
    assert not cudnn.benchmark and cudnn.allow_tf32


def test_the_accelerator_is_cuda_or_nothing():
    a = neura.accelerator
    there = neura.cuda.is_available()
    assert a.is_available() == there and a.device_count() == neura.cuda.device_count()
    assert a.current_accelerator() == (neura.device("cuda") if there else None)
    with a.device_index(None):
        pass


class TestLegacyTensors:
    def test_sizes_and_data(self):
        assert neura.LongTensor(2, 3).shape == (2, 3) and neura.LongTensor(2, 3).dtype == neura.int64
        assert neura.FloatTensor([1, 2]).tolist() == [1.0, 2.0] and neura.FloatTensor([1, 2]).dtype == neura.float32
        assert neura.ByteTensor().shape == (0,)
        assert neura.IntTensor(x.shape).shape == (2, 2)
        assert neura.DoubleTensor(((1, 2), (3, 4))).tolist() == [[1.0, 2.0], [3.0, 4.0]]
        assert neura.BoolTensor([True, False]).dtype == neura.bool
        assert neura.HalfTensor(x).dtype == neura.float16

    def test_arrays(self):
        np = pytest.importorskip("numpy")
        assert neura.LongTensor(np.array([1, 2])).tolist() == [1, 2]
        assert neura.LongTensor(np.int64(3)).shape == (3,)

    def test_isinstance_asks_for_the_dtype(self):
        assert isinstance(x, neura.FloatTensor) and not isinstance(x, neura.LongTensor)
        assert isinstance(x.long(), neura.LongTensor) and not isinstance(3, neura.LongTensor)

    def test_type_names_and_converts(self):
        assert x.type() == "neura.FloatTensor" and x.long().type() == "neura.LongTensor"
        for wanted in (neura.int64, "neura.LongTensor", "torch.LongTensor", neura.LongTensor):
            assert x.type(wanted).dtype == neura.int64
        assert x.type(neura.float32) is x
        with pytest.raises(errors.ArgumentError, match="type: expected a dtype or a name"):
            x.type("Long")


def test_variables_are_tensors():
    Variable = neura.autograd.Variable
    v = Variable(x, requires_grad=True)
    assert isinstance(x, Variable) and v.requires_grad and v.data_ptr() == x.data_ptr()
    assert not Variable(v).requires_grad
    with pytest.raises(TypeError):
        Variable([1.0])


class TestModules:
    def test_files_of_pytorch_have_the_layers(self):
        import neura.nn.modules.conv
        from neura.nn.modules import Linear
        from neura.nn.modules.batchnorm import BatchNorm2d
        from neura.nn.modules.module import Module

        assert Linear is nn.Linear and BatchNorm2d is nn.BatchNorm2d and Module is nn.Module
        assert neura.nn.modules.conv.Conv2d is nn.Conv2d
        with pytest.raises(AttributeError):
            nn.modules.Convolution

    def test_hooks_of_every_module(self):
        from neura.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

        seen = []
        model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        with register_module_forward_hook(lambda m, args, out: seen.append(type(m).__name__)):
            with register_module_forward_pre_hook(lambda m, args: (args[0] * 0,)):
                assert neura.equal(model(x), neura.zeros(2, 2))
        assert seen == ["Linear", "ReLU", "Sequential"]
        model(x)
        assert len(seen) == 3
        with register_module_forward_hook(lambda m, args, out: out + 1 if isinstance(m, nn.ReLU) else None):
            assert model(x).min() >= 1

    def test_own_hooks_come_after_those_of_every_module(self):
        order = []
        layer = nn.ReLU()
        layer.register_forward_hook(lambda *_: order.append("own"))
        with nn.modules.module.register_module_forward_hook(lambda *_: order.append("every")):
            layer(x)
        assert order == ["every", "own"]


class TestSharedMemory:
    def test_a_forked_process_writes_where_its_parent_reads(self):
        model = nn.Linear(2, 2)
        before = model.weight.tolist()
        assert model.share_memory() is model and model.weight.is_shared() and not x.is_shared()
        assert model.weight.tolist() == before and isinstance(model.weight, nn.Parameter)
        child = os.fork()
        if child == 0:
            with neura.no_grad():
                model.weight.fill_(7)
            os._exit(0)
        os.waitpid(child, 0)
        assert model.weight.tolist() == [[7.0, 7.0]] * 2
        model(x).sum().backward()
        assert model.weight.grad is not None
        assert pickle.loads(pickle.dumps(model.weight)).tolist() == [[7.0, 7.0]] * 2

    def test_tensors(self):
        t = neura.arange(5)
        assert t.share_memory_() is t and t.is_shared() and t.tolist() == [0, 1, 2, 3, 4]
        assert t[1:].is_shared()
        with pytest.raises(errors.AutogradError, match="of its own"):
            neura.arange(5)[1:].share_memory_()


class TestOldNorms:
    def test_weight_norm_is_direction_times_length(self):
        layer = nn.Linear(3, 2)
        weight, data = layer.weight.detach().clone(), neura.randn(4, 3)
        expected = layer(data)
        assert nn.utils.weight_norm(layer) is layer
        assert set(dict(layer.named_parameters())) == {"bias", "weight_g", "weight_v"}
        assert layer.weight_g.shape == (2, 1) and neura.allclose(layer(data), expected)
        with neura.no_grad():
            layer.weight_g.mul_(2)
        assert neura.allclose(layer(data), 2 * (expected - layer.bias) + layer.bias, atol=1e-6)
        layer(data).sum().backward()
        assert layer.weight_g.grad is not None and layer.weight_v.grad is not None
        nn.utils.remove_weight_norm(layer)
        assert set(dict(layer.named_parameters())) == {"bias", "weight"}
        assert neura.allclose(layer.weight, 2 * weight, atol=1e-6)
        with pytest.raises(ValueError, match="remove_weight_norm"):
            nn.utils.remove_weight_norm(layer)

    def test_weight_norm_of_one_length(self):
        layer = nn.utils.weight_norm(nn.Linear(3, 2), dim=None)
        assert layer.weight_g.numel() == 1
        with pytest.raises(RuntimeError, match="once"):
            nn.utils.weight_norm(layer)

    def test_spectral_norm_has_a_greatest_singular_value_of_one(self):
        layer = nn.utils.spectral_norm(nn.Linear(5, 4), n_power_iterations=20)
        assert set(layer.state_dict()) == {"bias", "weight_orig", "weight_u", "weight_v"}
        layer(neura.randn(2, 5)).sum().backward()
        assert layer.weight_orig.grad is not None
        v = neura.randn(5)
        for _ in range(200):
            v = layer.weight.detach().t() @ (layer.weight.detach() @ v)
            v = v / v.norm()
        assert (layer.weight.detach() @ v).norm().item() == pytest.approx(1, abs=1e-3)
        layer.eval()
        u = layer.weight_u.clone()
        layer(neura.randn(2, 5))
        assert neura.equal(layer.weight_u, u)
        nn.utils.remove_spectral_norm(layer)
        assert set(dict(layer.named_parameters())) == {"bias", "weight"}

    def test_a_saved_spectral_norm_is_loaded(self):
        a = nn.utils.spectral_norm(nn.Linear(3, 3))
        b = nn.utils.spectral_norm(nn.Linear(3, 3))
        a(neura.randn(1, 3))
        b.load_state_dict(a.state_dict())
        a.eval(), b.eval()
        data = neura.randn(2, 3)
        assert neura.allclose(a(data), b(data))


class TestDataParallel:
    def test_one_device(self):
        layer = nn.Linear(2, 2)
        parallel = nn.DataParallel(layer)
        data = x.to(layer.weight.device)
        assert neura.equal(parallel(data), layer(data))
        assert set(parallel.state_dict()) == {"module.weight", "module.bias"} and parallel.module is layer
        assert neura.equal(nn.parallel.data_parallel(layer, data), layer(data))

    def test_several_devices_are_refused(self):
        with pytest.raises(NotImplementedError, match="expected one device, got 2"):
            nn.DataParallel(nn.Linear(2, 2), device_ids=[0, 1])
