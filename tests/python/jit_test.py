"""neura.jit: programs that script and trace run, with eager's answers."""

import io
from typing import List

import neura
import pytest
from neura import jit, nn


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(3, 3), nn.BatchNorm1d(3)

    @jit.export
    def helper(self, x):
        return x + 1

    @jit.ignore
    def plain(self, x):
        return x

    @jit.unused
    def never(self):
        raise AssertionError

    def forward(self, x):
        return self.norm(self.linear(x)).tanh()


def test_functions_and_modules_stay_what_they_are():
    @jit.script
    def total(x, n: int):
        for i in range(n):
            x = x + i
        return x.sum()

    assert total(neura.ones(2), 3).item() == 8
    cell = Cell()
    assert jit.script(cell) is cell and cell.helper(1) == 2 and cell.plain(3) == 3
    assert jit.script(List) is List
    with pytest.raises(TypeError, match="script: expected a function, a class or a module, got int"):
        jit.script(3)


def test_a_trace_calls_once_and_changes_nothing():
    cell, x = Cell(), neura.arange(6.0).view(2, 3)
    before = {name: value.clone() for name, value in cell.state_dict().items()}
    calls = []
    cell.register_forward_hook(lambda *args: calls.append(1))
    traced = jit.trace(cell, x)
    assert calls == [1] and all(neura.equal(before[name], value) for name, value in cell.state_dict().items())
    cell.eval()
    assert neura.equal(jit.freeze(traced)(x), cell(x)) and neura.equal(jit.optimize_for_inference(traced)(x), cell(x))
    assert jit.trace(lambda a, b: a + b, (x, x))(x, x)[0, 1] == 2
    assert jit.trace_module(cell, {"forward": (x,)}) is cell
    with pytest.raises(RuntimeError, match="example_inputs"):
        jit.trace(cell)
    with pytest.raises(RuntimeError, match="evaluation mode"):
        jit.freeze(cell.train())
    with pytest.raises(neura.errors.ShapeError):
        jit.trace(cell, neura.ones(2, 4))


def test_there_are_no_files():
    with pytest.raises(NotImplementedError, match="jit.save: programs of TorchScript are not there; keep the state_"):
        jit.save(jit.script(Cell()), io.BytesIO())
    with pytest.raises(NotImplementedError, match="jit.load"):
        jit.load("net.pt")


def test_small_names():
    assert not jit.is_scripting() and not jit.is_tracing() and not isinstance(Cell(), jit.ScriptModule)
    assert jit.annotate(List[int], []) == [] and jit.Attribute(3, int) == 3
    assert jit.isinstance([1], List[int]) and not jit.isinstance(1, (str, List[int]))
    assert jit.wait(jit.fork(lambda a: a + 1, 2)) == 3
    with jit.fuser("fuser2"), jit.optimized_execution(True), jit.strict_fusion():
        pass
    neura._dynamo.config.suppress_errors = True
    assert neura._dynamo.disable(lambda x: x)(1) == 1 and not neura._dynamo.is_compiling()


def test_modules_compile_in_place():
    import copy
    import pickle

    net, x = nn.Sequential(nn.Linear(2, 2), nn.ReLU()), neura.ones(3, 2)
    answer = net(x)
    for backend in ("inductor", "eager", "aot_eager"):
        net.compile(backend=backend)
        assert neura.equal(net(x), answer) and list(net.state_dict()) == ["0.weight", "0.bias"]
    twin, again = copy.deepcopy(net), pickle.loads(pickle.dumps(net))
    net[0].weight.data.zero_()
    net[0].bias.data.fill_(-1)
    assert neura.equal(twin(x), answer) and neura.equal(again(x), answer) and not net(x).any()
    eager = neura.compile(twin, backend="eager")
    assert eager._orig_mod is twin and neura.equal(eager(x), answer)
    assert list(eager.state_dict()) == ["_orig_mod.0.weight", "_orig_mod.0.bias"]


def test_nested_tensors_are_refused_with_advice():
    with pytest.raises(NotImplementedError, match="nested_tensor: nested tensors are not there; pad with"):
        neura.nested.nested_tensor([neura.ones(1)])
