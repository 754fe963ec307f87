"""Low-rank approximations, and extreme eigenvalues of large matrices: svd_lowrank, pca_lowrank, lobpcg."""

from . import _neura
from ._neura import errors


def _check_matrices(op, name, t):
    if t.dim() < 2:
        raise errors.ShapeError(f"{op}: expected {name} to be matrices [..., m, n], got {list(t.shape)}")
    if not (t.is_floating_point() or t.is_complex()):
        raise errors.DTypeError(
            f"{op}: expected {name} to be floating or complex, got {t.dtype}; convert it with .to()"
        )


def _basis(a, q, niter):
    """Orthonormal columns [..., m, q] that span what matters most of a: q random vectors, made better niter times."""
    draw = _neura.randn(*a.shape[:-2], a.shape[-1], q, dtype=a.dtype, device=a.device)
    columns = _neura.linalg.qr(a @ draw)[0]
    for _ in range(niter):
        columns = _neura.linalg.qr(a.mH @ columns)[0]
        columns = _neura.linalg.qr(a @ columns)[0]
    return columns


def svd_lowrank(A, q=6, niter=2, M=None):
    """U [..., m, q], S [..., q] and V [..., n, q] with A - M close to U diag(S) V^H, by random projections.

    A [..., m, n], floating or complex; q: the number of singular values, slightly more than are wanted, and at most
    min(m, n); niter: iterations, more are more accurate; M: broadcasts with A. Halko, Martinsson and
    Tropp, arXiv 0909.4061. ShapeError, DTypeError; ValueError for q or niter below 0.

    >>> A = neura.outer(neura.arange(1.0, 5.0), neura.ones(3))
    >>> neura.svd_lowrank(A, q=2)[1].round(decimals=3)
    tensor([9.4870, 0.0000])
    """
    _check_matrices("svd_lowrank", "A", A)
    if M is not None:
        A = A - M
    q = min(6 if q is None else q, *A.shape[-2:])
    if q < 0:
        raise errors.ValueError(f"svd_lowrank: expected q to be 0 or more, got {q}")
    if niter < 0:
        raise errors.ValueError(f"svd_lowrank: expected niter to be 0 or more, got {niter}")
    wide = A.shape[-2] < A.shape[-1]
    a = A.mH if wide else A
    columns = _basis(a, q, niter)
    u, s, vh = _neura.linalg.svd(columns.mH @ a, full_matrices=False)
    u, v = columns @ u, vh.mH
    return (v, s, u) if wide else (u, s, v)


def pca_lowrank(A, q=None, center=True, niter=2):
    """Principal components of the rows of A [..., m, n]: U, S and V as svd_lowrank gives them, of A less its mean row.

    A @ V[..., :k] are the coordinates on the first k. q: how many; by default 6, or min(m, n) where that is less.
    center: subtract the mean. ValueError for q above min(m, n) or niter below 0.

    >>> A = neura.tensor([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]])
    >>> neura.pca_lowrank(A)[2][:, 0].abs()
    tensor([0.4472, 0.8944])
    """
    _check_matrices("pca_lowrank", "A", A)
    most = min(A.shape[-2:])
    q = min(6, most) if q is None else q
    if not 0 <= q <= most:
        raise errors.ValueError(f"pca_lowrank: expected q from 0 to {most}, got {q}")
    if niter < 0:
        raise errors.ValueError(f"pca_lowrank: expected niter to be 0 or more, got {niter}")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


def _orthonormal(basis, b):
    """A basis of the span of these columns that is orthonormal by b; columns that add nothing are left out."""
    scale = (
        (basis * (basis if b is None else b @ basis))
        .sum(-2)
        .clamp(min=1e-300 if basis.dtype is _neura.float64 else 1e-30)
    )
    basis = basis / scale.sqrt()
    gram = basis.mT @ (basis if b is None else b @ basis)
    values, vectors = _neura.linalg.eigh(gram)
    eps = 1e-14 if basis.dtype is _neura.float64 else 1e-6
    kept = values > values[-1] * eps * basis.shape[-1]
    return basis @ (vectors[:, kept] / values[kept].sqrt())


def _rayleigh(a, basis, k, largest):
    """The k outermost pairs within the span of an orthonormal basis."""
    values, vectors = _neura.linalg.eigh(basis.mT @ (a @ basis))
    order = slice(-k, None) if largest else slice(0, k)
    values, vectors = values[order], vectors[:, order]
    return (values.flip(0), (basis @ vectors).flip(1)) if largest else (values, basis @ vectors)


def _lobpcg(a, b, x, k, preconditioner, niter, tol, largest, tracker):
    n = x.shape[-1]
    x = _orthonormal(x, b)
    if x.shape[-1] < n:
        raise errors.LinAlgError(f"lobpcg: expected X to have {n} independent columns, got {x.shape[-1]}")
    values, x = _rayleigh(a, x, n, largest)
    scale_a, scale_b = a.abs().sum(-1).max(), 1.0 if b is None else b.abs().sum(-1).max()
    p, step = None, 0
    while True:
        bx = x if b is None else b @ x
        residual = a @ x - bx * values
        errors_ = residual.norm(dim=-2) / (x.norm(dim=-2) * (scale_a + values.abs() * scale_b))
        if tracker is not None:
            tracker(step, values, x, errors_)
        if bool((errors_[:k] < tol).all()) or step == niter:
            return values[:k], x[:, :k]
        w = residual if preconditioner is None else preconditioner @ residual
        basis = _orthonormal(_neura.cat([x, w] if p is None else [x, w, p], -1), b)
        values, new = _rayleigh(a, basis, n, largest)
        p = new - x @ (bx.mT @ new)  # the way from the old vectors
        x, step = new, step + 1


def lobpcg(
    A,
    k=None,
    B=None,
    X=None,
    n=None,
    iK=None,
    niter=None,
    tol=None,
    largest=None,
    method=None,
    tracker=None,
    ortho_iparams=None,
    ortho_fparams=None,
    ortho_bparams=None,
):
    """The k largest (or smallest) eigenvalues [..., k] and eigenvectors [..., m, k] of A x = value B x.

    A [..., m, m] real and symmetric, B the same and positive definite, by default the identity. k: by default the
    columns of X [..., m, n], where the search begins, or 1; n: how many vectors it moves, at least k. iK: a matrix
    close to the inverse of A. niter: at most so many iterations, by default 1000; tol: of the residuals, relative to
    the norms of A and B, by default the root of the dtype's eps. method, 'basic' or 'ortho', and ortho_*params are
    PyTorch's choice of an algorithm: there is one here, with a basis made orthonormal each step. tracker: called as
    tracker(step, values, vectors, errors), of one matrix at a time. Knyazev, SIAM J. Sci. Comput. 23 (2001).
    ValueError for m < 3 n; NotImplementedError where a gradient is needed (eigh has one).

    >>> A = neura.diag(neura.arange(1.0, 13.0))
    >>> neura.lobpcg(A, k=2)[0].round()
    tensor([12., 11.])
    """
    for name, t in (("A", A), ("B", B), ("X", X), ("iK", iK)):
        if t is not None:
            _check_matrices("lobpcg", name, t)
    if A.shape[-1] != A.shape[-2] or A.is_complex():
        raise errors.ShapeError(f"lobpcg: expected A to be real and square, got {A.dtype} {list(A.shape)}")
    if _neura.is_grad_enabled() and any(t is not None and t.requires_grad for t in (A, B)):
        raise errors.NotImplementedError(
            "lobpcg: expected no gradient to be needed, got A or B that requires one; use eigh"
        )
    if method not in (None, "basic", "ortho"):
        raise errors.ValueError(f"lobpcg: expected method to be 'basic' or 'ortho', got {method!r}")
    m, batch = A.shape[-1], A.shape[:-2]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if X is None else X.shape[-1]) if n is None else n
    if not 0 < k <= n or m < 3 * n:
        raise errors.ValueError(f"lobpcg: expected 0 < k <= n and 3 n <= {m}, the rows of A; got k = {k}, n = {n}")
    largest = True if largest is None else largest
    tol = (1.49e-8 if A.dtype is _neura.float64 else 3.45e-4) if tol is None else tol
    X = _neura.randn(*batch, m, n, dtype=A.dtype, device=A.device) if X is None else X[..., :n]

    def flat(t):
        return None if t is None else t.detach().expand(*batch, *t.shape[-2:]).reshape(-1, *t.shape[-2:])

    A, B, X, iK = flat(A), flat(B), flat(X), flat(iK)
    found = [
        _lobpcg(
            a,
            None if B is None else B[i],
            X[i],
            k,
            None if iK is None else iK[i],
            1000 if niter is None else niter,
            tol,
            largest,
            tracker,
        )
        for i, a in enumerate(A)
    ]
    values, vectors = (_neura.stack(parts) for parts in zip(*found))
    return values.reshape(*batch, k), vectors.reshape(*batch, m, k)
