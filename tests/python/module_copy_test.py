"""Copies and pickles of modules."""

import copy
import pickle

import pytest

import neura
from neura import nn


def hook(module, args, out):
    return out + out


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.scale = nn.Parameter(neura.tensor([2.0, 2.0]), requires_grad=False)
        self.register_buffer("buf", neura.tensor([1.0]))
        self.register_buffer("tmp", neura.tensor([0.0]), persistent=False)
        self.k = 3

    def forward(self, x):
        return self.fc(x) + self.scale


class Stateful(Net):
    def __getstate__(self):
        state = self.__dict__.copy()
        del state["k"]
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.restored = True


X = neura.ones(1, 2)
WAYS = [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m)), lambda m: pickle.loads(pickle.dumps(m, 2))]


@pytest.mark.parametrize("way", WAYS)
def test_everything_survives(way):
    net = Net()
    net.k = [1]
    net.tied, net.me = net.fc, [net]
    net.fc.weight.tag = "t"
    net.fc.note = "n"
    net.register_forward_hook(hook)
    net.eval()
    c = way(net)
    assert type(c) is Net and c.fc is c.tied and c.fc is not net.fc and c.me[0] is c and c.k == [1]
    assert isinstance(c.fc.weight, nn.Parameter) and c.fc.weight.tag == "t" and c.fc.note == "n"
    assert list(c.state_dict()) == list(net.state_dict()) and c._non_persistent_buffers_set == {"tmp"}
    assert not c.training and c.fc.in_features == 2 and c(X).tolist() == net(X).tolist()
    assert c.fc.weight.requires_grad and not c.scale.requires_grad
    c(X).sum().backward()
    assert c.fc.weight.grad is not None and net.fc.weight.grad is None
    with neura.no_grad():
        c.fc.weight.zero_()
    assert net.fc.weight.tolist() != [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("way", WAYS)
def test_containers_and_missing_members(way):
    s = nn.Sequential(Net(), nn.Linear(2, 2, bias=False), nn.ModuleList([nn.Identity()]))
    del s[1].weight
    c = way(s)
    assert type(c[0]) is Net and c[1].bias is None and not hasattr(c[1], "weight") and len(c[2]) == 1
    assert repr(c) == repr(s) and c[0](X).tolist() == s[0](X).tolist()
    d = way(nn.ModuleDict({"a": nn.Linear(1, 1)}))
    assert list(d) == ["a"] and d["a"].weight.shape == (1, 1)
    p = way(nn.ParameterDict({"w": neura.ones(2)}))
    assert p["w"].tolist() == [1.0, 1.0] and isinstance(p["w"], nn.Parameter)
    q = way(nn.ParameterList([neura.ones(2)]))
    assert len(q) == 1 and q[0].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("way", WAYS)
def test_a_getstate_of_the_class(way):
    c = way(Stateful())
    assert not hasattr(c, "k") and c.restored and c.fc.weight.shape == (2, 2) and "__setstate__" not in c.__dict__


@pytest.mark.parametrize("way", WAYS)
def test_parameters(way):
    p = nn.Parameter(neura.ones(2))
    p.tag = "x"
    q = way(p)
    assert type(q) is nn.Parameter and q.requires_grad and q.tag == "x" and q.tolist() == [1.0, 1.0]
    pair = way([p, p])
    assert pair[0] is pair[1]


def test_shallow_copies_share():
    s = nn.Sequential(Net())
    c = copy.copy(s)
    assert c is not s and c[0] is s[0] and copy.copy(s[0]).fc is s[0].fc


def test_a_module_of_python_in_a_clone_of_cpp():
    s = nn.Sequential(nn.Sequential(Net()))
    c = copy.deepcopy(s)
    c[0][0].k = 5
    assert s[0][0].k == 3 and c[0][0](X).tolist() == s[0][0](X).tolist()


def test_a_subclass_of_a_cpp_layer():
    assert copy.deepcopy(Lora(2, 2))(X).shape == (1, 2)


class Lora(nn.Linear):
    def __init__(self, *args):
        super().__init__(*args)
        self.r = nn.Parameter(neura.zeros(2))

    def forward(self, x):
        return super().forward(x) + self.r


def test_a_copy_of_a_parameter_has_no_gradient_and_one_of_a_tensor_has():
    net = nn.Linear(2, 2)
    net(neura.ones(1, 2)).sum().backward()
    assert copy.deepcopy(net).weight.grad is None and net.weight.grad is not None
    leaf = neura.ones(2, requires_grad=True)
    (leaf * 2).sum().backward()
    assert copy.deepcopy(leaf).grad.tolist() == [2, 2]


def test_a_frozen_parameter_keeps_its_gradient():
    p = nn.Parameter(neura.ones(2))
    optimizer = neura.optim.SGD([p], 0.5)
    (p * 2).sum().backward()
    p.requires_grad_(False)
    assert p.grad.tolist() == [2, 2] and p.is_leaf and not p.requires_grad
    optimizer.step()
    assert p.tolist() == [0, 0]
    p.requires_grad = True
    (p * 3).sum().backward()
    assert p.grad.tolist() == [5, 5]
    optimizer.zero_grad()
    assert p.grad is None
    constant = neura.ones(2)
    constant.grad = neura.ones(2)
    assert constant.grad.tolist() == [1, 1] and not constant.requires_grad
    del constant.grad
    assert constant.grad is None


def test_a_frozen_parameter_may_change_its_shape():
    p = nn.Parameter(neura.ones(2))
    p.requires_grad_(False).unsqueeze_(0)
    p.requires_grad_(True)
    (p * neura.tensor([[3.0, 4.0]])).sum().backward()
    assert p.grad.tolist() == [[3, 4]]
