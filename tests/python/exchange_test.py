"""States and files to PyTorch and back. Where PyTorch is not installed, tests/python/data has what it wrote."""

import neura
import pytest
from optim_test import NAMES, TORCH, begin, take_steps

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def to_torch(value):
    if isinstance(value, neura.Tensor):
        return torch.from_numpy(value.detach().numpy().copy())
    if isinstance(value, dict):
        return {k: to_torch(v) for k, v in value.items()}
    return [to_torch(v) for v in value] if isinstance(value, list) else value


def close(ours, theirs):
    return neura.allclose(ours.detach(), neura.from_numpy(theirs.detach().numpy()), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_torch_goes_on_from_our_state(name):
    params, optimizer = begin(name)
    take_steps(optimizer, params, range(3))
    theirs = [to_torch(p).requires_grad_() for p in params]
    other = getattr(torch.optim, name)([{"params": [p]} for p in theirs], **TORCH[name]["kwargs"])
    other.load_state_dict(to_torch(optimizer.state_dict()))
    assert repr(optimizer) == repr(other)
    for n in range(3, 6):
        for p in theirs:
            p.grad = torch.sin(torch.arange(p.numel(), dtype=p.dtype) + 1.7 * n).reshape(p.shape)
        other.step()
    take_steps(optimizer, params, range(3, 6))
    assert all(map(close, params, theirs))


def network():
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    return net.eval()


def test_weights_cross_as_safetensors(tmp_path):
    theirs = pytest.importorskip("safetensors.torch", reason="the package safetensors is not installed")
    net, x = network(), torch.randn(5, 3)
    theirs.save_file(net.state_dict(), tmp_path / "a.safetensors", metadata={"format": "pt"})
    w = neura.load(tmp_path / "a.safetensors")
    F = neura.nn.functional
    y = F.linear(neura.from_numpy(x.numpy()), w["0.weight"], w["0.bias"])
    y = F.batch_norm(y, w["1.running_mean"], w["1.running_var"], w["1.weight"], w["1.bias"]).relu()
    assert close(F.linear(y, w["3.weight"], w["3.bias"]), net(x))

    neura.save(w, tmp_path / "b.safetensors")
    neura.save({"model": w, "epoch": 3}, tmp_path / "c.safetensors")
    fresh = network()
    fresh.load_state_dict(theirs.load_file(tmp_path / "b.safetensors"))
    assert torch.equal(fresh(x), net(x))
    assert set(theirs.load_file(tmp_path / "c.safetensors")) == {f"model.{name}" for name in w}


def test_every_dtype_crosses_as_safetensors(tmp_path):
    theirs = pytest.importorskip("safetensors.torch", reason="the package safetensors is not installed")
    for name in "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split():
        x = neura.tensor([0, 1, 1]).to(getattr(neura, name))
        neura.save({"x": x}, tmp_path / "x")
        y = theirs.load_file(tmp_path / "x")["x"]
        assert y.dtype is getattr(torch, name) and y.tolist() == [0, 1, 1]
        theirs.save_file({"y": y}, tmp_path / "y")
        assert neura.equal(neura.load(tmp_path / "y")["y"], x)


def test_torch_save_crosses_as_it_is(tmp_path):
    net, x = network(), torch.randn(5, 3)
    optimizer = torch.optim.Adam(net.parameters())
    net(x).sum().backward()
    optimizer.step()
    torch.save({"model": net.state_dict(), "optimizer": optimizer.state_dict(), "note": "x"}, tmp_path / "x.pt")
    saved = neura.load(tmp_path / "x.pt")
    for name, value in net.state_dict().items():
        assert saved["model"][name].tolist() == value.tolist()
    assert to_torch(saved["optimizer"]["param_groups"]) == optimizer.state_dict()["param_groups"]
    parameters = [neura.tensor(p.tolist(), requires_grad=True) for p in net.parameters()]
    ours = neura.optim.Adam(parameters)
    ours.load_state_dict(saved["optimizer"])
    for p, q in zip(parameters, net.parameters()):
        q.grad = torch.ones_like(q)
        p.grad = neura.ones_like(p).detach()
    ours.step(), optimizer.step()
    assert all(map(close, parameters, net.parameters()))
