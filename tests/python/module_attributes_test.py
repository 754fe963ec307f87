"""What assigning, reading and deleting attributes of a module means."""

import abc
import gc
import typing

import pytest

import neura
from neura import nn


class Net(nn.Module):
    def __init__(self, d=2):
        super().__init__()
        self.fc = nn.Linear(d, d)
        self.scale = nn.Parameter(neura.tensor([2.0, 2.0]))
        self.k = 3
        self.register_buffer("buf", neura.tensor([1.0, 1.0]))
        self.register_buffer("tmp", neura.tensor([0.0]), persistent=False)

    def forward(self, x):
        return self.fc(x) + self.scale


def names(pairs):
    return [name for name, _ in pairs]


def test_members_are_found_by_name_and_stay_the_same_object():
    net = Net()
    assert net.fc is net.fc and net.scale is net.scale and net.fc.weight is net.fc.weight and net.k == 3
    assert isinstance(net.fc.weight, nn.Parameter) and isinstance(net.scale, nn.Parameter)
    assert not isinstance(net.buf, nn.Parameter)
    assert names(net.named_parameters()) == ["scale", "fc.weight", "fc.bias"]
    assert names(net.named_buffers()) == ["buf", "tmp"]
    assert list(net.state_dict()) == ["scale", "buf", "fc.weight", "fc.bias"]
    assert net.__dict__ == {"k": 3}
    assert {"fc", "scale", "buf", "k", "forward", "training"} <= set(dir(net))


def test_replacing_and_deleting():
    net = Net()
    net.fc = nn.Linear(2, 2, bias=False)
    assert net.fc.bias is None and len(list(net.parameters())) == 2
    del net.fc
    assert not hasattr(net, "fc")
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'fc'"):
        net.fc
    with pytest.raises(AttributeError):
        del net.fc
    net.scale = None
    assert net.scale is None and list(net.parameters()) == [] and list(net._parameters) == ["scale"]
    with pytest.raises(TypeError, match="parameter 'scale'.*Parameter or None"):
        net.scale = 3
    with pytest.raises(TypeError, match="parameter 'scale'"):
        net.scale = neura.zeros(2)
    net.buf = neura.tensor([5.0])
    assert net.state_dict()["buf"].tolist() == [5.0]
    with pytest.raises(TypeError, match="buffer 'buf'"):
        net.buf = "text"


def test_a_module_in_the_place_of_a_parameter_and_back():
    net = Net()
    net.scale = nn.Identity()
    assert names(net.named_parameters()) == ["fc.weight", "fc.bias"] and names(net.named_children()) == ["fc", "scale"]
    with pytest.raises(TypeError, match="module 'scale'"):
        net.scale = 1.5
    net.scale = nn.Parameter(neura.zeros(3))
    assert names(net.named_children()) == ["fc"] and net.scale.shape == (3,)
    net.k = nn.Parameter(neura.zeros(1))
    assert "k" not in net.__dict__ and "k" in net._parameters


def test_plain_members_of_a_cpp_layer():
    layer = nn.Linear(2, 3)
    assert (layer.in_features, layer.out_features) == (2, 3)
    layer.in_features = 7
    assert "in_features=7" in repr(layer)
    with pytest.raises((TypeError, ValueError)):
        layer.in_features = "many"
    layer.note = "mine"
    assert layer.note == "mine" and layer.__dict__ == {"note": "mine"}


def test_a_listed_parameter_that_is_deleted_can_come_back():
    layer, x = nn.Linear(2, 2), neura.ones(1, 2)
    del layer.bias
    assert not hasattr(layer, "bias") and names(layer.named_parameters()) == ["weight"]
    assert layer(x).tolist() == (x @ layer.weight.t()).tolist()
    layer.bias = nn.Parameter(neura.tensor([10.0, 20.0]))
    assert names(layer.named_parameters()) == ["weight", "bias"]
    assert (layer(x) - x @ layer.weight.t()).tolist() == [[10.0, 20.0]]


def test_a_plain_tensor_in_the_place_of_a_deleted_parameter_is_what_forward_reads():
    layer, x = nn.Linear(2, 2, bias=False), neura.ones(1, 2)
    del layer.weight
    layer.weight = neura.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert list(layer.parameters()) == [] and layer(x).tolist() == [[3.0, 7.0]]
    assert nn.Sequential(layer)(x).tolist() == [[3.0, 7.0]]
    del layer.weight
    layer.register_buffer("weight", neura.tensor([[1.0, 0.0], [0.0, 1.0]]))
    assert list(layer.state_dict()) == ["weight"] and nn.Sequential(layer)(x).tolist() == [[1.0, 1.0]]


def test_members_before_init():
    class Early(nn.Module):
        def __init__(self):
            self.fc = nn.Linear(1, 1)

    class EarlyParameter(nn.Module):
        def __init__(self):
            self.w = nn.Parameter(neura.zeros(1))

    class Never(nn.Module):
        def __init__(self):
            self.x = 1

    with pytest.raises(AttributeError, match=r"cannot assign module before Module.__init__\(\) call"):
        Early()
    with pytest.raises(AttributeError, match=r"cannot assign parameters before Module.__init__\(\) call"):
        EarlyParameter()
    never = Never()
    assert never.x == 1
    for use in (lambda: never(1), lambda: never.training, lambda: never.parameters(), lambda: repr(never)):
        with pytest.raises(AttributeError, match="super"):
            use()
    with pytest.raises(AttributeError):
        nn.Sequential(never)
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        nn.Module(3)


def test_names_that_cannot_be_registered():
    net = Net()
    for register, value in (
        (net.register_buffer, neura.zeros(1)),
        (net.register_parameter, nn.Parameter(neura.zeros(1))),
        (net.add_module, nn.Identity()),
    ):
        with pytest.raises(TypeError, match="name should be a string"):
            register(3, value)
        with pytest.raises(KeyError, match=r'can.*t contain "\."'):
            register("a.b", value)
        with pytest.raises(KeyError, match="can.*t be empty"):
            register("", value)
        with pytest.raises(KeyError, match="attribute 'forward' already exists"):
            register("forward", value)
    with pytest.raises(TypeError, match="not a Module subclass"):
        net.add_module("x", 3)
    with pytest.raises(TypeError, match="Parameter or None required"):
        net.register_parameter("x", neura.zeros(1))
    with pytest.raises(TypeError, match="Tensor or None required"):
        net.register_buffer("x", 3)
    w = nn.Parameter(neura.zeros(1))
    with pytest.raises((ValueError, TypeError)):
        net.register_parameter("x", w * 2)


def test_a_class_attribute_would_hide_a_parameter():
    class Hides(nn.Module):
        weight = None

    with pytest.raises(KeyError, match="attribute 'weight' already exists"):
        Hides().weight = nn.Parameter(neura.zeros(1))


def test_ties_and_identity():
    a, b = Net(), Net()
    a.fc.weight = b.fc.weight
    assert a.fc.weight is b.fc.weight

    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = a, b

    two = Two()
    assert len(list(two.parameters())) == 5 and len(two.state_dict()) == 8
    assert len(list(two.named_parameters(remove_duplicate=False))) == 6
    w = a.fc.weight
    w.tag, i = "x", id(w)
    del w
    gc.collect()
    assert a.fc.weight.tag == "x" and id(a.fc.weight) == i
    where = {p: name for name, p in two.named_parameters()}
    assert all(where[p] == name for name, p in two.named_parameters())
    first = [id(p) for p in two.parameters()]
    junk = [neura.tensor([1.0]) for _ in range(100)]
    assert first == [id(p) for p in two.parameters()] and len(junk) == 100
    a.to(neura.float64)
    assert b.fc.weight.dtype == neura.float64 and b.fc.bias.dtype == neura.float32 and a.fc.weight is b.fc.weight


def test_a_parameter_of_a_subclass_keeps_its_class_and_attributes():
    class Mine(nn.Parameter):
        pass

    net = Net()
    for r in range(5):
        net.fc.weight = Mine(neura.full((2, 2), 1.0))
        net.fc.weight.z = r
        gc.collect()
        assert type(net.fc.weight) is Mine and net.fc.weight.z == r


def test_live_views():
    net = Net()
    assert list(net._modules) == ["fc"] and net._modules["fc"] is net.fc and len(net._buffers) == 2
    net._parameters["scale"] = nn.Parameter(neura.zeros(2))
    assert net.scale.tolist() == [0.0, 0.0]
    net._parameters["extra"] = None
    assert net.extra is None and "extra" in net._parameters
    del net._parameters["extra"]
    assert not hasattr(net, "extra")
    net._modules["late"] = nn.Identity()
    assert isinstance(net.late, nn.Identity) and list(net._modules.keys()) == ["fc", "late"]
    with pytest.raises(KeyError):
        net._modules["scale"]
    with pytest.raises(KeyError):
        del net._buffers["nothing"]
    assert net._non_persistent_buffers_set == {"tmp"}
    view = net._modules
    net._modules.clear()
    assert len(view) == 0 and list(net.children()) == []
    assert nn.Linear(2, 2, bias=False)._parameters["bias"] is None


def test_paths():
    net = nn.Sequential(Net(), nn.Sequential(Net()))
    assert net.get_submodule("1.0.fc") is net[1][0].fc and net.get_submodule("") is net
    assert net.get_parameter("1.0.fc.weight") is net[1][0].fc.weight
    assert net.get_buffer("0.buf") is net[0].buf
    for wrong in ("2", "0.k", "0.scale.x"):
        with pytest.raises(AttributeError):
            net.get_submodule(wrong)
    with pytest.raises(AttributeError, match="is not a parameter"):
        net.get_parameter("0.buf")
    with pytest.raises(AttributeError, match="is not a buffer"):
        net.get_buffer("0.scale")
    net.set_submodule("0.fc", nn.Identity())
    assert isinstance(net[0].fc, nn.Identity)
    with pytest.raises(AttributeError):
        net.set_submodule("0.nothing", nn.Identity(), strict=True)
    with pytest.raises(ValueError):
        net.set_submodule("", nn.Identity())


def test_walks():
    shared = nn.Linear(1, 1)
    net = nn.Sequential(shared, nn.Sequential(shared, nn.Identity()))
    assert names(net.named_modules()) == ["", "0", "1", "1.1"]
    assert names(net.named_modules(remove_duplicate=False)) == ["", "0", "1", "1.0", "1.1"]
    assert names(net.named_modules(prefix="net")) == ["net", "net.0", "net.1", "net.1.1"]
    assert names(net.named_parameters(prefix="net", recurse=True)) == ["net.0.weight", "net.0.bias"]
    assert list(net.parameters(recurse=False)) == []
    assert list(net.modules())[0] is net and list(net.children()) == [shared, net[1]]
    seen = []
    assert net.apply(seen.append) is net and seen == [shared, shared, net[1][1], net[1], net]


def test_buffers_by_assignment():
    net = nn.Module()
    net.kept = nn.Buffer(neura.ones(2))
    net.dropped = nn.Buffer(neura.ones(2), persistent=False)
    assert names(net.named_buffers()) == ["kept", "dropped"] and list(net.state_dict()) == ["kept"]
    net.kept = neura.zeros(2)
    assert list(net.state_dict()) == ["kept"]


def test_parameter():
    data = neura.zeros(2)
    p = nn.Parameter(data)
    assert p.requires_grad and p.is_leaf and p.data_ptr() == data.data_ptr()
    assert repr(p).startswith("Parameter containing:\ntensor([0., 0.], requires_grad=True)")
    assert not nn.Parameter(neura.zeros(2), requires_grad=False).requires_grad
    assert nn.Parameter().shape == (0,)
    assert not nn.Parameter(neura.tensor([1]), False).requires_grad
    with pytest.raises(RuntimeError):
        nn.Parameter(neura.tensor([1]))
    with pytest.raises(TypeError, match="expected a tensor"):
        nn.Parameter([1.0])
    assert type(p + 1) is neura.Tensor


def test_python_types_that_modules_mix_with():
    class Abstract(nn.Module, abc.ABC):
        @abc.abstractmethod
        def f(self):
            ...

    with pytest.raises(TypeError):
        Abstract()

    class P(typing.Protocol):
        def g(self):
            ...

    class Concrete(Abstract, P, typing.Generic[typing.TypeVar("T")]):
        def f(self):
            return 1

    assert Concrete().f() == 1

    class M1(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(1, 1)

    class M2(nn.Module):
        def __init__(self):
            super().__init__()
            self.b = nn.Linear(1, 1)

    class M3(M1, M2):
        def __init__(self):
            M1.__init__(self)
            M2.__init__(self)

    assert len(M3().state_dict()) == 4 and type(type(M3())) is type


def test_a_getattr_of_the_class_comes_after_the_members():
    class Wrap(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(super().__getattr__("inner"), name)

    w = Wrap(Net())
    assert w.k == 3 and w.fc is w.inner.fc and w.inner is w.inner
    object.__setattr__(w, "plain", 4)
    assert w.plain == 4


def test_init_called_again_makes_the_listed_members_anew():
    layer = nn.Linear(2, 3)
    layer.__init__(4, 5)
    assert layer.weight.shape == (5, 4) and (layer.in_features, layer.out_features) == (4, 5)
    assert layer(neura.ones(1, 4)).shape == (1, 5)


def test_a_layer_whose_own_init_is_skipped():
    class Mine(nn.Linear):
        def __init__(self, n):
            nn.Module.__init__(self)
            self.in_features = self.out_features = n
            self.weight = nn.Parameter(neura.ones(n, n))
            self.bias = None

    assert Mine(2)(neura.ones(1, 2)).tolist() == [[2.0, 2.0]]


def test_misuse_is_an_error():
    layer = nn.Linear(2, 2)
    with pytest.raises(TypeError):
        nn.Module.__getattr__(layer, 3)
    layer.weight = None
    with pytest.raises(ValueError, match="expected a tensor, got none"):
        layer.reset_parameters()
