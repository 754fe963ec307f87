"""GradScaler on a device: what the device finds decides. On the device for tests, and on CUDA."""

import math

import neura
import pytest

if not neura.cuda.is_available():
    pytest.skip("no device", allow_module_level=True)


def test_skips_and_scales_there():
    w = neura.nn.Parameter(neura.ones(3).cuda())
    optimizer = neura.optim.AdamW([w], lr=0.125, weight_decay=0)
    scaler = neura.cuda.amp.GradScaler(init_scale=64.0, growth_interval=2)
    scales = []
    for factor in (1.0, 1.0, math.inf, 1.0, math.nan, 1.0, 1.0):
        before = w.tolist()
        optimizer.zero_grad()
        with neura.cuda.amp.autocast():
            loss = (w.reshape(1, 3) @ w.reshape(3, 1)).sum() * factor
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        assert w.grad.device.type == "cuda" and w.grad.dtype == neura.float32
        scaler.step(optimizer)
        scaler.update()
        assert (w.tolist() == before) == (not math.isfinite(factor))
        scales.append(scaler.get_scale())
    assert scales == [64, 128, 64, 64, 32, 32, 64]


def test_master_weights_stay_there():
    p = neura.ones(4, dtype=neura.bfloat16, device="cuda", requires_grad=True)
    optimizer = neura.optim.SGD([{"params": [p], "master": True}], lr=1e-3)
    for _ in range(100):
        p.grad = neura.ones_like(p)
        optimizer.step()
    assert optimizer.state[p]["master_param"].device.type == "cuda"
    assert p.tolist() == pytest.approx([0.9] * 4, abs=4e-3)
