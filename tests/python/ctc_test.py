"""ctc_loss against every path there is, and the layers that came with it."""

import itertools
import math

import neura
import pytest
from neura import nn

F = nn.functional


def scores(*sizes):
    neura.manual_seed(2)
    return neura.randn(*sizes, dtype=neura.float64)


def over_all_paths(log_probs, target, blank=0):
    total = 0.0
    for path in itertools.product(range(log_probs.shape[1]), repeat=log_probs.shape[0]):
        spelled = [c for i, c in enumerate(path) if c != blank and (i == 0 or path[i - 1] != c)]
        if spelled == target:
            total += math.exp(sum(row[c] for row, c in zip(log_probs.tolist(), path)))
    return -math.log(total)


def test_equals_the_sum_over_all_paths():
    x = scores(5, 3, 3).log_softmax(2)
    targets, times, counts = [[1, 2], [1, 1], [2]], [5, 4, 3], [2, 2, 1]
    want = [over_all_paths(x[:t, n], target) for n, (t, target) in enumerate(zip(times, targets))]
    side_by_side, in_a_row = neura.tensor([[1, 2], [1, 1], [2, -9]]), neura.tensor([1, 2, 1, 1, 2], dtype=neura.int32)
    for given in (side_by_side, in_a_row):
        for lengths in ((times, counts), (tuple(times), tuple(counts)), (neura.tensor(times), neura.tensor(counts))):
            assert F.ctc_loss(x, given, *lengths, reduction="none").tolist() == pytest.approx(want)
            assert nn.CTCLoss(reduction="sum")(x, given, *lengths).item() == pytest.approx(sum(want))
            mean = sum(w / n for w, n in zip(want, counts)) / 3
            assert nn.CTCLoss()(x, given, *lengths).item() == pytest.approx(mean)
            assert neura.ctc_loss(x, given, *lengths, 0, 2).item() == pytest.approx(sum(want))


def test_one_sample_and_another_blank():
    x = scores(4, 3).log_softmax(1)
    loss = nn.CTCLoss(blank=2, reduction="none")
    assert loss.blank == 2
    got = loss(x, neura.tensor([0, 1]), neura.tensor(4), neura.tensor(2))
    assert got.shape == () and got.item() == pytest.approx(over_all_paths(x, [0, 1], 2))
    loss.blank = 0
    assert loss(x, neura.tensor([1, 2]), [4], [2]).item() == pytest.approx(over_all_paths(x, [1, 2], 0))


def test_gradient_and_its_gradient():
    def loss(v):
        return F.ctc_loss(v.log_softmax(2), neura.tensor([[1, 1], [2, 0]]), [4, 3], [2, 1])

    x = scores(4, 2, 3).requires_grad_()
    assert neura.autograd.gradcheck(loss, (x,)) and neura.autograd.gradgradcheck(loss, (x,))


def test_targets_that_are_too_long():
    x = scores(3, 2, 3).log_softmax(2).requires_grad_()
    targets = neura.tensor([[1, 1], [1, 2]])
    assert F.ctc_loss(x, targets, [2, 3], [2, 2], reduction="none").tolist()[0] == math.inf
    loss = F.ctc_loss(x, targets, [2, 3], [2, 2], reduction="none", zero_infinity=True)
    assert loss.tolist()[0] == 0 and loss.tolist()[1] > 0
    loss.sum().backward()
    assert not x.grad[:, 0].any() and x.grad.isfinite().all() and x.grad[:, 1].any()


def test_errors():
    x, t = neura.zeros(4, 2, 3), neura.ones(2, 2, dtype=neura.int64)
    for call, error, text in (
        (lambda: F.ctc_loss(x, t, [5, 4], [2, 2]), ValueError, "input_lengths from 0 to 4, got 5"),
        (lambda: F.ctc_loss(x, t, [4, 4], [2, 3]), ValueError, "target_lengths from 0 to 2, got 3"),
        (lambda: F.ctc_loss(x, t, [4], [2, 2]), RuntimeError, r"for each sample \[2\], got \[1\] and \[2\]"),
        (lambda: F.ctc_loss(x, t * 3, [4, 4], [2, 2]), IndexError, "from 0 to 2, got 3"),
        (lambda: F.ctc_loss(x, t, [4, 4], [2, 2], blank=3), ValueError, "blank within the 3 classes, got 3"),
        (lambda: F.ctc_loss(x.half(), t, [4, 4], [2, 2]), RuntimeError, "float32 or float64, got float16"),
        (lambda: F.ctc_loss(x, t, 4.5, [2, 2]), TypeError, "expected a tensor or integers for input_lengths"),
        (lambda: F.ctc_loss(x, t, [4, 4], [2, 2], reduction="all"), ValueError, "reduction"),
        (lambda: neura.ctc_loss(x, t, [4, 4], [2, 2], 0, 3), ValueError, "reduction 0"),
    ):
        with pytest.raises(error, match=text):
            call()


def test_adaptive_softmax_agrees_with_itself():
    neura.manual_seed(0)
    m = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], div_value=2.0, head_bias=True).double()
    assert [tuple(p.shape) for p in m.parameters()] == [(6, 8), (6,), (4, 8), (6, 4), (2, 8), (10, 2)]
    assert list(m.state_dict()) == ["head.weight", "head.bias"] + [
        f"tail.{i}.{j}.weight" for i in (0, 1) for j in (0, 1)
    ]
    assert (m.cutoffs, m.shortlist_size, m.n_clusters, m.head_size) == ([4, 10, 20], 4, 2, 6)
    x, target = scores(6, 8), neura.tensor([0, 3, 4, 9, 10, 19])
    result = m(x, target)
    everything = m.log_prob(x)
    assert everything.exp().sum(1).tolist() == pytest.approx([1] * 6)
    assert result.output.tolist() == pytest.approx(everything.gather(1, target[:, None])[:, 0].tolist())
    assert result.loss.item() == pytest.approx(-result.output.mean().item())
    assert m.predict(x * 30).tolist() == m.log_prob(x * 30).argmax(1).tolist()
    one = m(x[2], target[2])
    assert one.output.shape == () and one.output.item() == pytest.approx(result.output[2].item())
    assert neura.autograd.gradcheck(lambda v: m(v, target).loss, (x.requires_grad_(),))


def test_adaptive_softmax_refuses():
    for cutoffs in ([], [3, 3], [5, 2], [0, 2], [2, 10]):
        with pytest.raises(ValueError, match="cutoffs that rise"):
            nn.AdaptiveLogSoftmaxWithLoss(4, 10, cutoffs)
    m = nn.AdaptiveLogSoftmaxWithLoss(4, 10, [5])
    for target, error, text in (
        (neura.tensor([10]), IndexError, "targets from 0 to 9, got 10"),
        (neura.tensor([-1]), IndexError, "got -1"),
        (neura.tensor([1, 2]), RuntimeError, "one batch size, got 1 and 2"),
        (neura.tensor([[1]]), RuntimeError, "or both without N"),
    ):
        with pytest.raises(error, match=text):
            m(neura.zeros(1, 4), target)


def test_cross_map_normalisation_over_even_sizes_has_a_middle():
    x = scores(1, 5, 2, 2)
    for size in (1, 3, 4, 6):
        reach = (size - 1) // 2
        squares = neura.stack([(x[:, max(c - reach, 0) : c + reach + 1] ** 2).sum(1) for c in range(5)], 1)
        want = x / (2 + 0.3 / size * squares) ** 0.6
        assert neura.allclose(nn.CrossMapLRN2d(size, 0.3, 0.6, 2)(x), want)
    with pytest.raises(ValueError, match=r"CrossMapLRN2d: expected an input \[N, C, H, W\], got \[5, 2, 2\]"):
        nn.CrossMapLRN2d(3)(x[0])
