"""Bags of an embedding, windows at fractional steps, segments, functions of matrices, attention as a function."""

import math

import neura
import neura.nn.functional as F
import numpy as np
import pytest
from neura import nn


def close(a, b):
    return np.allclose(a.detach().numpy(), b.detach().numpy() if isinstance(b, neura.Tensor) else b)


def test_bags():
    table = neura.randn(6, 3)
    numbers, offsets = neura.tensor([1, 5, 5, 0]), neura.tensor([0, 1, 1])
    sums = F.embedding_bag(numbers, table, offsets, mode="sum")
    assert close(sums, neura.stack([table[1], neura.zeros(3), table[5] * 2 + table[0]]))
    bag = nn.EmbeddingBag.from_pretrained(table, mode="sum", padding_idx=5)
    assert not bag.weight.requires_grad and close(bag(numbers, offsets)[2], table[0])
    assert nn.EmbeddingBag.from_pretrained(table, freeze=False).weight.requires_grad
    assert close(bag(numbers.reshape(2, 2), per_sample_weights=neura.tensor([[2.0, 1], [1, 3]]))[0], table[1] * 2)
    mine = nn.EmbeddingBag(6, 3, padding_idx=-2)
    assert mine.padding_idx == 4 and mine.weight[4].tolist() == [0, 0, 0]
    with pytest.raises(IndexError):
        bag(neura.tensor([[6]]))
    with pytest.raises(NotImplementedError):
        F.embedding_bag(numbers, table, offsets, sparse=True, scale_grad_by_freq=True)
    with pytest.raises(ValueError):
        bag(numbers)


def test_fractional_pooling():
    x = neura.arange(49.0).reshape(1, 1, 7, 7)
    half = neura.full((1, 1, 2), 0.5)
    y, places = F.fractional_max_pool2d(x, 2, output_size=3, return_indices=True, _random_samples=half)
    assert y[0, 0].tolist() == [[8, 10, 13], [22, 24, 27], [43, 45, 48]] and places.tolist() == y.long().tolist()
    assert neura.equal(F.fractional_max_pool2d(x, 2, 3, _random_samples=half), y)
    layer = nn.FractionalMaxPool2d(2, output_ratio=0.5, _random_samples=half)
    assert layer(x).shape == (1, 1, 3, 3) and layer.output_ratio == (0.5, 0.5) and layer.output_size is None
    assert list(layer.state_dict()) == ["_random_samples"]
    assert nn.FractionalMaxPool3d(2, (2, 3, 2))(neura.rand(2, 5, 6, 4)).shape == (2, 2, 3, 2)
    with pytest.raises(ValueError):
        nn.FractionalMaxPool2d(2)


def test_segments():
    x = neura.tensor([1.0, 2, 3, 4], requires_grad=True)
    y = neura.segment_reduce(x, "mean", lengths=neura.tensor([1, 3]))
    y.sum().backward()
    assert y.tolist() == [1, 3] and close(x.grad, [1, 1 / 3, 1 / 3, 1 / 3])
    assert neura.segment_reduce(x, "max", offsets=neura.tensor([0, 0, 4]), initial=-1).tolist() == [-1, 4]
    with pytest.raises(NotImplementedError):
        neura.segment_reduce(x, "sum", indices=neura.tensor([0, 0, 1, 1]))


def test_matrices():
    a = neura.randn(2, 3, 3, dtype=neura.float64)
    n = a.numpy()
    for order in (1, -1, 2, -2, math.inf, -math.inf, "fro", "nuc"):
        assert close(neura.linalg.matrix_norm(a, order), np.linalg.norm(n, order, axis=(-2, -1)))
        assert close(neura.linalg.norm(a, order, (1, 0)), np.linalg.norm(n, order, axis=(1, 0)))
        assert close(neura.linalg.norm(a[0], order), np.linalg.norm(n[0], order))
    assert close(neura.linalg.norm(a), np.linalg.norm(n.ravel()))
    for order in ("fro", 3):
        with pytest.raises(neura.errors.ShapeError, match="norm: expected a tensor of one or two dimensions"):
            neura.linalg.norm(neura.ones(2, 2, 2), order)
    assert close(neura.linalg.norm(a, 3, 1, True), np.linalg.norm(n, 3, axis=1, keepdims=True))
    assert all(close(neura.linalg.matrix_power(a, p), np.linalg.matrix_power(n, p)) for p in (5, -2))
    assert close(a.matrix_power(0), np.eye(3))
    assert close(neura.matrix_exp(a) @ neura.linalg.matrix_exp(-a), np.eye(3))
    out = neura.empty(0)
    assert neura.linalg.matrix_norm(a.float(), 1, out=out) is out and out.shape == (2,)
    with pytest.raises(ValueError):
        neura.linalg.norm(a, 1)


def test_attention_as_a_function():
    layer = nn.MultiheadAttention(8, 2)
    q, k = neura.randn(3, 2, 8), neura.randn(4, 2, 8)
    want, weights = layer(q, k, k)
    held = (
        layer.in_proj_weight,
        layer.in_proj_bias,
        None,
        None,
        False,
        0.0,
        layer.out_proj.weight,
        layer.out_proj.bias,
    )
    got, also = F.multi_head_attention_forward(q, k, k, 8, 2, *held)
    assert neura.equal(got, want) and neura.equal(also, weights)
    got.sum().backward()
    assert layer.in_proj_weight.grad is not None and layer.out_proj.bias.grad.tolist() == [6.0] * 8
    assert F.multi_head_attention_forward(q, k, k, 8, 2, *held, need_weights=False)[1] is None
    with pytest.raises(NotImplementedError):
        F.multi_head_attention_forward(q, k, k, 8, 2, *held, static_k=k)
    with pytest.raises(ValueError):
        F.multi_head_attention_forward(q, k, k, 8, 3, *held)


def test_what_code_generators_call():
    x = neura.arange(6.0).reshape(3, 2)
    cat = neura._chunk_cat([x, x + 10], 0, 2)
    assert cat.tolist() == [[0, 1, 2, 3, 10, 11, 12, 13], [4, 5, 0, 0, 14, 15, 0, 0]]
    mask, at = neura.tensor([True, False, True]), [neura.tensor([0, 9, 2])]
    rows = neura._unsafe_masked_index(x, mask[:, None], at, 7)
    assert rows.tolist() == [[0, 1], [7, 7], [4, 5]]
    added = neura._unsafe_masked_index_put_accumulate(x, mask[:, None], at, neura.ones(3, 2))
    assert added.tolist() == [[1, 2], [2, 3], [5, 6]]
    with pytest.raises(ValueError):
        neura._chunk_cat([], 0, 1)


def test_bytes_are_resized_as_pytorch_does():
    x = (neura.arange(30) * 37 % 256).to(neura.uint8).reshape(1, 1, 5, 6)
    smooth = F.interpolate(x, size=(3, 4), mode="bilinear")
    assert smooth.dtype is neura.uint8
    assert smooth[0, 0].tolist() == [[62, 54, 109, 165], [197, 61, 52, 108], [140, 196, 123, 51]]
    sharp = F.interpolate(x, size=(2, 7), mode="bicubic", align_corners=True)
    assert sharp[0, 0].tolist() == [[0, 28, 60, 93, 125, 157, 185], [120, 148, 180, 237, 164, 0, 49]]
    with pytest.raises(TypeError):
        F.interpolate(x.char(), size=3, mode="bilinear")
