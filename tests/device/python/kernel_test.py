"""neura.cuda.compile_kernel. Runs on the device for tests, which does what it knows by a kernel's name, and on CUDA."""

import os
import pathlib
import re
import subprocess
import sys

import neura
import pytest

if not neura.cuda.is_available():
    pytest.skip("no device", allow_module_level=True)
if not neura._neura._cuda.nvrtc_version():
    pytest.skip("no NVRTC", allow_module_level=True)

SOURCE = """
extern "C" __global__ void scale(float* x, float by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
template <class T> __global__ void fill(T* x, T value, long long n) {
  for (long long i = threadIdx.x; i < n; i += blockDim.x) x[i] = value;
}
"""
OPTIONS = () if neura.cuda.get_device_capability() > (0, 0) else ("--gpu-architecture=sm_90",)


def test_a_kernel_runs():
    scale = neura.cuda.compile_kernel(SOURCE, "scale", OPTIONS)
    assert isinstance(scale, neura.cuda.Kernel) and scale.name == "scale"
    x = neura.arange(5.0).cuda()
    scale((1, 1, 1), (256, 1, 1), (x, 2.5, 5))
    scale(grid=1, block=256, args=[x, neura.tensor(2.0).item(), x.numel()], shared_mem=0)
    assert x.tolist() == [0, 5, 10, 15, 20]
    side = neura.cuda.Stream()
    side.wait_stream(neura.cuda.current_stream())
    scale(1, (32,), (x, 2, 5), stream=side)
    side.synchronize()
    assert x.tolist() == [0, 10, 20, 30, 40]
    y = neura.zeros(3, dtype=neura.float64).cuda()
    neura.cuda.compile_kernel(SOURCE, "fill<double>", OPTIONS)(1, 32, (y, 7, 3))
    assert y.tolist() == [7, 7, 7]
    numpy = pytest.importorskip("numpy")
    scale(1, 32, (x, numpy.float32(0.5), numpy.int64(5)))
    assert x.tolist() == [0, 5, 10, 15, 20]


def test_what_does_not_fit_is_refused():
    scale = neura.cuda.compile_kernel(SOURCE, "scale", OPTIONS)
    x = neura.ones(4).cuda()
    for args, error, text in (
        ((neura.ones(4), 2, 4), neura.errors.DeviceError, "move it with .cuda"),
        ((x.double(), 2, 4), TypeError, "expected a pointer to float as argument 1 of 3, got float64"),
        ((x.clone().requires_grad_(), 2, 4), RuntimeError, "need no gradient"),
        ((x, 2), ValueError, "expected 3 arguments"),
        ((x, 2, 1.5), ValueError, "pass a whole number"),
        ((x, 2, 2**31), ValueError, "out of its range"),
        ((x, 2, 2**70), TypeError, "tensors, numbers and None"),
        ((x, "2", 4), TypeError, "tensors, numbers and None"),
        ((x, 1j, 4), TypeError, "tensors, numbers and None"),
    ):
        with pytest.raises(error, match=text):
            scale(1, 32, args)
    for grid, block in (((1, 1, 1, 1), 1), (1.5, 1), (1, None), ("1", 1)):
        with pytest.raises(TypeError):
            scale(grid, block, (x, 2, 4))
    with pytest.raises(ValueError, match="1 to 1024 threads"):
        scale(1, (64, 64), (x, 2, 4))
    assert x.tolist() == [1] * 4
    with pytest.raises(RuntimeError, match='identifier "oops" is undefined'):
        neura.cuda.compile_kernel("__global__ void f() { oops; }", "f", OPTIONS)


RUN = """
import sys, neura
kernel = neura.cuda.compile_kernel(sys.argv[1], "scale", sys.argv[2:])
x = neura.ones(2).cuda()
kernel(1, 32, (x, 3, 2))
print(x.tolist(), neura._neura._cuda.compile_counts())
"""


def run(source, **environment):
    command = [sys.executable, "-c", RUN, source, *OPTIONS]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120)


def test_another_process_finds_it_in_the_folder(tmp_path):
    folder = {"NEURA_CACHE_DIR": str(tmp_path / "cache")}
    assert run(SOURCE, **folder).stdout == "[3.0, 3.0] (1, 0, 0)\n"
    assert run(SOURCE, **folder).stdout == "[3.0, 3.0] (0, 0, 1)\n"
    (file,) = (tmp_path / "cache" / "kernels").iterdir()
    file.write_bytes(file.read_bytes()[:-40])
    assert run(SOURCE, **folder).stdout == "[3.0, 3.0] (1, 0, 0)\n"  # it was damaged, and is whole again
    assert run(SOURCE, **folder).stdout == "[3.0, 3.0] (0, 0, 1)\n"
    (tmp_path / "by.h").write_text("#define BY by\n")
    changing = f'#include "{tmp_path}/by.h"\n' + SOURCE.replace("*= by", "*= BY")
    for _ in range(2):  # that file may change: only this process remembers what came of it
        assert run(changing, **folder).stdout == "[3.0, 3.0] (1, 0, 0)\n"


def test_without_the_compiler_it_says_what_to_do():
    said = run(SOURCE, NEURA_NVRTC_LIBRARY="/nothing.so").stderr
    assert "scale: expected NVRTC, which compiles kernels, got none (/nothing.so: cannot open shared object" in said
    assert "let NEURA_NVRTC_LIBRARY name libnvrtc.so.13" in said


def test_the_kernel_on_the_page_runs():
    page = (pathlib.Path(__file__).parents[3] / "docs" / "cuda.md").read_text()
    [block] = [b for b in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "compile_kernel" in b]
    names = {}
    exec(block.replace('"scale")', f'"scale", {OPTIONS})'), names)
    assert names["x"].tolist() == [2.5] * 1000
