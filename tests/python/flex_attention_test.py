"""neura.nn.attention.flex_attention and .bias; the numbers are PyTorch 2.11's or scaled_dot_product_attention's."""

import neura
import pytest
from neura.nn.attention.bias import causal_lower_right, causal_upper_left
from neura.nn.attention.flex_attention import and_masks, create_block_mask, create_mask, flex_attention, or_masks
from neura.nn.functional import scaled_dot_product_attention


def values(*sizes, seed=0):
    i = neura.arange(neura.Size(sizes).numel(), dtype=neura.float64) + 17 * seed
    return (i + 0.37 * i * i).sin().reshape(sizes).float()


def causal(b, h, q, k):
    return q >= k


def test_scores_are_changed_by_a_function():
    q, k, v = (values(1, 2, 4, 8, seed=s) for s in range(3))
    got = flex_attention(q, k, v, score_mod=lambda score, b, h, qi, ki: score + (ki - qi) * 2.0 ** -(h + 1))[0, 1, 2]
    stored = [0.6019, 0.2636, 0.1272, 0.4621, 0.7061, -0.2826, -0.1207, -0.1307]
    assert got.tolist() == pytest.approx(stored, abs=5e-5)
    assert neura.allclose(flex_attention(q, k, v), scaled_dot_product_attention(q, k, v), atol=1e-6)


def test_masks_of_blocks():
    q, k, v = (values(2, 4, 5, 8, seed=s).requires_grad_() for s in range(3))
    mask = create_block_mask(causal, None, None, 5, 5, device="cpu", BLOCK_SIZE=2)
    assert mask.to_dense().tolist() == [[[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]] and mask.shape == (1, 1, 5, 5)
    got = flex_attention(q, k[:, :2], v[:, :2], block_mask=mask, scale=0.3, enable_gqa=True)
    want = scaled_dot_product_attention(q, k[:, :2], v[:, :2], is_causal=True, scale=0.3, enable_gqa=True)
    assert neura.allclose(got, want, atol=1e-6)
    for mine, theirs in zip(neura.autograd.grad(got.sum(), (q, k, v)), neura.autograd.grad(want.sum(), (q, k, v))):
        assert neura.allclose(mine, theirs, atol=1e-5)


def test_rows_without_a_score_give_zero():
    x = values(1, 1, 3, 4).requires_grad_()
    nothing = create_block_mask(lambda b, h, q, k: (q > 0) & (k >= 0), 1, 1, 3, 3, device="cpu")
    y, lse = flex_attention(x, x, x, block_mask=nothing, return_lse=True)
    y.sum().backward()
    assert y[0, 0, 0].tolist() == [0] * 4 and lse[0, 0, 0] == -neura.inf and x.grad.isfinite().all()


def test_masks_are_combined():
    window = and_masks(causal, lambda b, h, q, k: q - k < 2)
    assert create_mask(window, 1, 1, 3, 3, device="cpu").int()[0, 0].tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
    either = or_masks(causal, lambda b, h, q, k: k == 2)
    assert create_mask(either, None, None, 3, 3, device="cpu")[0, 0, 0].tolist() == [True, False, True]
    with pytest.raises(RuntimeError, match="and_masks: expected functions"):
        and_masks(3)


def test_what_is_refused():
    x = neura.ones(1, 4, 2, 4)
    with pytest.raises(ValueError, match="expected query .batch, heads, length, size., got .4, 2, 4."):
        flex_attention(x[0], x, x)
    with pytest.raises(ValueError, match="enable_gqa=True"):
        flex_attention(x, x[:, :2], x[:, :2])
    with pytest.raises(ValueError, match="expected a block_mask of .2, 2., got one of .1, 1.; make it anew"):
        flex_attention(x, x, x, block_mask=create_block_mask(causal, 1, 1, 1, 1, device="cpu"))


def test_causal_masks_of_two_lengths():
    assert causal_upper_left(2, 3).int().tolist() == [[1, 0, 0], [1, 1, 0]]
    assert causal_lower_right(2, 3).int().tolist() == [[1, 1, 0], [1, 1, 1]]
    q, k, v = values(1, 1, 2, 4), values(1, 1, 3, 4, seed=1), values(1, 1, 3, 4, seed=2)
    last = scaled_dot_product_attention(q, k, v, attn_mask=causal_lower_right(2, 3))[:, :, 1]
    assert neura.allclose(last, scaled_dot_product_attention(q[:, :, 1:], k, v)[:, :, 0], atol=1e-6)
