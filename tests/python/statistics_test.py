"""Measures, distances, windows, masks: against NumPy, at the edges, and the sentences of their errors."""

import neura
import numpy as np
import pytest


def close(a, b):
    return np.allclose(a.numpy() if isinstance(a, neura.Tensor) else a, b, rtol=1e-6, atol=1e-7, equal_nan=True)


def test_covariance_as_numpy():
    x = np.random.default_rng(1).normal(size=(3, 10))
    f, w = np.arange(10) % 3 + 1, np.linspace(0.1, 2, 10)
    t = neura.from_numpy(x)
    assert close(t.cov(), np.cov(x)) and close(t.corrcoef(), np.corrcoef(x))
    weights = {"fweights": neura.from_numpy(f), "aweights": neura.from_numpy(w)}
    assert close(neura.cov(t, correction=0, **weights), np.cov(x, ddof=0, fweights=f, aweights=w))
    assert close(neura.cov(t, **weights), np.cov(x, fweights=f, aweights=w))
    with pytest.raises(ValueError, match="not negative"):
        neura.cov(t, fweights=-weights["fweights"])
    with pytest.raises(RuntimeError, match="two dimensions"):
        neura.zeros(2, 2, 2).cov()


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, float("inf")])
@pytest.mark.parametrize("rows", [4, 40])
def test_distances(p, rows):
    r = np.random.default_rng(2)
    a, b = r.normal(size=(2, rows, 3)), r.normal(size=(2, 30, 3))
    want = np.linalg.norm((a[:, :, None] - b[:, None]).reshape(-1, 3), p, axis=1).reshape(2, rows, 30)
    assert close(neura.cdist(neura.from_numpy(a), neura.from_numpy(b), p), want)
    x = neura.from_numpy(a[0]).requires_grad_()
    i, j = np.triu_indices(rows, 1)
    assert close(neura.pdist(x, p).detach(), [np.linalg.norm(v, p) for v in a[0][i] - a[0][j]])
    neura.cdist(x, x, p).sum().backward()  # distances of 0
    assert np.isfinite(x.grad.numpy()).all()


def test_gradient_as_numpy():
    x = np.random.default_rng(3).normal(size=(5, 6))
    at = np.cumsum(np.random.default_rng(4).uniform(0.5, 2, 6))
    t = neura.from_numpy(x)
    for order in (1, 2):
        for got, want in zip(neura.gradient(t, spacing=0.5, edge_order=order), np.gradient(x, 0.5, edge_order=order)):
            assert close(got, want)
        (got,) = neura.gradient(t, spacing=(neura.from_numpy(at),), dim=1, edge_order=order)
        assert close(got, np.gradient(x, at, axis=1, edge_order=order))
    with pytest.raises(RuntimeError, match="samples"):
        neura.gradient(neura.ones(2), edge_order=2)


def test_frexp_of_every_kind_of_number():
    x = np.array([0.0, -0.0, 1, -1, 0.5, 3e38, 1e-45, -1e-40, np.inf, -np.inf, np.nan, 8, 7.9999995], np.float32)
    got, want = neura.frexp(neura.from_numpy(x)), np.frexp(x)
    finite = np.isfinite(x)
    assert close(got.mantissa, want[0]) and np.array_equal(got.exponent.numpy()[finite], want[1][finite])


def test_isin():
    x = neura.arange(12).view(3, 4)
    for tests in (neura.tensor([1, 5, 50]), neura.arange(100) * 2, neura.zeros(0, dtype=neura.int64)):
        want = np.isin(x.numpy(), tests.numpy())
        assert np.array_equal(neura.isin(x, tests).numpy(), want)
        assert np.array_equal(neura.isin(x, tests, invert=True).numpy(), ~want)
    assert neura.isin(x, 3).sum() == 1 and neura.isin(3, x).item()
    nan = neura.tensor(float("nan"))
    assert not neura.isin(nan, neura.stack([nan] * 20)).item()
    with pytest.raises(TypeError):
        neura.isin(1, 2)


def test_cross_complex_polar_vander():
    a, b = np.random.default_rng(5).normal(size=(2, 4, 3))
    x, y = neura.from_numpy(a), neura.from_numpy(b)
    assert close(neura.linalg.cross(x, y), np.cross(a, b)) and close(neura.linalg.vecdot(x, y), (a * b).sum(1))
    assert close(neura.complex(x, y), a + 1j * b) and close(neura.polar(x, y), a * np.exp(1j * b))
    assert close(neura.vander(x[0]), np.vander(a[0])) and close(neura.linalg.vander(x[0]), np.vander(a[0])[:, ::-1])
    with pytest.raises(RuntimeError, match="size 3"):
        neura.cross(neura.ones(2, 4), neura.ones(2, 4))
    assert neura.broadcast_shapes((2, 1), (3,), ()) == (2, 3)
    with pytest.raises(RuntimeError):
        neura.broadcast_shapes((2,), (3,))


def test_resize():
    x = neura.arange(6)
    assert x.resize_(2, 2) is x and x.tolist() == [[0, 1], [2, 3]]
    assert x.resize_(6).tolist() == list(range(6)) and x.resize_((2, 4))[0].tolist() == [0, 1, 2, 3]
    y = neura.arange(6)
    z = y.detach()
    for call in (lambda: y.resize_(100), lambda: y.view(2, 3).resize_(2)):
        with pytest.raises(RuntimeError):
            call()
    with pytest.raises(RuntimeError, match="gradient"):
        neura.ones(2, requires_grad=True).resize_(3)
    assert z.tolist() == list(range(6))


def test_windows():
    for name, numpy in (
        ("hann", "hanning"),
        ("hamming", "hamming"),
        ("blackman", "blackman"),
        ("bartlett", "bartlett"),
    ):
        for n in (0, 1, 2, 7):
            own = getattr(neura.signal.windows, name)(n, dtype=neura.float64)
            assert close(own, getattr(np, numpy)(n)), (name, n)
            periodic = getattr(neura, name + "_window")(n, dtype=neura.float64)
            assert close(periodic, getattr(np, numpy)(n + 1)[:n] if n > 1 else np.ones(n))
    assert close(neura.kaiser_window(7, False, 5.0, dtype=neura.float64), np.kaiser(7, 5))
    with pytest.raises(ValueError, match="not negative"):
        neura.signal.windows.hann(-1)
    with pytest.raises(ValueError, match="float32 or float64"):
        neura.signal.windows.hann(3, dtype=neura.float16)


def test_masked():
    a = np.random.default_rng(6).normal(size=(4, 5))
    keep = a > -0.5
    x, m = neura.from_numpy(a), neura.from_numpy(keep)
    inside = np.ma.array(a, mask=~keep)
    for name in ("sum", "mean", "prod"):
        assert close(getattr(neura.masked, name)(x, 1, mask=m), getattr(inside, name)(1))
    assert close(neura.masked.amax(x, 0, mask=m), inside.max(0)) and close(
        neura.masked.var(x, mask=m), inside.var(ddof=1)
    )
    assert close(neura.masked.softmax(x, 1, mask=m).sum(1), 1)
    for wrong in (x, neura.ones(3, dtype=neura.bool), neura.ones(2, 4, 5, dtype=neura.bool)):
        with pytest.raises((TypeError, ValueError)):
            neura.masked.sum(x, mask=wrong)


def test_one_number_of_bins_for_every_dimension():
    x = neura.tensor([[0.0, 1.0], [1.0, 0.5], [2.0, 2.0]])
    for bins in (2, np.int64(2)):
        h = neura.histogramdd(x, bins=bins, range=[0.0, 2.0, 0.0, 2.0])
        want = neura.histogramdd(x, bins=[2, 2], range=[0.0, 2.0, 0.0, 2.0])
        assert h.hist.equal(want.hist) and len(h.bin_edges) == 2 and h.bin_edges[1].tolist() == [0, 1, 2]
    assert neura.histogramdd(neura.rand(4, 5, 3), 2).hist.shape == (2, 2, 2)
    for wrong in (True, 2.0, "a", None):
        with pytest.raises(TypeError):
            neura.histogramdd(x, wrong)
    with pytest.raises(RuntimeError):
        neura.histogramdd(x, 0)


def test_blocks_of_no_matrix():
    assert neura.block_diag().shape == (1, 0)
