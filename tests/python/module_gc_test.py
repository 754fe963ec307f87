"""The garbage collector finds every module that nobody can reach, and no other."""

import copy
import gc
import random
import threading
import weakref

import pytest

import neura
from neura import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.scale = nn.Parameter(neura.tensor([2.0, 2.0]))
        self.register_buffer("b", neura.tensor([1.0]))

    def forward(self, x):
        return self.fc(x) + self.scale


def through_a_list(net):
    net.box = [net]


def through_itself(net):
    net.me = net


def through_a_hook(net):
    net.register_forward_hook(lambda m, i, o: net)


def through_a_backward_hook(net):
    net.register_full_backward_hook(lambda m, i, o: net)
    net(neura.ones(1, 2))


def through_a_container(net):
    net.parent = [nn.Sequential(net)]


def through_an_attribute_of_a_parameter(net):
    net.fc.weight.owner = net


def through_a_parameter_of_several(net):
    other = Net()
    other.fc.weight = net.fc.weight
    other.scale = net.fc.weight
    net.other = other
    net.fc.weight.owner = other


def through_bound_methods(net):
    net.fc.forward = net.fc.forward
    net.fc.f2 = net.forward


def through_its_views(net):
    net.view = net._modules


def through_a_gradient(net):
    net(neura.ones(1, 2)).sum().backward()
    net.fc.weight.grad.owner = net


def through_a_buffer(net):
    net.b.owner = net


def through_a_gradient_of_a_kept_tensor(net):
    for p in net.parameters():
        p.grad = neura.ones_like(p)
        p.grad.owner = net


def through_a_hook_of_a_parameter(net):
    net.scale.register_hook(lambda g: net and None)


def through_two_names(net):
    net.again = net.scale
    net.scale.owner = net


def through_a_shallow_copy(net):
    net.fc.weight.owner = copy.copy(net)


def through_parameters_of_a_layer_of_cpp(net):
    net.block = nn.TransformerEncoderLayer(4, 2, 4)
    for p in net.block.parameters():
        p.owner = net


def through_what_a_view_held(net):
    net.fc.weight.owner = net
    view = net.fc.weight.view(4)
    gc.collect()
    del view


WAYS = [f for name, f in list(globals().items()) if name.startswith("through_")]


def alive():
    """Modules, parameters, and other tensors with attributes; a dead weak reference would not prove that it went."""
    gc.collect()
    return sum(isinstance(o, (nn.Module, neura.Tensor)) for o in gc.get_objects())


@pytest.mark.parametrize("make_cycle", WAYS)
def test_cycles_are_collected(make_cycle):
    before = alive()
    net = Net()
    make_cycle(net)
    gc.collect(0), gc.collect(1)
    assert alive() > before and net.fc.weight.shape == (2, 2)
    watch = weakref.ref(net)
    del net
    assert alive() == before and watch() is None


@pytest.mark.parametrize("generation", [0, 1, 2])
def test_what_a_view_is_of_stays(generation):
    before = alive()
    net = Net()
    net.fc.weight.owner = net
    view, watch = net.fc.weight.view(4), weakref.ref(net)
    del net
    gc.collect(generation)
    assert view._base.owner is watch() and watch().fc.weight is view._base
    view.sum().backward()
    assert watch().fc.weight.grad.tolist() == [[1, 1], [1, 1]]
    del view
    assert alive() == before


@pytest.mark.parametrize("generation", [0, 1, 2])
def test_a_parameter_keeps_what_its_gradient_refers_to(generation):
    before = alive()
    net = Net()
    for p in net.parameters():
        p.grad = neura.ones_like(p)
        p.grad.owner = net
    p = net.fc.weight
    del net
    gc.collect(generation)
    assert p.grad.owner.fc.weight is p
    del p
    assert alive() == before


def test_attributes_stay_while_only_cpp_holds_the_tensor():
    net = nn.Sequential(nn.TransformerEncoderLayer(4, 2, 4))
    for p in net.parameters():
        p.note = [p]
    del p
    for generation in [0, 1, 2, 2]:
        gc.collect(generation)
    assert all(p.note[0] is p for p in net.parameters())


def test_without_cycles_nothing_waits_for_the_collector():
    gc.disable()
    try:
        net = nn.Sequential(Net(), nn.Sequential(Net()))
        net(neura.ones(1, 2)).sum().backward()
        list(net.parameters())
        watch = [weakref.ref(m) for m in net.modules()] + [weakref.ref(p) for p in net.parameters()]
        del net
        assert [w() for w in watch] == [None] * len(watch)
    finally:
        gc.enable()


def test_a_module_that_only_cpp_holds_keeps_its_object():
    net = Net()
    net.attr = "kept"
    s, i = nn.Sequential(net), id(net)
    del net
    gc.collect()
    assert s[0].attr == "kept" and type(s[0]) is Net and id(s[0]) == i


def test_deep_nesting_is_freed():
    before = alive()
    s = nn.Sequential()
    for _ in range(20000):
        s = nn.Sequential(s)
    assert alive() >= before + 1
    del s
    assert alive() == before


def test_other_threads_let_go():
    before = alive()

    def work():
        for _ in range(20):
            net = Net()
            net.box = [net]
            nn.Sequential(net)(neura.ones(1, 2)).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert alive() == before


def tangle(rng, with_parameters, tie, with_copies):
    make = [Net, nn.Sequential, nn.ModuleList, lambda: nn.Linear(1, 1), lambda: nn.Sequential(nn.Linear(1, 1))]
    modules = [rng.choice(make)() for _ in range(12)]
    for _ in range(40):
        a, b, what = rng.choice(modules), rng.choice(modules), rng.randrange(7)
        if what == 0:
            setattr(a, f"c{rng.randrange(4)}", b)
        elif what == 1:
            a.ref = [b]
        elif what == 2:
            a.register_forward_hook(lambda m, i, o, b=b: b)
        elif what == 3 and isinstance(a, (nn.Sequential, nn.ModuleList)):
            a.append(b)
        elif what == 4 and with_parameters and list(b.parameters()):
            p = next(b.parameters())
            p.back = a
            if tie:
                a.w = p
        elif what == 5 and isinstance(a, nn.ModuleList):
            a.append(nn.Sequential(nn.Sequential(b)))
        elif what == 6 and with_copies:
            copy.copy(a)


@pytest.mark.parametrize("with_parameters, tie, with_copies", [(0, 0, 1), (1, 0, 0), (1, 0, 1), (1, 1, 1)])
def test_nothing_is_left_of_a_tangle(with_parameters, tie, with_copies):
    before, rng, threshold = alive(), random.Random(1), gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        for _ in range(15):
            tangle(rng, with_parameters, tie, with_copies)
    finally:
        gc.set_threshold(*threshold)
    assert alive() == before
