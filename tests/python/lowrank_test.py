"""svd_lowrank, pca_lowrank and lobpcg beside the full decompositions."""

import neura
import pytest
from neura import errors

A = (neura.arange(60.0, dtype=neura.float64) ** 2).sin().reshape(10, 6)
DIAGONAL = neura.diag(neura.arange(1.0, 13.0, dtype=neura.float64))
B = neura.eye(12, dtype=neura.float64) + neura.ones(12, 12, dtype=neura.float64) / 5


def product(u, s, v):
    return u @ (s.unsqueeze(-1) * v.mH)


@pytest.mark.parametrize("a", [A, A.t(), neura.stack([A, 2 * A]), A + 1j * A.flip(0)])
def test_all_singular_values(a):
    u, s, v = neura.svd_lowrank(a, q=6)
    assert neura.allclose(product(u, s, v), a, atol=1e-10) and u.shape[-1] == v.shape[-1] == 6
    assert neura.allclose(s, neura.linalg.svdvals(a))


def test_a_low_rank_is_found():
    a = A[:, :3] @ A[:6, :3].t()
    u, s, v = neura.svd_lowrank(a, q=4, M=neura.zeros(1, 6, dtype=neura.float64))
    assert neura.allclose(product(u, s, v), a, atol=1e-10) and s[3] < 1e-10
    shift = neura.ones(1, 6, dtype=neura.float64)
    assert neura.allclose(product(*neura.svd_lowrank(a, q=4, M=shift)), a - shift, atol=1e-10)


def test_gradients_of_singular_values():
    x = A.clone().requires_grad_()
    (got,) = neura.autograd.grad(neura.svd_lowrank(x, q=6)[1].sum(), x)
    (want,) = neura.autograd.grad(neura.linalg.svdvals(x).sum(), x)
    assert neura.allclose(got, want, atol=1e-8)


def test_principal_components():
    u, s, v = neura.pca_lowrank(A)
    centred = A - A.mean(0)
    assert neura.allclose(s, neura.linalg.svdvals(centred)) and neura.allclose(product(u, s, v), centred, atol=1e-10)
    assert neura.allclose(neura.pca_lowrank(A, center=False)[1], neura.linalg.svdvals(A))
    assert neura.pca_lowrank(A, q=2)[2].shape == (6, 2)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("b", [None, B])
def test_a_few_eigenvalues(largest, b):
    values, vectors = neura.lobpcg(DIAGONAL, k=3, B=b, largest=largest, tol=1e-10)
    root = neura.linalg.cholesky(neura.eye(12, dtype=neura.float64) if b is None else b)
    inverse = neura.linalg.inv(root)
    every = neura.linalg.eigvalsh(inverse @ DIAGONAL @ inverse.mT)
    assert neura.allclose(values, every.flip(0)[:3] if largest else every[:3])
    left = vectors * values if b is None else b @ (vectors * values)
    assert (DIAGONAL @ vectors - left).abs().max() < 1e-6 and vectors.shape == (12, 3)


def test_batches_starts_and_preconditioners():
    values, vectors = neura.lobpcg(neura.stack([DIAGONAL, 2 * DIAGONAL]), k=2)
    assert neura.allclose(values, neura.tensor([[12.0, 11.0], [24.0, 22.0]], dtype=neura.float64))
    assert vectors.shape == (2, 12, 2)
    steps = {}
    for inverse in (None, neura.diag(1 / DIAGONAL.diagonal())):
        seen = []
        x = (neura.arange(24.0, dtype=neura.float64) ** 2).sin().reshape(12, 2)
        value, _ = neura.lobpcg(DIAGONAL, 1, X=x, iK=inverse, largest=False, tracker=lambda *a: seen.append(a[0]))
        assert abs(value.item() - 1) < 1e-10
        steps[inverse is None] = len(seen)
    assert steps[False] < steps[True]
    assert neura.lobpcg(DIAGONAL, 1, niter=0)[0].shape == (1,)


def test_mistakes():
    with pytest.raises(ValueError, match="svd_lowrank: expected q to be 0 or more, got -1"):
        neura.svd_lowrank(A, q=-1)
    with pytest.raises(ValueError, match="niter to be 0 or more"):
        neura.pca_lowrank(A, niter=-1)
    with pytest.raises(errors.ShapeError, match=r"expected A to be matrices"):
        neura.svd_lowrank(neura.ones(3))
    with pytest.raises(errors.DTypeError, match="floating or complex"):
        neura.pca_lowrank(neura.ones(3, 3, dtype=neura.int64))
    with pytest.raises(ValueError, match="3 n <= 12"):
        neura.lobpcg(DIAGONAL, k=5)
    with pytest.raises(ValueError, match="'basic' or 'ortho'"):
        neura.lobpcg(DIAGONAL, method="fast")
    with pytest.raises(errors.NotImplementedError, match="use eigh"):
        neura.lobpcg(DIAGONAL.clone().requires_grad_())
    with pytest.raises(errors.LinAlgError, match="independent columns"):
        neura.lobpcg(DIAGONAL, X=neura.ones(12, 2, dtype=neura.float64))


def test_no_more_singular_values_than_there_are():
    small = neura.tensor([[4.0, 1.0], [2.0, 3.0], [0.0, 1.0]])
    for q in (2, 6, 10, None):
        u, s, v = neura.svd_lowrank(small, q=q)
        assert u.shape == (3, 2) and s.shape == (2,) and v.shape == (2, 2)
        assert neura.allclose(u @ neura.diag(s) @ v.T, small, atol=1e-5)
