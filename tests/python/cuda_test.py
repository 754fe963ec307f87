"""neura.cuda: the same names with and without a device; without one, errors that say what is missing."""

import pathlib
import re
import shutil
import subprocess

import neura
import pytest

HAS = neura.cuda.is_available()
needs_none = pytest.mark.skipif(HAS, reason="a CUDA device is there")
needs_one = pytest.mark.skipif(not HAS, reason="no CUDA device")


def test_looking_and_tidying_never_fail():
    cuda = neura.cuda
    assert cuda.device_count() >= int(HAS) and cuda.is_initialized() is HAS
    assert neura.device("cuda" if cuda.is_available() else "cpu").type == ("cuda" if HAS else "cpu")
    cuda.empty_cache()
    cuda.reset_peak_memory_stats()
    figures = (
        cuda.memory_allocated(),
        cuda.memory_reserved(0),
        cuda.max_memory_allocated("cuda"),
        cuda.max_memory_reserved(neura.device("cuda:0")),
    )
    assert all(n >= 0 for n in figures) and (HAS or figures == (0, 0, 0, 0))


def test_a_seed_of_cuda_leaves_the_one_generator_alone():
    neura.manual_seed(3)
    expected = neura.rand(4)
    neura.manual_seed(3)
    neura.cuda.manual_seed(5), neura.cuda.manual_seed_all(6)
    assert neura.equal(neura.rand(4), expected)
    with pytest.raises(ValueError, match="invalid literal"):  # as int("now") says
        neura.cuda.manual_seed("now")
    with pytest.raises(TypeError):
        neura.cuda.manual_seed(None)


def test_tf32_is_for_convolutions_until_products_are_said_to_use_it():
    matmul, cudnn = neura.backends.cuda.matmul, neura.backends.cudnn
    assert neura.get_float32_matmul_precision() == "highest" and not matmul.allow_tf32 and cudnn.allow_tf32
    try:
        for word in ("high", "medium"):
            neura.set_float32_matmul_precision(word)
            assert neura.get_float32_matmul_precision() == word and matmul.allow_tf32
        with pytest.raises(ValueError, match='expected "highest", "high" or "medium", got "low"'):
            neura.set_float32_matmul_precision("low")
        assert neura.get_float32_matmul_precision() == "medium"
        matmul.allow_tf32 = False
        assert neura.get_float32_matmul_precision() == "highest"
        matmul.allow_tf32 = True
        assert neura.get_float32_matmul_precision() == "high" and cudnn.allow_tf32
        cudnn.allow_tf32 = False
        assert not cudnn.allow_tf32 and matmul.allow_tf32
    finally:
        neura.set_float32_matmul_precision("highest")
        cudnn.allow_tf32 = True


def test_deterministic_algorithms_are_a_switch():
    assert not neura.are_deterministic_algorithms_enabled()
    try:
        neura.use_deterministic_algorithms(True, warn_only=True)
        assert neura.are_deterministic_algorithms_enabled()
    finally:
        neura.use_deterministic_algorithms(False)
    assert not neura.are_deterministic_algorithms_enabled()


def test_devices_of_another_kind_are_refused():
    for ask in (neura.cuda.synchronize, neura.cuda.memory_allocated, neura.cuda.get_device_name):
        with pytest.raises(ValueError, match="expected a device of CUDA, got cpu"):
            ask("cpu")
    with pytest.raises(TypeError):
        neura.cuda.synchronize(1.5)


@needs_none
@pytest.mark.parametrize(
    "ask",
    [
        lambda: neura.ones(1).cuda(),
        lambda: neura.ones(1).to("cuda"),
        lambda: neura.ones(1, device="cuda"),
        lambda: neura.nn.Linear(1, 1).cuda(),
        lambda: neura.nn.Linear(1, 1, device="cuda"),
        neura.cuda.current_device,
        neura.cuda.synchronize,
        neura.cuda.mem_get_info,
        neura.cuda.get_device_name,
        neura.cuda.get_device_capability,
        neura.cuda.get_device_properties,
    ],
)
def test_without_a_device_errors_say_why(ask):
    with pytest.raises(neura.errors.DeviceError, match="expected one that can be used, got cuda:0: .*use the cpu") as e:
        ask()
    assert isinstance(e.value, RuntimeError)


@needs_one
def test_with_a_device_tensors_travel():
    x = neura.arange(6.0).reshape(2, 3)
    y = x.cuda()
    assert y.is_cuda and y.device == neura.device("cuda:0") and x.cuda(0).device == y.device
    neura.cuda.synchronize()
    assert (y * 2).cpu().tolist() == (x * 2).tolist()
    assert neura.cuda.memory_allocated() > 0
    name = neura.cuda.get_device_name()
    assert name and neura.cuda.get_device_properties(0).name == name
    free, total = neura.cuda.mem_get_info()
    assert 0 < free <= total


@needs_one
def test_the_scopes_on_the_page_run():
    page = (pathlib.Path(__file__).parents[2] / "docs" / "cuda.md").read_text()
    [block] = [b for b in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "set_default_device" in b]
    names = {}
    try:
        exec(block, names)
        assert neura.get_default_device().type == "cuda"
    finally:
        neura.set_default_device(None)
    assert names["layer"].weight.device == names["network"]().weight.device == neura.device("cuda:0")


@needs_one
@pytest.mark.skipif(not shutil.which("nvidia-smi"), reason="no nvidia-smi")
def test_properties_are_those_that_nvidia_smi_prints():
    call = ["nvidia-smi", "--query-gpu=name,compute_cap,memory.total", "--format=csv,noheader,nounits"]
    lines = subprocess.run(call, capture_output=True, text=True, check=True).stdout.splitlines()
    printed = [[field.strip() for field in line.split(",")] for line in lines]
    for i in range(neura.cuda.device_count()):
        p = neura.cuda.get_device_properties(i)
        alike = [m for name, capability, m in printed if name == p.name and capability == f"{p.major}.{p.minor}"]
        assert alike, (p, printed)
        least, most = 0.95 * min(map(float, alike)), max(map(float, alike))  # the driver keeps some for itself
        assert least <= p.total_memory / 2**20 <= most
        assert neura.cuda.get_device_capability(i) == (p.major, p.minor) and p.multi_processor_count > 0


def test_an_integer_is_the_index_of_a_cuda_device():
    assert neura.device(1) == neura.device("cuda:1") == neura.device("cuda", 1)
    for wrong in (-1, 256, 2**70):
        with pytest.raises(neura.errors.DeviceError, match="expected an index that exists"):
            neura.device(wrong)
    for wrong in (True, 1.0, None, neura.tensor(1)):
        with pytest.raises(TypeError):
            neura.device(wrong)


@needs_none
def test_without_a_device_streams_and_pinned_memory_say_why():
    for ask in (
        neura.cuda.Stream,
        neura.cuda.current_stream,
        neura.cuda.CUDAGraph,
        neura.ones(1).pin_memory,
        lambda: neura.ones(1, pin_memory=True),
        lambda: neura.tensor([1], pin_memory=True),
    ):
        with pytest.raises(neura.errors.DeviceError, match="expected one that can be used, got cuda:0: "):
            ask()
    assert not neura.ones(1).is_pinned() and not neura.cuda.is_current_stream_capturing()
    assert neura.cuda.memory_stats()["hits"] == 0
    with neura.cuda.stream(None), neura.cuda.device(None):
        pass
    event = neura.cuda.Event()
    assert event.query() and event.cuda_event == 0


def test_a_device_that_is_none_is_one_error_wherever_it_is_given():
    x = neura.ones(2)
    for ask in (
        lambda: neura.device("toaster"),
        lambda: neura.ones(2, device="toaster"),
        lambda: neura.ones((2,), device="toaster"),
        lambda: neura.tensor([1], device="toaster"),
        lambda: neura.as_tensor([1], device="toaster"),
        lambda: neura.asarray([1], device="toaster"),
        lambda: neura.full((2,), 1, device="toaster"),
        lambda: neura.arange(2, device="toaster"),
        lambda: neura.rand(2, device="toaster"),
        lambda: neura.zeros_like(x, device="toaster"),
        lambda: neura.from_dlpack(x, device="toaster"),
        lambda: x.new_zeros(2, device="toaster"),
        lambda: x.to("toaster"),
        lambda: x.to(device="toaster"),
        lambda: x.cuda("toaster"),
        lambda: neura.Generator(device="toaster"),
        lambda: neura.set_default_device("toaster"),
        lambda: neura.nn.Linear(1, 1, device="toaster"),
        lambda: neura.nn.Linear(1, 1).to("toaster"),
        lambda: neura.cuda.Stream("toaster"),
        lambda: neura.cuda.synchronize("toaster"),
        lambda: neura.utils.data.DataLoader([1, 2], device="toaster"),
    ):
        with pytest.raises(neura.errors.DeviceError) as e:
            ask()
        assert str(e.value) == 'device: expected "cpu", "cuda", "cuda:<index>" or "meta", got "toaster"'
    with pytest.raises(neura.errors.DeviceError, match="expected an index that exists, got 256"):
        neura.ones(2, device=256)
    for wrong in (1.5, [], object()):
        with pytest.raises(TypeError):
            neura.ones(2, device=wrong)


def test_mistakes_with_streams_are_errors():
    with pytest.raises(NotImplementedError, match="expected interprocess=False"):
        neura.cuda.Event(interprocess=True)
    with pytest.raises(TypeError):
        neura.ones(1).record_stream(3)
    with pytest.raises(ValueError, match="both with enable_timing"):
        neura.cuda.Event().elapsed_time(neura.cuda.Event())
    for device in ("cpu", neura.device("cpu")):
        with pytest.raises(ValueError, match="expected a device of CUDA, got cpu"):
            neura.cuda.set_device(device)


def test_copies_take_non_blocking_and_copy_by_place_and_by_name():
    x = neura.arange(3.0)
    assert x.to("cpu", non_blocking=True) is x and x.to("cpu", neura.float32, True) is x
    y = x.to(neura.float32, False, True)
    assert y is not x and neura.equal(y, x)
    assert neura.equal(neura.zeros(3).copy_(x, non_blocking=True), x)
    assert x.to(neura.float64, True).dtype == neura.float64


@needs_one
def test_streams_and_events_order_work():
    cuda = neura.cuda
    side, own = cuda.Stream(priority=-1), cuda.current_stream()
    assert own == cuda.default_stream() and side != own and hash(side) == side.cuda_stream and side.priority == -1
    begin, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    with cuda.stream(side):
        assert cuda.current_stream() == side
        begin.record()
        x = neura.full((1000,), 3.0, device="cuda")
        end.record()
    assert cuda.current_stream() == own
    own.wait_stream(side)
    y = x * 2
    x.record_stream(own)
    assert y.tolist() == [6.0] * 1000 and begin.query() and end.query() and side.query()
    assert begin.elapsed_time(end) >= 0
    cuda.set_stream(side)
    assert cuda.current_stream() == side
    cuda.set_stream(own)


@needs_one
def test_pinned_memory_crosses_without_waiting():
    x = neura.arange(1000.0)
    p = x.pin_memory()
    assert p.is_pinned() and p.pin_memory() is p and not x.is_pinned() and neura.equal(p, x)
    y = p.to("cuda", non_blocking=True)
    back = neura.zeros(1000).pin_memory()
    back.copy_(y, non_blocking=True)
    neura.cuda.current_stream().synchronize()
    assert neura.equal(back, x) and neura.equal(p.cuda(non_blocking=True).cpu(), x)


@needs_one
def test_a_graph_replays_with_new_inputs_and_ends_cleanly_on_errors():
    cuda = neura.cuda
    w, x = neura.rand(4, 3).cuda(), neura.zeros(2, 4, device="cuda")
    g = cuda.CUDAGraph()
    with cuda.graph(g):
        assert cuda.is_current_stream_capturing()
        y = neura.relu(x @ w) + neura.rand(2, 3, device="cuda")
    for i in range(3):
        value = neura.rand(2, 4)
        x.copy_(value)
        neura.manual_seed(i)
        g.replay()
        neura.manual_seed(i)
        want = neura.relu(value.cuda() @ w) + neura.rand(2, 3, device="cuda")
        assert neura.allclose(y, want)
    broken = cuda.CUDAGraph()
    with pytest.raises(neura.errors.CudaError, match="while a graph is captured"):
        with cuda.graph(broken, pool=g.pool()):
            (x + 1).sum().item()
    assert not cuda.is_current_stream_capturing() and (x + 1).shape == (2, 4)
    with pytest.raises(ValueError, match="capture first"):
        broken.replay()
    with cuda.graph(broken):
        z = x * 2
    broken.replay()
    assert neura.equal(z, x * 2)
    g.reset()


@needs_one
def test_the_allocator_tells_what_it_holds():
    cuda = neura.cuda
    x = neura.zeros(1 << 20, device="cuda")
    stats = cuda.memory_stats()
    assert stats["allocated"] == cuda.memory_allocated() >= 4 << 20 and stats["limit"] > 0
    segments = cuda.memory_snapshot()
    assert sum(s["total_size"] for s in segments) == cuda.memory_reserved()
    assert any(b["size"] >= x.nbytes for s in segments for b in s["blocks"] if b["state"] == "active_allocated")
    assert "in tensors" in cuda.memory_summary()
    cuda.set_per_process_memory_fraction(1)
    with pytest.raises(ValueError, match="expected a fraction"):
        cuda.set_per_process_memory_fraction(2)
    with cuda.device(0):
        assert cuda.current_device() == 0
    neura.zeros(1 << 24, device="cuda")
    kept = cuda.memory_reserved()
    cuda.empty_cache()
    assert cuda.memory_reserved() <= kept - (1 << 26)


def test_graphed_callables_refuse_what_is_not_on_a_device():
    with pytest.raises(ValueError, match="expected sample_args of tensors on a device of CUDA"):
        neura.cuda.make_graphed_callables(neura.relu, (neura.ones(2),))
    with pytest.raises(ValueError, match="expected sample_args for each of 2 callables, got 1"):
        neura.cuda.make_graphed_callables((neura.relu, neura.tanh), ((neura.ones(2),),))


@needs_one
def test_graphed_callables_compute_and_differentiate_as_before():
    cuda = neura.cuda
    neura.manual_seed(0)
    plain = neura.nn.Sequential(neura.nn.Linear(4, 8), neura.nn.Tanh(), neura.nn.Linear(8, 3)).cuda()
    weights = [p.detach().clone() for p in plain.parameters()]
    sample = neura.rand(5, 4).cuda().requires_grad_()
    fast = cuda.make_graphed_callables(plain, (sample,))
    assert fast is plain

    def eager(x):
        a, b, c, d = weights
        return neura.tanh(x @ a.t() + b) @ c.t() + d

    for w in weights:
        w.requires_grad_()
    for _ in range(3):
        x = neura.rand(5, 4).cuda().requires_grad_()
        y = x.detach().clone().requires_grad_()
        got, want = fast(x), eager(y)
        assert neura.allclose(got, want, atol=1e-6)
        (got * got).sum().backward(), (want * want).sum().backward()
        assert neura.allclose(x.grad, y.grad, atol=1e-5)
    for p, w in zip(plain.parameters(), weights):  # three backwards, added up
        assert neura.allclose(p.grad, w.grad, atol=1e-4)
    with pytest.raises(ValueError, match="a graph has the shapes"):
        fast(neura.rand(6, 4).cuda())
    fast.eval()
    assert fast(neura.rand(6, 4).cuda()).shape == (6, 3)
    both = cuda.make_graphed_callables((neura.relu, lambda a, b: (a + b, a * b)), ((sample,), (sample, sample * 1)))
    assert neura.equal(both[0](-x), neura.zeros_like(x))
    total, product = both[1](x, x)
    assert neura.allclose(total, x + x) and neura.allclose(product, x * x)


@needs_one
@pytest.mark.parametrize("pin_memory", [False, True])
def test_saved_tensors_wait_on_the_cpu(pin_memory):
    x = neura.rand(1000).cuda().requires_grad_()
    with neura.autograd.graph.save_on_cpu(pin_memory=pin_memory):
        y = (x * x * x).sum()
    y.backward()
    assert neura.allclose(x.grad, 3 * x.detach() ** 2)
