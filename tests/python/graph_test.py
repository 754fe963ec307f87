"""Programs from Python: traced, printed, saved, run again."""

import neura
import pytest
from neura import graph, nn


def training(seed):
    neura.manual_seed(seed)
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 3)
    )
    optimizer = neura.optim.AdamW(net.parameters(), lr=0.01)
    schedule = neura.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)

    def step(x, labels):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(nn.functional.dropout(net(x), 0.25), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return net, step, schedule


def batch(i):
    generator = neura.Generator().manual_seed(i)
    return neura.randn(5, 1, 8, 8, generator=generator), neura.arange(5).add(i).remainder(3)


def test_a_training_step_trains_on_as_eager_does():
    eager, eager_step, eager_schedule = training(1)
    traced, traced_step, traced_schedule = training(1)
    calls = 0

    def f(*inputs):
        nonlocal calls
        calls += 1
        return traced_step(*inputs)

    neura.manual_seed(2)
    program = graph.trace(f, *batch(0))
    got = []
    for i in range(6):
        got.append(program(*batch(i)))
        traced_schedule.step()
    neura.manual_seed(2)
    for _ in range(calls):
        eager_step(*batch(0))
    for i in range(6):
        assert neura.equal(eager_step(*batch(i)), got[i])
        eager_schedule.step()
    for a, b in zip(eager.state_dict().values(), traced.state_dict().values()):
        assert neura.equal(a, b)
    assert {"convolution", "batch_norm", "adam_step", "convolution_backward_weight"} <= {n.name for n in program.nodes}


def test_a_module_is_saved_with_its_values_and_names(tmp_path):
    net = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2)).eval()
    x = neura.randn(5, 3)
    with neura.no_grad():
        program = graph.trace(net, x)
    assert [name for name, _ in program.captured] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    program.save(tmp_path / "p.txt")
    y = net(x)
    loaded = graph.load(tmp_path / "p.txt")
    with neura.no_grad():
        net[0].weight.zero_()
    assert neura.equal(loaded(x), y) and neura.equal(program(x), net(x)) and not neura.equal(net(x), y)
    assert str(loaded) == str(program) and repr(program).startswith("<neura.graph.Program of ")


def test_results_are_as_the_function_has_them():
    x = neura.ones(2)
    assert graph.trace(lambda x: x + 1, x)(x).tolist() == [2, 2]
    assert [t.tolist() for t in graph.trace(lambda x: [x + 1, x * 3], x)(x)] == [[2, 2], [3, 3]]
    state = neura.zeros(2)
    program = graph.trace(lambda x: (state.add_(x), None)[1], x)
    before = state.tolist()
    assert program(x) is None and state.tolist() == [before[0] + 1] * 2


def test_constants_of_the_host_are_kept():
    import numpy

    program = graph.trace(
        lambda x: x + neura.tensor([1.0, 2.0]) * neura.tensor(numpy.ones(2, "float32")), neura.ones(2)
    )
    assert program(neura.zeros(2)).tolist() == [1.0, 2.0]
    assert [kind for kind in str(program).split() if kind == "constant"]


def test_optimized_gives_the_same():
    x = neura.randn(40, 33)
    program = graph.trace(lambda x: nn.functional.gelu(x * 2 + 1) * neura.sigmoid(x) - x, x)
    fast = program.optimized()
    assert [n.name for n in fast.nodes] == ["fused"] and neura.equal(fast(x), program(x))


def test_a_picture_has_names_and_devices():
    text = graph.trace(nn.Linear(2, 2), neura.ones(1, 2)).to_dot()
    assert text.startswith("digraph program {") and "captured weight  cpu" in text and "linear  cpu" in text


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * x.sum().item(),
        lambda x: x * x.tolist()[0],
        lambda x: x + 1 if x.sum() > 0 else x,
        lambda x: x * float(x.numpy()[0]),
        lambda x: x[x > 0],
    ],
)
def test_reading_values_is_refused(f):
    with pytest.raises(ValueError, match="^trace: expected a function that reads no values on the host, got a"):
        graph.trace(f, neura.ones(2))


def test_what_goes_wrong_is_said():
    x = neura.ones(2)
    with pytest.raises(TypeError, match="a function that returns a tensor, a tuple of them or None"):
        graph.trace(lambda x: 3, x)
    with pytest.raises(TypeError, match="trace: inputs: expected tensors"):
        graph.trace(lambda x: x, 3)
    with pytest.raises(KeyError):
        graph.trace(lambda x: {}["missing"], x)
    with pytest.raises(neura.errors.ShapeError, match=r"run: expected float32 \[2\] as input , got float32 \[3\]"):
        graph.trace(lambda x: x + 1, x)(neura.ones(3))
    with pytest.raises(ValueError, match='expected "program"'):
        graph.parse("hello")
    assert graph.trace(lambda x: x + 1, x)(x).tolist() == [2, 2]


def test_a_replay_is_of_programs_on_cuda():
    program = graph.trace(lambda x: x + 1, neura.zeros(2))
    with pytest.raises(neura.errors.DeviceError, match="on one device of CUDA"):
        graph.replay(program)
