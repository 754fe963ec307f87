"""Master weights: {"params": ..., "master": True} keeps a float32 copy of half parameters."""

import copy

import pytest

import neura

KINDS = "SGD Adam AdamW RMSprop Adagrad Adadelta Adamax NAdam RAdam ASGD Rprop".split()


def gradient(step, dtype):
    neura.manual_seed(100 + step)
    return neura.randn(4, 5).to(dtype)


def made(kind, p, master=True):
    return getattr(neura.optim, kind)([{"params": [p], "master": master}])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [neura.bfloat16, neura.float16], ids=str)
def test_steps_are_those_of_float32(kind, dtype):
    neura.manual_seed(0)
    half = neura.randn(4, 5).to(dtype).requires_grad_()
    wide = half.detach().float().requires_grad_()
    low, high = made(kind, half), made(kind, wide)
    for i in range(8):
        if i == 4:  # saved and loaded on the way
            saved = copy.deepcopy(low.state_dict())
            low = made(kind, half)
            low.load_state_dict(saved)
        half.grad = gradient(i, dtype)
        wide.grad = half.grad.float()
        low.step(), high.step()
    assert neura.equal(low.state[half]["master_param"], wide.detach())
    assert neura.equal(half.detach(), wide.detach().to(dtype))
    assert "master_param" not in high.state[wide]


def test_small_updates_are_not_lost():
    p, q = (neura.ones(3, dtype=neura.bfloat16, requires_grad=True) for _ in range(2))
    kept, lost = neura.optim.SGD([{"params": [p], "master": True}], lr=1e-3), neura.optim.SGD([q], lr=1e-3)
    for _ in range(100):
        p.grad, q.grad = neura.ones(3, dtype=neura.bfloat16), neura.ones(3, dtype=neura.bfloat16)
        kept.step(), lost.step()
    assert p.tolist() == pytest.approx([0.9] * 3, abs=4e-3) and q.tolist() == [1.0] * 3
