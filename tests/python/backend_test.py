"""Back ends in C from Python: the example of tests/border and the one that docs/backend.md builds, compiled here."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILER = shutil.which("cc") or shutil.which("gcc")
PAGE = (ROOT / "docs" / "backend.md").read_text()
pytestmark = pytest.mark.skipif(not COMPILER or sys.platform != "linux", reason="needs a compiler of C, and Linux")


def compiled(source, to):
    subprocess.run([COMPILER, "-std=c11", "-shared", "-fPIC", "-I", ROOT, "-o", to, source], check=True)
    return str(to)


@pytest.fixture(scope="module")
def npu(tmp_path_factory):
    return compiled(ROOT / "tests" / "border" / "npu.c", tmp_path_factory.mktemp("npu") / "libnpu.so")


def run(program, **environment):
    """In a process of its own: what is registered stays."""
    done = subprocess.run(
        [sys.executable, "-c", "import neura\n" + program],
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def test_devices_have_names(npu):
    said = run(
        """
d = neura.device("npu", 1)
print(repr(d), str(d), d.type, d.index, neura.device("npu"))
x = neura.tensor([1.0, 2.0], device="npu:1")
print(x, x.device == d, x.is_cuda, x.is_cpu, x.cpu().tolist(), x.get_device())
print(neura.backends.device_types())
try:
    neura.device("tpu")
except neura.errors.DeviceError as e:
    print(e)
""",
        NEURA_BACKENDS=npu,
    )
    assert said == [
        "device(type='npu', index=1) npu:1 npu 1 npu:0",
        "tensor([1., 2.], device='npu:1') True False False [1.0, 2.0] 1",
        "['cpu', 'cuda', 'meta', 'npu', 'fpga']",
        'device: expected "cpu", "cuda", "meta", "npu", "fpga", or one of them with ":<index>", got "tpu"',
    ]


def test_a_network_trains_there(npu):
    said = run(
        f"""
neura.load_backend({npu!r})
def losses(device):
    neura.manual_seed(0)
    net = neura.nn.Sequential(neura.nn.Linear(4, 8), neura.nn.ReLU(), neura.nn.Linear(8, 2)).to(device)
    optimizer = neura.optim.AdamW(net.parameters(), lr=0.01)
    x, y = neura.randn(16, 4).to(device), neura.randn(16, 2).to(device)
    for _ in range(4):
        loss = neura.nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()
    assert next(net.parameters()).device.type == neura.device(device).type
for a, b, c in zip(losses("cpu"), losses("npu"), losses("fpga")):
    assert abs(a - b) < 1e-5 and abs(a - c) < 1e-5, (a, b, c)
print(neura.backends.host_fallbacks()["npu", "adam_step"], ("npu", "matmul") in neura.backends.host_fallbacks())
"""
    )
    assert said == ["4 False"]


def test_other_libraries_and_files(npu):
    said = run(
        """
import copy, pickle
x = neura.tensor([[1.0, 2.0], [3.0, 4.0]], device="npu:1").t()
for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
    assert y.device == x.device and y.stride() == x.stride() and y.tolist() == x.tolist()
try:
    x.__dlpack__()
except neura.errors.DeviceError as e:
    print(e)
print(x.__dlpack_device__(), neura.from_dlpack(x.cpu()).tolist())
for f in (x.numpy, x.share_memory_):
    try:
        f()
    except neura.errors.DeviceError as e:
        print(e)
print(x.type())
""",
        NEURA_BACKENDS=npu,
    )
    assert said[0].startswith("__dlpack__: expected a tensor on the cpu or a CUDA device, got float32 [2, 2] on npu:1")
    assert said[1] == "(12, 1) [[1.0, 3.0], [2.0, 4.0]]"
    assert said[2].startswith("numpy: expected a tensor on the cpu")
    assert said[3] == "share_memory_: expected a tensor on the cpu, got one on npu:1; use .cpu()"
    assert said[4] == "neura.npu.FloatTensor"


def test_what_the_environment_names_must_be_there():
    said = run(
        """
try:
    neura.device("npu")
except OSError as e:
    print(e)
print(neura.device("cpu"))
""",
        NEURA_BACKENDS="/no/such/library.so",
    )
    assert said[0].startswith("load_backend: expected a library that can be loaded, got /no/such/library.so (")
    assert said[1] == "cpu"


def test_forbidden_from_the_start(npu):
    said = run(
        """
x = neura.ones(2, device="npu")
print((x + x).tolist())
try:
    x.sin()
except NotImplementedError as e:
    print(e)
print(neura.backends.forbid_host_fallback(False), x.sin().device, neura.backends.host_fallbacks())
""",
        NEURA_BACKENDS=npu,
        NEURA_FORBID_HOST_FALLBACK="1",
    )
    assert said[0] == "[2.0, 2.0]"
    assert said[1].startswith("sin: expected a kernel of the back end of npu for these operands, got none")
    assert said[-1] == "True npu:0 {('npu', 'sin'): 1}"


def test_what_is_no_back_end(npu, tmp_path):
    (tmp_path / "text.so").write_text("no library")
    (tmp_path / "other.c").write_text("int x;")
    other = compiled(tmp_path / "other.c", tmp_path / "other.so")
    said = run(
        f"""
for path in ({str(tmp_path / "text.so")!r}, {other!r}, {npu!r}, {npu!r}):
    try:
        neura.load_backend(path)
        print("loaded")
    except Exception as e:
        print(type(e).__name__)
"""
    )
    assert said == ["IoError", "FormatError", "loaded", "ValueError"]


def test_the_page(tmp_path):
    (tmp_path / "page.c").write_text("".join(re.findall(r"```c\n(.*?)```", PAGE, re.DOTALL)))
    library = compiled(tmp_path / "page.c", tmp_path / "libpage.so")
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    said = run(f"library = {library!r}\n" + program)
    assert said == re.findall(r"# ([\[{].*)", program)
