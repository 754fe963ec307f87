#!/usr/bin/env python3
"""On a machine with a GPU: installs wheels of neura and neura-cuda13 into a new folder, without an index and without
what they depend on; then trains a network on the cpu and on cuda:0, compares, calls each of NVIDIA's libraries, and
prints which files were loaded. The Python that runs this must find NVIDIA's wheels (those of PyTorch will do), or the
system their libraries.

    try_cuda_wheel.py NEURA_WHEEL CUDA_WHEEL
"""
import os
import subprocess
import sys
import tempfile
import time

STEPS = 30
LIBRARIES = ["cublasLt", "cublas", "cudnn", "cufft", "cusolver", "nvrtc"]
KERNEL = """
#include <cuda_fp16.h>
extern "C" __global__ void scale(float* x, float by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= __half2float(__float2half(by));
}
"""


def train(neura, device):
    """The losses of a small convolutional network that learns which quarter of a picture is the brightest."""
    nn = neura.nn
    neura.manual_seed(0)
    picture = neura.rand(256, 1, 16, 16)
    quarter = picture.reshape(256, 2, 8, 2, 8).mean(dim=(2, 4)).reshape(256, 4).argmax(dim=1)
    layers = [nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(32 * 64, 4)]
    net = nn.Sequential(*layers).to(device)
    optimizer = neura.optim.Adam(net.parameters(), lr=2e-3)
    picture, quarter, losses = picture.to(device), quarter.to(device), []
    for _ in range(STEPS):
        loss = nn.functional.cross_entropy(net(picture), quarter)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [float(x) for x in losses]


def relative(neura, there, here):
    return float((there.cpu() - here).abs().max() / here.abs().max())


def differences(neura):
    """Between cuda:0 and the cpu, of what each library computes."""
    a, x = neura.rand(300, 300) + 300 * neura.eye(300), neura.randn(64, 1000)
    yield "solve", relative(neura, neura.linalg.solve(a.cuda(), a[:, :4].cuda()), neura.linalg.solve(a, a[:, :4]))
    yield "eigvalsh", relative(neura, neura.linalg.eigvalsh((a + a.T).cuda()), neura.linalg.eigvalsh(a + a.T))
    yield "fft", relative(neura, neura.fft.rfft(x.cuda()), neura.fft.rfft(x))
    y = x.cuda()
    neura.cuda.compile_kernel(KERNEL, "scale")(grid=(250,), block=(256,), args=(y, 2.5, y.numel()))
    yield "kernel", relative(neura, y, x * 2.5)


def loaded():
    files = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
    for name in ["neura_cuda", *LIBRARIES]:
        found = [f for f in sorted(files) if os.path.basename(f).startswith(f"lib{name}.so")]
        assert found, f"{name} was not loaded"
        print(f"  {name:10} {' '.join(found)}")


def trial(folder):
    start = time.perf_counter()
    import neura

    print(f"import neura {neura.__version__}: {1e3 * (time.perf_counter() - start):.1f} ms, from {neura.__file__}")
    assert neura.__file__.startswith(folder)
    start = time.perf_counter()
    neura.ones(1).cuda()  # says why, if there is no device
    print(f"{neura.cuda.get_device_name()}: the first tensor after {time.perf_counter() - start:.2f} s")
    here, there = train(neura, "cpu"), train(neura, "cuda:0")
    apart = max(abs(a - b) for a, b in zip(here, there))
    for device, losses in ("cpu", here), ("cuda:0", there):
        print(f"loss on {device}: {losses[0]:.4f} -> {losses[-1]:.4f}")
    print(f"at most {apart:.1e} apart")
    assert here[-1] < 0.5 * here[0] and apart < 1e-2 and abs(here[0] - there[0]) < 1e-5
    for name, difference in differences(neura):
        print(f"{name}: {difference:.1e} apart")
        assert difference < 1e-4, name
    loaded()


def main():
    if sys.argv[1] == "--trial":
        return trial(sys.argv[2])
    wheels = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps"]
        subprocess.run([*pip, "--target", folder, *wheels], check=True)
        environment = {k: v for k, v in os.environ.items() if k != "NEURA_CUDA_LIBRARY"}
        environment.update(PYTHONPATH=folder, NEURA_CUDNN_ALLOW_TF32="0", NEURA_CACHE_DIR="")
        subprocess.run([sys.executable, __file__, "--trial", folder], env=environment, check=True)


if __name__ == "__main__":
    main()
