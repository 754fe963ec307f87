"""Device times of a profile. Runs on the device for tests, and on CUDA."""

import json

import neura
import pytest
from neura.profiler import NanTracker, profile

if not neura.cuda.is_available():
    pytest.skip("no device", allow_module_level=True)


def test_times_and_memory_of_a_device(tmp_path):
    x = neura.ones(256, 256, device="cuda")
    y = neura.ones(2)
    (x @ x).exp()
    with profile(profile_memory=True) as p:
        for _ in range(3):
            z = (x @ x).exp()
        y.exp()
        neura.cuda.synchronize()
    ours = [e for e in p.events() if e.device == "cuda:0"]
    assert len(ours) == 6 and all(e.device_begin >= 0 and e.device_begin <= e.device_end for e in ours)
    assert p.events()[-1].device == "cpu" and p.events()[-1].device_begin == -1
    assert all(a.device_end <= b.device_begin + 1000 for a, b in zip(ours, ours[1:]))  # one stream, float microseconds
    assert ours[1].device_memory_usage >= 256 * 256 * 4 and z.shape == (256, 256)
    p.export_chrome_trace(tmp_path / "t.json")
    trace = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert sum(e.get("cat") == "kernel" and e["pid"] == 0 for e in trace) == 6
    assert "Self device" in p.key_averages().table(sort_by="self_cuda_time_total")


def test_nan_on_a_device():
    x = neura.tensor([1.0, -1.0], device="cuda")
    with NanTracker() as tracker:
        (x + 1).exp().sub(x).log()
        x.log()
    assert tracker.found.operation == "log" and "1 nan" in tracker.found.result and len(tracker.found.operands) == 1
