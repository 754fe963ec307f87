"""Images at points and in other sizes, fingerprints, and names of operations by overload."""

import copy

import neura
import numpy as np
import pytest
from neura.nn import functional as F


def image(*sizes):
    return neura.arange(float(np.prod(sizes)), dtype=neura.float64).reshape(sizes)


def test_the_identity_gives_the_image_back():
    x = image(2, 3, 4, 5)
    theta = neura.eye(2, 3, dtype=neura.float64).expand(2, 2, 3)
    for corners in (False, True):
        grid = F.affine_grid(theta, x.shape, align_corners=corners)
        for mode in ("bilinear", "nearest", "bicubic"):
            y = F.grid_sample(x, grid, mode=mode, padding_mode="border", align_corners=corners)
            assert np.allclose(y.numpy(), x.numpy())
        assert neura.equal(neura.affine_grid_generator(theta, list(x.shape), corners), grid)


def test_a_rotation_can_be_learned():
    x = neura.randn(1, 1, 8, 8, dtype=neura.float64)
    angle = neura.tensor(0.3, dtype=neura.float64, requires_grad=True)

    def turned(a):
        rows = [neura.stack([a.cos(), -a.sin(), 0 * a]), neura.stack([a.sin(), a.cos(), 0 * a])]
        return F.grid_sample(x, F.affine_grid(neura.stack(rows)[None], (1, 1, 8, 8)), align_corners=False)

    assert neura.autograd.gradcheck(turned, (angle,))
    turned(angle).square().sum().backward()
    assert angle.grad.item() != 0


def test_numbers_stand_for_words():
    x, grid = image(1, 2, 3, 4), neura.tensor([[[[-1.0, -1.0], [0.3, 2.0]]]], dtype=neura.float64)
    want = F.grid_sample(x, grid, "nearest", "reflection", True)
    assert neura.equal(neura.grid_sampler_2d(x, grid, 1, 2, True), want)
    assert neura.equal(neura.grid_sampler(x, grid, interpolation_mode=1, padding_mode=2, align_corners=True), want)
    assert neura.equal(neura.ops.aten.grid_sampler_2d(x, grid, 1, 2, True), want)
    space = neura.zeros(1, 1, 1, 1, 3, dtype=neura.float64)
    assert neura.grid_sampler_3d(image(1, 1, 3, 3, 3), space, 0, 0, False).item() == 13
    for wrong in ({"mode": "best"}, {"padding_mode": "wrap"}):
        with pytest.raises(ValueError, match="grid_sample: expected a "):
            F.grid_sample(x, grid, **wrong)
    with pytest.raises(neura.errors.ShapeError):
        neura.grid_sampler_3d(x, grid, 0, 0, False)


def smoothed(line, size):
    """The means under tents as wide as an element of the result."""
    scale, places = len(line) / size, np.arange(len(line)) + 0.5
    weights = np.maximum(0, 1 - np.abs(places - (np.arange(size)[:, None] + 0.5) * scale) / max(scale, 1))
    return weights @ line / weights.sum(1)


def test_antialias_averages_over_what_shrinks():
    x = neura.randn(1, 1, 7, 12, dtype=neura.float64)
    want = np.apply_along_axis(smoothed, 0, np.apply_along_axis(smoothed, 1, x.numpy()[0, 0], 5), 3)
    y = F.interpolate(x, size=(3, 5), mode="bilinear", antialias=True)
    assert np.allclose(y.numpy()[0, 0], want)
    picture = (neura.arange(49) * 37 % 256).to(neura.uint8).reshape(1, 1, 7, 7)
    small = F.interpolate(picture, size=3, mode="bicubic", antialias=True)
    exact = F.interpolate(picture.double(), size=3, mode="bicubic", antialias=True)
    assert small.dtype is neura.uint8 and np.abs(small.double().numpy() - exact.numpy()).max() <= 1


def test_fingerprints():
    x = np.random.default_rng(1).standard_normal((4, 5))
    bits = np.bitwise_xor.reduce(x.view(np.uint64), axis=1)
    assert neura.hash_tensor(neura.from_numpy(x), 1).tolist() == bits.tolist()
    assert neura.from_numpy(x).hash_tensor().item() == np.bitwise_xor.reduce(bits)
    assert neura.hash_tensor(neura.from_numpy(x), dim=(0, -1), keepdim=True).shape == (1, 1)
    assert neura.hash_tensor(neura.tensor([True, True, True])).item() == 1
    with pytest.raises(ValueError, match="hash_tensor: expected mode 0"):
        neura.hash_tensor(neura.ones(2), mode=1)


def test_operations_by_overload():
    operation = neura.ops.aten._safe_softmax
    x = neura.tensor([[0.0, -neura.inf], [-neura.inf, -neura.inf]])
    assert operation.default(x, dim=1).tolist() == operation(x, 1).tolist() == [[1, 0], [0, 0]]
    assert operation.overloads() == ["default"] and "aten._safe_softmax" in repr(operation)
    with pytest.raises(AttributeError, match="neura.ops.aten has no attribute 'add'"):
        neura.ops.aten.add
    with pytest.raises(AttributeError):
        operation.out
    assert copy.copy(neura.ops.aten)._safe_softmax is operation
