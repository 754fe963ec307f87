"""neura.compile: modules, files and its arguments."""

import copy
import io
import pickle

import neura
import pytest
from compile_test import chain, compiled, ramp, same
from neura import nn


def test_an_optimized_module_is_the_module_in_all_else():
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    fast = neura.compile(net)
    assert fast._orig_mod is net and fast.get_submodule("_orig_mod.0") is net[0] and not hasattr(fast, "nothing")
    assert list(fast.state_dict()) == ["_orig_mod.0.weight", "_orig_mod.0.bias"]
    assert [p is q for p, q in zip(fast.parameters(), net.parameters())] == [True, True]
    fast.eval()
    assert not net.training
    seen = []
    net.register_forward_hook(lambda *a: seen.append(1))
    fast(neura.ones(2, 3))
    assert seen == [1]


def test_compiling_leaves_a_frozen_part_as_it_is():
    net = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout())
    net[0].eval()
    fast = neura.compile(net)
    assert [m.training for m in (fast, net, net[0], net[1])] == [True, True, False, True]
    net.eval()
    assert not neura.compile(net).training


def test_its_arguments():
    def f(x):
        return x

    assert neura.compile(f, disable=True) is f and neura.compile(f, backend="eager") is f
    assert neura.compile(mode="max-autotune", fullgraph=True, dynamic=False)(chain).__name__ == "chain"
    with pytest.raises(ValueError, match="backends inductor, eager, got 'other'"):
        neura.compile(f, backend="other")
    with pytest.raises(ValueError, match="expected one of the modes"):
        neura.compile(f, mode="fast")
    with pytest.raises(ValueError, match="got both"):
        neura.compile(f, mode="default", options={})
    with pytest.raises(NotImplementedError, match="'trace'"):
        neura.compile(f, options={"trace": True})
    with pytest.raises(NotImplementedError, match="backend of one's own"):
        neura.compile(f, backend=lambda graph, inputs: graph)
    with pytest.raises(TypeError, match="function or a module"):
        neura.compile(3)


def test_a_modules_flags_and_buffers_are_those_of_the_call():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop, self.scale = nn.Dropout(0.5), 1.0
            self.register_buffer("shift", neura.zeros(6))

        def forward(self, x):
            return self.drop(chain(x)) * self.scale + self.shift

    net, x = Net(), ramp()
    fast = compiled(net)
    for change in (
        lambda: fast.eval(),
        lambda: setattr(net, "scale", 4.0),
        lambda: net.shift.fill_(2),
        lambda: setattr(net, "shift", ramp()),
        lambda: net.train(),
    ):
        change()
        neura.manual_seed(7)
        expected = net(x)
        neura.manual_seed(7)
        assert same(fast(x), expected)


def test_modules_are_copied_and_pickled_in_between():
    def f(net, x):
        net.weight = nn.Parameter(chain(x))
        twin = copy.deepcopy(net)
        other = pickle.loads(pickle.dumps(net))
        return twin.weight + other.weight

    class Net(nn.Module):
        pass

    globals()["Net"] = Net
    Net.__qualname__, Net.__module__ = "Net", __name__
    assert same(compiled(f)(Net(), ramp()), chain(ramp()) * 2)


def test_files_are_written_with_the_values(tmp_path):
    x, path = ramp(), tmp_path / "x.safetensors"

    def f():
        neura.save(chain(x), tmp_path / "x.pt")
        neura.safetensors.save_file({"x": chain(x)}, str(path))

    compiled(f)()
    assert same(neura.load(tmp_path / "x.pt"), chain(x))
    assert same(neura.safetensors.load_file(str(path))["x"], chain(x))
    buffer = io.BytesIO()
    compiled(lambda: neura.save({"a": chain(x)}, buffer))()
    buffer.seek(0)
    assert same(neura.load(buffer)["a"], chain(x))
