"""Linear algebra against NumPy's, and against what defines it."""

import numpy as np
import pytest

import neura
from neura import linalg

DTYPES = [neura.float32, neura.float64, neura.complex64, neura.complex128]
TOLERANCE = {neura.float32: 2e-3, neura.complex64: 2e-3, neura.float64: 1e-9, neura.complex128: 1e-9}
SHAPES = [(4, 4), (2, 5, 5), (2, 3, 6, 6)]


def regular(shape, dtype):
    return neura.randn(*shape, dtype=dtype) + 4 * neura.eye(shape[-1], dtype=dtype)


def close(got, want):
    want = np.asarray(want)
    tolerance = max(TOLERANCE.get(got.dtype, 0), 2e-3 if want.dtype in (np.float32, np.complex64) else 1e-9)
    return tuple(got.shape) == want.shape and np.allclose(got.detach().numpy(), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_answers_are_numpys(shape, dtype):
    a = regular(shape, dtype)
    n = a.numpy()
    b = neura.randn(*shape[:-1], 2, dtype=dtype)
    assert close(linalg.inv(a), np.linalg.inv(n)) and close(a.inverse(), np.linalg.inv(n))
    assert close(linalg.det(a), np.linalg.det(n)) and close(a.det(), np.linalg.det(n))
    assert all(close(x, y) for x, y in zip(linalg.slogdet(a), np.linalg.slogdet(n)))
    assert close(linalg.solve(a, b), np.linalg.solve(n, b.numpy()))
    assert close(linalg.svdvals(a), np.linalg.svd(n, compute_uv=False))
    assert close(linalg.pinv(a), np.linalg.pinv(n)) and close(a.pinverse(), np.linalg.pinv(n))
    assert close(linalg.matrix_rank(a), np.linalg.matrix_rank(n))
    for p in (None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"):
        assert close(linalg.cond(a, p), np.linalg.cond(n, p))
    s = a @ a.mH
    assert close(linalg.cholesky(s), np.linalg.cholesky(s.numpy()))
    assert close(linalg.eigvalsh(s), np.linalg.eigvalsh(s.numpy()))
    assert close(abs(linalg.qr(a).R), np.abs(np.linalg.qr(n)[1]))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_factors_give_the_matrix_back(dtype):
    a = neura.randn(2, 5, 3, dtype=dtype)
    u, s, v = neura.svd(a)
    assert close((u * s.unsqueeze(-2)) @ v.mH, a.numpy())
    q, r = neura.qr(a)
    assert close(q @ r, a.numpy())
    reflectors, tau = neura.geqrf(a)
    assert close(neura.orgqr(reflectors, tau), q.numpy())
    assert close(neura.ormqr(reflectors, tau, a, transpose=True)[:, :3], r.numpy())
    square = regular((2, 4, 4), dtype)
    p, low, up = linalg.lu(square)
    assert close(p @ low @ up, square.numpy())
    packed, pivots = neura.lu(square)
    assert all(close(x, y.numpy()) for x, y in zip(neura.lu_unpack(packed, pivots), (p, low, up)))
    b = neura.randn(2, 4, 2, dtype=dtype)
    assert close(square @ neura.lu_solve(b, packed, pivots), b.numpy())
    x, copied = neura.triangular_solve(b, square, upper=False)
    assert close(square.tril() @ x, b.numpy()) and copied.equal(square)
    w, vectors = linalg.eig(square)
    assert close(square.to(w.dtype) @ vectors, (vectors * w.unsqueeze(-2)).numpy())
    symmetric = square + square.mT
    ld, order = linalg.ldl_factor(symmetric)
    assert close(symmetric @ linalg.ldl_solve(ld, order, b), b.numpy())


def test_least_squares_are_numpys():
    a, b = neura.randn(6, 3, dtype=neura.float64), neura.randn(6, 2, dtype=neura.float64)
    want, residuals, rank, values = np.linalg.lstsq(a.numpy(), b.numpy())
    for driver in ("gels", "gelsy", "gelsd", "gelss"):
        got = linalg.lstsq(a, b, driver=driver)
        assert close(got.solution, want)
        if driver != "gelsy":
            assert close(got.residuals, residuals)
        if driver != "gels":
            assert got.rank == rank
        if driver in ("gelsd", "gelss"):
            assert close(got.singular_values, values)


def test_tensors_as_matrices():
    a = neura.randn(4, 6, 8, 3, dtype=neura.float64)
    assert close(linalg.tensorinv(a), np.linalg.tensorinv(a.numpy()))
    b = neura.randn(4, 6, dtype=neura.float64)
    assert close(linalg.tensorsolve(a, b), np.linalg.tensorsolve(a.numpy(), b.numpy()))
    assert close(linalg.diagonal(a), np.diagonal(a.numpy(), axis1=-2, axis2=-1))


def test_tolerances_are_numbers_or_tensors():
    a = neura.diag(neura.tensor([1.0, 0.1, 0.01]))
    assert linalg.matrix_rank(a, rtol=0.05) == 2 and linalg.matrix_rank(a, 0.5) == 1
    assert linalg.matrix_rank(a, atol=neura.tensor([0.5, 0.05])).tolist() == [1, 2]
    assert close(linalg.pinv(a, rtol=0.05), np.diag([1, 10, 0]).astype(np.float32))
    assert close(linalg.pinv(a, 0.5, True), np.diag([1, 0, 0]).astype(np.float32))


def test_errors_and_info():
    singular = neura.zeros(2, 3, 3)
    assert linalg.LinAlgError is neura.errors.LinAlgError and issubclass(linalg.LinAlgError, RuntimeError)
    for f in (linalg.inv, linalg.cholesky, linalg.lu_factor, lambda x: linalg.solve(x, x)):
        with pytest.raises(linalg.LinAlgError, match="matrix 0 of the batch"):
            f(singular)
    assert linalg.inv_ex(singular).info.tolist() == [1, 1]
    assert linalg.cholesky_ex(singular).info.tolist() == [1, 1]
    with pytest.raises(linalg.LinAlgError):
        linalg.solve_ex(singular, singular, check_errors=True)
    with pytest.raises(ValueError, match="expected driver to be None"):
        linalg.svd(singular, driver="gesvd")


def test_results_go_where_out_says():
    a = regular((3, 3), neura.float64)
    out = neura.empty(0, dtype=neura.float64)
    assert linalg.inv(a, out=out) is out and close(out, np.linalg.inv(a.numpy()))
    q, r = neura.empty(0, dtype=neura.float64), neura.empty(0, dtype=neura.float64)
    got = linalg.qr(a, out=(q, r))
    assert got.Q is q and close(q @ r, a.numpy())


@pytest.mark.parametrize(
    "f",
    [
        linalg.inv,
        linalg.det,
        lambda x: linalg.slogdet(x).logabsdet,
        lambda x: linalg.qr(x),
        lambda x: linalg.eigh(x + x.mT)[0],
        lambda x: linalg.svd(x)[1],
        lambda x: linalg.eigvals(x).abs(),
        linalg.pinv,
        lambda x: linalg.matrix_power(x, -2),
        lambda x: linalg.norm(x, "nuc"),
    ],
)
def test_derivatives(f):
    x = regular((3, 3), neura.float64).requires_grad_()
    assert neura.autograd.gradcheck(f, (x,)) and neura.autograd.gradgradcheck(f, (x,))
