"""Where PyTorch gives NaN, loses what an error says or passes over a mistake: the right answer."""

import math
import subprocess
import sys

import neura
import pytest
from neura import nn

F = nn.functional
INF = math.inf


@pytest.mark.parametrize("dtype", [neura.float32, neura.float64, neura.bfloat16])
@pytest.mark.parametrize("dim", [0, 1, (0, 1)])
def test_logsumexp_of_nothing_but_minus_infinity_has_gradients_of_zero(dtype, dim):
    x = neura.tensor([[-INF, -INF], [-INF, 1.0]], dtype=dtype, requires_grad=True)
    neura.logsumexp(x, dim).sum().backward()
    assert not x.grad.isnan().any() and x.grad[1, 1] == 1 and x.grad[0, 0] == 0
    (twice,) = neura.autograd.grad(neura.autograd.grad(neura.logsumexp(x, dim).sum(), x, create_graph=True)[0].sum(), x)
    assert not twice.isnan().any()


def test_logsumexp_of_large_numbers_has_the_softmax_as_gradient():
    x = neura.tensor([1e38, 3e38, 3e38], requires_grad=True)
    neura.logsumexp(x, 0).backward()
    assert x.grad.tolist() == [0.0, 0.5, 0.5] or x.grad.tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("dtype", [neura.float32, neura.bfloat16])
def test_means_of_large_numbers_do_not_overflow(dtype):
    x = neura.full((4, 5), 3e38, dtype=dtype)
    assert x.mean() == x[0, 0] and x.mean(0).equal(x[0]) and x.t().mean(1).equal(x[0])
    x[0] = -x[0]
    assert x[:2].mean() == 0 and x[:2].mean(0).tolist() == [0] * 5
    x[3, 3] = INF
    assert x.mean() == INF and x.mean(0)[3] == INF and not x.mean(0)[:3].isinf().any()
    x[3, 3] = float("nan")
    assert x.mean().isnan() and x.mean(1)[3].isnan() and not x.mean(1)[:3].isnan().any()


@pytest.mark.parametrize("reduction", ["none", "sum", "mean", "batchmean"])
def test_a_divergence_from_what_has_no_probability(reduction):
    x = neura.tensor([[-1.0, -2.0]], requires_grad=True)
    target = neura.tensor([[-INF, math.log(0.5)]], requires_grad=True)
    loss = F.kl_div(x, target, reduction=reduction, log_target=True)
    loss.sum().backward()
    n = 2 if reduction == "mean" else 1
    assert loss.sum().item() == pytest.approx(0.5 * (math.log(0.5) + 2) / n)
    assert x.grad.tolist() == [[0.0, pytest.approx(-0.5 / n)]] and not target.grad.isnan().any()


@pytest.mark.parametrize("dtype", [neura.float32, neura.float64, neura.bfloat16])
def test_a_bound_that_is_nan_gives_nan(dtype):
    x, nan = neura.ones(3, dtype=dtype), float("nan")
    for y in (x.clamp(None, nan), x.clamp(nan), x.clamp(nan, 2.0), x.clamp(0.0, nan), x.clone().clamp_(None, nan)):
        assert y.isnan().all() and y.dtype is dtype


def test_a_negative_norm_is_refused():
    p = nn.Parameter(neura.ones(2))
    p.grad = neura.ones(2)
    with pytest.raises(ValueError, match="clip_grad_norm_: expected a max_norm from 0 up, got -1.0"):
        nn.utils.clip_grad_norm_([p], -1.0)
    assert p.grad.tolist() == [1, 1]


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("kind", ["attn_mask", "float", "key_padding_mask"])
def test_rows_that_are_masked_wholly_are_zeros(need_weights, kind):
    layer = nn.MultiheadAttention(4, 2, batch_first=True).double()
    x = neura.randn(2, 3, 4, dtype=neura.float64, requires_grad=True)
    hidden = neura.zeros(3, 3, dtype=neura.bool)
    hidden[1] = True
    masks = {"attn_mask": hidden}
    if kind == "float":
        masks = {"attn_mask": neura.zeros(3, 3, dtype=neura.float64).masked_fill(hidden, -INF)}
    if kind == "key_padding_mask":
        masks = {"key_padding_mask": neura.tensor([[True, True, True], [False, False, True]])}
    y, weights = layer(x, x, x, need_weights=need_weights, **masks)
    y.square().sum().backward()
    rows = y[0] if kind == "key_padding_mask" else y[:, 1]
    assert neura.allclose(rows, layer.out_proj.bias.expand_as(rows))
    assert not any(t.isnan().any() for t in (y, x.grad, *(p.grad for p in layer.parameters())))
    if need_weights:
        assert (weights[0] if kind == "key_padding_mask" else weights[:, 1]).tolist() is not None
        assert not weights.isnan().any() and (weights.sum(-1) - 1).abs().min() < 1e-12


def test_an_error_in_a_property_names_what_is_missing():
    class Net(nn.Module):
        @property
        def size(self):
            return self.width * 2

        @property
        def broken(self):
            raise KeyError("other")

    with pytest.raises(AttributeError, match="no attribute 'width'"):
        Net().size
    with pytest.raises(KeyError, match="other"):
        Net().broken
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'depth'"):
        Net().depth
    assert not hasattr(Net(), "size")
    net = Net()
    net.width = 3
    assert net.size == 6


def test_a_leaf_that_is_a_view_of_a_constant_is_not_written_in_place():
    for view in (lambda x: x.reshape(3), lambda x: x[:], lambda x: x.view(3, 1)[:, 0]):
        x = view(neura.ones(3)).requires_grad_()
        for write in (lambda: x.add_(1), lambda: x.mul_(x), lambda: x.zero_(), lambda: x[0].fill_(2)):
            with pytest.raises(RuntimeError, match="leaf that requires gradients"):
                write()
        with neura.no_grad():
            x.add_(1)
        (x * x).sum().backward()
        assert x.is_leaf and x.grad.tolist() == [4, 4, 4]


def test_threads_that_compute_at_the_end_do_not_abort_the_process():
    program = """
import threading, time, neura
x = neura.randn(300, 300)
def work():
    while True:
        x @ x
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
"""
    for _ in range(3):
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
        assert (run.returncode, run.stderr) == (0, "")


def test_a_name_of_a_file_may_be_as_long_as_names_can(tmp_path):
    path = tmp_path / ("n" * 240 + ".safetensors")
    assert len(path.name) == 252
    for name in (path, tmp_path / ("m" * 255)):
        neura.save({"x": neura.ones(2)}, name)
        assert neura.load(name)["x"].tolist() == [1, 1] and [p.name for p in tmp_path.iterdir()].count(name.name) == 1
    assert len(list(tmp_path.iterdir())) == 2
