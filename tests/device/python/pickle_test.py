"""Pickles and copies of what lies on a device: it comes back there. On the device for tests, and on CUDA."""

import copy
import pickle

import neura
import pytest
from neura import nn

if not neura.cuda.is_available():
    pytest.skip("no device", allow_module_level=True)

CUDA = neura.device("cuda:0")
TRIPS = [lambda x, p=p: pickle.loads(pickle.dumps(x, p)) for p in range(2, pickle.HIGHEST_PROTOCOL + 1)] + [
    copy.deepcopy
]


@pytest.mark.parametrize("trip", TRIPS)
def test_tensors_keep_values_dtype_device_and_flag(trip):
    for dtype in (neura.float32, neura.bfloat16, neura.int64, neura.bool, neura.complex64):
        x = (neura.arange(12).view(3, 4) % 2).to(dtype).to(CUDA).t()
        y = trip(x)
        assert y.device == CUDA and y.dtype is dtype and y.shape == x.shape and y.stride() == x.stride()
        assert neura.equal(x, y) and y.data_ptr() != x.data_ptr()
    leaf = trip(neura.ones(2, device=CUDA, requires_grad=True))
    assert leaf.requires_grad and leaf.is_leaf and leaf.device == CUDA


@pytest.mark.parametrize("trip", TRIPS)
def test_modules_and_their_states_keep_their_devices(trip):
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)).to(CUDA)
    net[2].to("cpu")
    net[0].bias.requires_grad_(False)
    other, state = trip(net), trip(net.state_dict())
    for got in (dict(other.named_parameters()), dict(other.named_buffers()), state):
        for name, tensor in got.items():
            want = net.state_dict()[name]
            assert tensor.device == want.device == (neura.device("cpu") if name.startswith("2.") else CUDA), name
            assert neura.equal(tensor.detach(), want)
    assert [p.requires_grad for p in other.parameters()] == [p.requires_grad for p in net.parameters()]
    x = neura.randn(5, 3, device=CUDA)
    assert neura.equal(other[:2](x), net[:2](x))


@pytest.mark.parametrize("trip", TRIPS)
def test_optimizers_keep_their_states_devices(trip):
    net = nn.Linear(2, 2).to(CUDA)
    adam = neura.optim.Adam(net.parameters())
    net(neura.ones(1, 2, device=CUDA)).sum().backward()
    adam.step()
    for got, want in zip(trip(adam.state_dict())["state"].values(), adam.state_dict()["state"].values()):
        assert got["exp_avg"].device == CUDA and neura.equal(got["exp_avg"], want["exp_avg"])
