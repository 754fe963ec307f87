"""functional_call, parametrizations, lazy modules."""

import copy
import gc
import pickle
import weakref

import pytest

import neura
from neura import nn
from neura.func import functional_call
from neura.nn.utils import parametrize
from neura.nn.utils.parametrizations import spectral_norm, weight_norm

X = neura.ones(1, 2)


class Double(nn.Module):
    def forward(self, w):
        return w * 2

    def right_inverse(self, w):
        return w / 2


class Symmetric(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).t()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.tied = self.fc
        self.register_buffer("b", neura.ones(2))

    def forward(self, x, factor=1):
        return self.tied(x) * self.b * factor


def test_functional_call():
    net = Net()
    given = {name: neura.zeros_like(t) for name, t in net.named_parameters()}
    given["fc.bias"] = neura.tensor([3.0, 4.0], requires_grad=True)
    w = net.fc.weight
    assert functional_call(net, given, X).tolist() == [[3.0, 4.0]] and net.fc.weight is w
    assert functional_call(net, given, (X,), {"factor": 2}).tolist() == [[6.0, 8.0]]
    functional_call(net, given, X).sum().backward()
    assert given["fc.bias"].grad.tolist() == [1.0, 1.0] and net.fc.bias.grad is None
    assert functional_call(net, ({"b": neura.zeros(2)}, given), X).tolist() == [[0.0, 0.0]]
    layer = nn.Linear(2, 2)
    assert functional_call(layer, {"weight": neura.zeros(2, 2), "bias": neura.ones(2)}, X).tolist() == [[1.0, 1.0]]
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.requires_grad


def test_functional_call_restores_after_an_error_and_checks_names():
    net = Net()
    before = net.fc.weight
    with pytest.raises(RuntimeError):
        functional_call(net, {"fc.weight": neura.zeros(5, 5)}, X)
    assert net.fc.weight is before
    with pytest.raises(KeyError):
        functional_call(net, {"nothing": neura.zeros(1)}, X)
    with pytest.raises(ValueError):
        functional_call(net, ({"b": neura.zeros(2)}, {"b": neura.zeros(2)}), X)
    with pytest.raises(ValueError):
        functional_call(net, 3, X)
    with pytest.raises(RuntimeError, match="missing keys"):
        functional_call(net, {"b": neura.zeros(2)}, X, strict=True)
    state = dict(net.named_parameters()) | dict(net.named_buffers())
    assert functional_call(net, state, X, strict=True).tolist() == net(X).tolist()


def test_a_parametrization_of_a_cpp_layer():
    layer = nn.Linear(2, 2)
    w, s = layer.weight.tolist(), nn.Sequential(layer)
    before = layer(X)
    assert parametrize.register_parametrization(layer, "weight", Double()) is layer
    assert layer.weight.tolist() == w and neura.allclose(layer(X), before) and neura.allclose(s(X), before)
    assert [n for n, _ in layer.named_parameters()] == ["bias", "parametrizations.weight.original"]
    assert isinstance(layer, nn.Linear) and type(layer).__name__ == "ParametrizedLinear"
    assert repr(layer).startswith(
        "ParametrizedLinear(\n  in_features=2, out_features=2, bias=True\n  (parametrizations)"
    )
    s(X).sum().backward()
    assert layer.parametrizations.weight.original.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    layer.weight = neura.ones(2, 2)
    assert layer.parametrizations.weight.original.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert parametrize.is_parametrized(layer) and parametrize.is_parametrized(layer, "weight")
    assert not parametrize.is_parametrized(layer, "bias")
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert len(layer.parametrizations.weight) == 2
    original = layer.parametrizations.weight.original
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and layer.weight is original and layer.weight.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert sorted(n for n, _ in layer.named_parameters()) == ["bias", "weight"] and s(X).shape == (1, 2)


def test_a_parametrization_of_a_python_module():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(neura.ones(2, 2))

        def forward(self, x):
            return x @ self.w

    m = Own()
    parametrize.register_parametrization(m, "w", Symmetric())
    assert m(X).tolist() == [[2.0, 2.0]]
    with pytest.raises(RuntimeError, match="right_inverse"):
        m.w = neura.ones(2, 2)
    parametrize.remove_parametrizations(m, "w", leave_parametrized=False)
    assert isinstance(m.w, nn.Parameter) and type(m) is Own
    with pytest.raises(ValueError):
        parametrize.register_parametrization(m, "nothing", Symmetric())
    with pytest.raises(ValueError):
        parametrize.remove_parametrizations(m, "w")


def test_a_parametrization_must_keep_the_shape():
    class Cut(nn.Module):
        def forward(self, w):
            return w[:1]

    with pytest.raises(ValueError, match="shape"):
        parametrize.register_parametrization(nn.Linear(2, 2), "weight", Cut())


def test_cached():
    calls = []

    class Count(nn.Module):
        def forward(self, w):
            calls.append(1)
            return w

    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Count())
    calls.clear()
    with parametrize.cached():
        layer(X), layer(X)
        assert layer.weight is layer.weight and len(calls) == 1
    layer(X)
    assert len(calls) == 2


def test_copies_of_parametrized_modules():
    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Double())
    c = copy.deepcopy(layer)
    assert c.weight.tolist() == layer.weight.tolist() and c(X).tolist() == layer(X).tolist()
    assert c.parametrizations.weight.original is not layer.parametrizations.weight.original
    with pytest.raises(RuntimeError, match="state_dict"):
        pickle.dumps(layer)
    other = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Double())
    other.load_state_dict(layer.state_dict())
    assert other(X).tolist() == layer(X).tolist()
    watch = weakref.ref(layer)
    del layer
    gc.collect()
    assert watch() is None


def test_weight_norm():
    layer = nn.Linear(3, 2)
    w, x = layer.weight.detach().clone(), neura.ones(1, 3)
    before = layer(x)
    weight_norm(layer)
    assert neura.allclose(layer.weight, w) and neura.allclose(layer(x), before)
    assert [n for n, _ in layer.named_parameters()] == [
        "bias",
        "parametrizations.weight.original0",
        "parametrizations.weight.original1",
    ]
    assert layer.parametrizations.weight.original0.shape == (2, 1)
    layer(x).sum().backward()
    assert all(p.grad is not None for p in layer.parameters())
    old = {"bias": neura.zeros(2), "weight_g": neura.ones(2, 1), "weight_v": neura.ones(2, 3)}
    layer.load_state_dict(old)
    assert neura.allclose(layer.weight, neura.full((2, 3), 3**-0.5))
    parametrize.remove_parametrizations(layer, "weight")
    assert neura.allclose(layer.weight, neura.full((2, 3), 3**-0.5)) and type(layer) is nn.Linear


def test_spectral_norm():
    layer = nn.Linear(2, 2)
    with neura.no_grad():
        layer.weight.copy_(neura.tensor([[3.0, 0.0], [0.0, 1.0]]))
    spectral_norm(layer)
    assert neura.allclose(layer.weight, neura.tensor([[1.0, 0.0], [0.0, 1 / 3]]), atol=1e-4)
    assert [n for n, _ in layer.named_buffers()] == ["parametrizations.weight.0._u", "parametrizations.weight.0._v"]


def test_lazy_linear():
    layer = nn.LazyLinear(3)
    assert isinstance(layer.weight, nn.UninitializedParameter) and layer.has_uninitialized_params()
    with pytest.raises(RuntimeError, match="without a shape"):
        layer.weight.shape
    copy.deepcopy(layer)
    net = nn.Sequential(layer, nn.LazyLinear(1, bias=False))
    assert net(neura.ones(4, 2)).shape == (4, 1)
    assert type(layer) is nn.Linear and layer.in_features == 2 and layer.weight.shape == (3, 2)
    assert type(layer.weight) is nn.Parameter and net[1].bias is None and repr(layer) == repr(nn.Linear(2, 3))
    assert not layer._forward_pre_hooks and float(layer.weight.abs().max()) > 0


def test_lazy_state():
    lazy, known = nn.LazyLinear(3), nn.Linear(2, 3)
    lazy.load_state_dict(known.state_dict())
    assert lazy.weight.tolist() == known.weight.tolist() and lazy(X).tolist() == known(X).tolist()
    assert type(lazy) is nn.Linear
    other = nn.LazyLinear(3)
    other.load_state_dict(nn.LazyLinear(3).state_dict())
    assert other.has_uninitialized_params()
