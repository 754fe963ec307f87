"""neura.profiler: what ran, once each, with times, shapes, memory and modules; table, trace and schedule."""

import gzip
import json
import subprocess
import sys
import threading

import neura
import pytest
from neura import nn, profiler
from neura.profiler import ProfilerAction, profile, record_function, schedule


def names(p, kind="operation"):
    return [event.name for event in p.events() if event.kind == kind]


def train(model, x):
    model(x).sum().backward()


def test_a_step_forward_and_backward():
    model, x = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)), neura.ones(3, 4)
    with profile() as p:
        train(model, x)
    model(x)
    forward = [e.name for e in p.events() if not e.backward]
    backward = [e.name for e in p.events() if e.backward]
    assert forward[:4] == ["linear", "tanh", "linear", "sum"] and len(forward) == 5  # and the gradient of the sum, 1
    assert sum("tanh" in name for name in backward) == 1
    assert all(e.begin <= e.end for e in p.events())
    assert all(a.end <= b.begin for a, b in zip(p.events(), p.events()[1:]))


def test_nothing_is_recorded_outside_and_on_other_threads():
    x = neura.ones(3)
    with profile() as p:
        thread = threading.Thread(target=x.exp)
        thread.start()
        thread.join()
    x.exp()
    assert p.events() == [] and p.key_averages().table().count("\n") == 5
    with record_function("nobody sees it"):
        x.exp()


def test_ranges_hold_what_runs_inside():
    x = neura.ones(100, 100)
    with profile() as p, record_function("outer", "1"):
        x.exp()
        with record_function("inner"):
            x @ x
    outer, exp, inner, product = p.events()
    assert outer.name == "outer(1)" and outer.cpu_children == [exp, inner] and inner.cpu_children == [product]
    assert product.cpu_parent is inner and exp.is_user_annotation is False and inner.is_user_annotation
    inside = exp.cpu_time_total + inner.cpu_time_total
    assert outer.self_cpu_time_total == pytest.approx(outer.cpu_time_total - inside)
    assert p.events().self_cpu_time_total == pytest.approx(outer.cpu_time_total)


def test_record_function_decorates():
    @record_function("again")
    def function(n):
        return function(n - 1) if n else neura.ones(2).exp()

    with profile() as p:
        function(2)
    assert names(p, "range") == ["again"] * 3 and function.__name__ == "function"


def test_averages_shapes_and_order():
    a, b = neura.ones(64, 64), neura.ones(8, 8)
    with profile(record_shapes=True) as p:
        for x in (a, a, b):
            x @ x
        a.exp()
    by_name = {e.key: e for e in p.key_averages()}
    assert {key: e.count for key, e in by_name.items()} == {p.events()[0].name: 3, "exp": 1}
    product = by_name[p.events()[0].name]
    assert product.cpu_time == pytest.approx(product.cpu_time_total / 3)
    shapes = [e.input_shapes for e in p.key_averages(group_by_input_shape=True)]
    assert shapes == [[[64, 64], [64, 64]], [[8, 8], [8, 8]], [[64, 64]]]
    assert p.events()[0].input_dtypes == ["float32", "float32"]
    table = p.key_averages(group_by_input_shape=True).table(sort_by="count", row_limit=1, header="of three")
    lines = table.splitlines()
    assert lines[0] == "of three" and "Input Shapes" in lines[2] and "[[64, 64], [64, 64]]" in lines[4]
    assert "exp" not in table and lines[4].split()[-5] == "2"
    with pytest.raises(ValueError, match="sort_by"):
        p.key_averages().table(sort_by="name")
    assert p.key_averages().total_average().count == 4


def test_memory():
    x = neura.ones(1024, 1024)
    with profile(profile_memory=True) as p, record_function("both"):
        y = x.exp()
        y.t()
    both, exp, view = p.events()
    assert 4 << 20 <= exp.cpu_memory_usage < 5 << 20 and view.cpu_memory_usage < 1 << 20
    assert both.cpu_memory_usage == exp.cpu_memory_usage + view.cpu_memory_usage
    assert both.self_cpu_memory_usage == 0 and "4.00 MB" in p.key_averages().table()


def test_modules_by_their_path():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(4, 4), nn.Tanh())

        def forward(self, x):
            return self.body(x) + x

    model, x = Block(), neura.ones(2, 4)
    with profile(with_modules=True) as p:
        model(x)
    assert names(p, "module") == [f"nn.Module: Block{path}" for path in ("", ".body", ".body.0", ".body.1")]
    assert {e.name: e.module for e in p.events()}["tanh"] == "Block.body.1"
    assert p.events()[-1].module == "Block"
    with profile() as p:
        model(x)
    assert names(p, "module") == []


def test_the_modules_below_a_module_are_walked_once():
    class Counted(nn.Sequential):
        walks = 0

        def named_modules(self, *args, **named):
            Counted.walks += 1
            return super().named_modules(*args, **named)

    model = Counted(nn.Tanh(), nn.Tanh(), nn.Tanh())
    with profile(with_modules=True) as p:
        for _ in range(4):
            model(neura.ones(2))
        model[1] = nn.ReLU()
        model(neura.ones(2))
    of_one = ["nn.Module: Counted"] + [f"nn.Module: Counted.{i}" for i in range(3)]
    assert names(p, "module") == 5 * of_one
    assert Counted.walks == 2


def test_a_module_that_fails_ends_its_range():
    model = nn.Sequential(nn.Linear(4, 4))
    with profile(with_modules=True) as p:
        with pytest.raises(RuntimeError):
            model(neura.ones(2, 3))
        model(neura.ones(2, 4))
    assert names(p, "module") == ["nn.Module: Sequential", "nn.Module: Sequential.0"] * 2


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_the_trace(tmp_path, name):
    with profile(record_shapes=True) as p, record_function("step"):
        neura.ones(3, 2).exp()
    p.export_chrome_trace(tmp_path / name)
    with (gzip.open if name.endswith("gz") else open)(tmp_path / name, "rt") as file:
        trace = json.load(file)
    events = {e["name"]: e for e in trace["traceEvents"] if e["ph"] == "X"}
    step, exp = events["step"], events["exp"]
    assert step["cat"] == "user_annotation" and exp["cat"] == "cpu_op" and exp["args"]["Input Dims"] == [[3, 2]]
    assert step["ts"] <= exp["ts"] and exp["ts"] + exp["dur"] <= step["ts"] + step["dur"] + 1e-3
    assert exp["tid"] == threading.get_native_id() and trace["displayTimeUnit"] == "ms"


def test_a_schedule_of_steps(tmp_path):
    handed = []

    def ready(p):
        handed.append(names(p, "range"))
        profiler.tensorboard_trace_handler(str(tmp_path), "worker")(p)

    plan = schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=2)
    assert "".join(plan(step).name[0] + str(plan(step).value) for step in range(10)) == "N0N0W1R2R3N0W1R2R3N0"
    with profile(schedule=plan, on_trace_ready=ready) as p:
        for _ in range(10):
            neura.ones(2).exp()
            p.step()
    assert handed == [["ProfilerStep#3", "ProfilerStep#4"], ["ProfilerStep#7", "ProfilerStep#8"]]
    assert len(list(tmp_path.glob("worker.*.pt.trace.json"))) == 2
    with pytest.raises(ValueError, match="active from 1"):
        schedule(wait=0, warmup=0, active=0)
    assert p.current_action is ProfilerAction.NONE


def test_what_is_left_at_the_end_is_handed_over():
    handed = []
    with profile(schedule=schedule(wait=0, warmup=0, active=3), on_trace_ready=lambda p: handed.append(names(p))) as p:
        neura.ones(2).exp()
        p.step()
    assert len(handed) == 1 and "exp" in handed[0]


def test_errors():
    with pytest.raises(neura.errors.NotImplementedError, match="with_stack=False"):
        profile(with_stack=True)
    with pytest.raises(neura.errors.NotImplementedError, match="activities CPU"):
        profile(activities=[profiler.ProfilerActivity.CUDA])
    with pytest.raises(ValueError, match="a recording that has ended"):
        profile().events()
    with profile():
        with pytest.raises(ValueError, match="no other profile on this thread"):
            profile().start()
    if not neura.cuda.is_available():
        with pytest.raises(neura.errors.DeviceError, match="a CUDA device"):
            profile(activities=list(profiler.ProfilerActivity))


def test_results_are_the_same_bits():
    def run():
        neura.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Dropout(0.5), nn.LazyLinear(3))
        loss = model(neura.randn(2, 1, 6, 6)).square().sum()
        loss.backward()
        return [loss.item(), *(p.grad.tolist() for p in model.parameters())]

    plain = run()
    with profile(record_shapes=True, profile_memory=True):
        assert run() == plain


def test_under_vmap_and_inside_forward_mode():
    x = neura.arange(6.0).reshape(2, 3)
    with profile() as p:
        y = neura.vmap(neura.sin)(x)
    assert "sin" in names(p) and y.tolist() == x.sin().tolist()


def test_a_profile_that_is_never_stopped():
    code = "import neura; p = neura.profiler.profile(); p.start(); neura.ones(3).exp()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_older_form_with_switches():
    from neura.autograd import profiler as older

    with older.profile(record_shapes=True) as p, older.record_function("block"):
        neura.ones(3) + 1
    assert names(p) == ["ones", "add"] and "block" in p.key_averages().table()
    with older.profile(enabled=False) as off:
        neura.ones(3)
    with pytest.raises(ValueError, match="profile: expected a recording"):
        off.events()
    with pytest.raises(ValueError, match="profile: expected use_device to be 'cuda' or None, got 'tpu'"):
        older.profile(use_device="tpu")
