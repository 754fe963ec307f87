"""Linear algebra as users write it: solves, decompositions by what they promise, norms, ties and errors."""

from program_helpers import raised, values


def spd(torch, n=4):
    a = values(torch, n, n)
    return a @ a.mT + n * torch.eye(n, dtype=a.dtype)


def normal_equations(torch):
    x, y = values(torch, 8, 3), values(torch, 8)
    direct = torch.linalg.solve(x.T @ x, x.T @ y)
    fitted = torch.linalg.lstsq(x, y.unsqueeze(1))
    return direct, fitted.solution.squeeze(1), torch.linalg.pinv(x) @ y, int(torch.linalg.matrix_rank(x))


def cholesky_ways(torch):
    a = spd(torch)
    lower = torch.linalg.cholesky(a)
    b = values(torch, 4, 2)
    return {
        "lower": lower,
        "upper": torch.linalg.cholesky(a, upper=True),
        "solve": torch.cholesky_solve(b, lower),
        "inverse": torch.cholesky_inverse(lower),
        "logdet": 2 * lower.diagonal().log().sum(),
        "info": torch.linalg.cholesky_ex(-a).info > 0,
    }


def cholesky_jitter_loop(torch):
    a = torch.ones(3, 3, dtype=torch.float64)
    jitter, tries = 1e-6, 0
    while True:
        try:
            lower = torch.linalg.cholesky(a - 1e-3 * torch.eye(3) + jitter * torch.eye(3))
            return tries, jitter, (lower @ lower.mT).trace()
        except torch.linalg.LinAlgError:
            jitter *= 10
            tries += 1


def qr_modes(torch):
    a = values(torch, 5, 3)
    q, r = torch.linalg.qr(a)
    full = torch.linalg.qr(a, mode="complete")
    only = torch.linalg.qr(a, mode="r")
    return (q @ r - a).abs().max() < 1e-12, q.shape, full.Q.shape, full.R.shape, only.Q.numel(), r.abs().diagonal()


def svd_low_rank(torch):
    a = values(torch, 6, 4)
    u, s, vh = torch.linalg.svd(a, full_matrices=False)
    k = 2
    best = (u[:, :k] * s[:k]) @ vh[:k]
    error = torch.linalg.norm(a - best)
    return s, best, torch.allclose(error, s[k:].pow(2).sum().sqrt()), torch.linalg.svdvals(a), torch.svd(a).S


def eigen_symmetric(torch):
    a = spd(torch)
    w, v = torch.linalg.eigh(a)
    root = v @ torch.diag(w.sqrt()) @ v.T
    whitened = v @ torch.diag(w.rsqrt()) @ v.T
    return w, root, whitened, torch.linalg.eigvalsh(a, UPLO="U"), (v.T @ v - torch.eye(4)).abs().max() < 1e-12


def eigen_rotation(torch):
    t = torch.tensor(0.3, dtype=torch.float64)
    turn = torch.stack([torch.stack([t.cos(), -t.sin()]), torch.stack([t.sin(), t.cos()])])
    w = torch.linalg.eigvals(turn)
    return w.dtype.is_complex, w.abs(), w.angle().sort().values, torch.linalg.eig(turn).eigenvectors.shape


def power_iteration(torch):
    a = spd(torch)
    v = torch.ones(4, dtype=a.dtype)
    for _ in range(400):
        v = torch.mv(a, v)
        v = v / v.norm()
    return v @ a @ v, torch.linalg.eigvalsh(a).max()


def norms_of_vectors(torch):
    x = torch.tensor([3.0, -4.0, 0.0])
    orders = [0, 1, 2, 3, float("inf"), -float("inf")]
    return [torch.linalg.vector_norm(x, ord=o) for o in orders] + [x.norm(), x.norm(p=1), torch.norm(x, "fro")]


def norms_of_matrices(torch):
    a = values(torch, 3, 4)
    orders = ["fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf")]
    return [torch.linalg.matrix_norm(a, ord=o) for o in orders], torch.linalg.norm(a, dim=1), torch.linalg.cond(a)


def norms_keepdim(torch):
    a = values(torch, 2, 3, 4)
    return (
        torch.linalg.norm(a, dim=(1, 2), keepdim=True),
        a.norm(dim=-1, keepdim=True),
        a.norm(p=1, dim=(0, 2)),
        a.norm(2),
    )


def determinants(torch):
    a = values(torch, 2, 3, 3)
    sign, log = torch.linalg.slogdet(a)
    return torch.linalg.det(a), sign, log, torch.logdet(spd(torch)), torch.det(torch.zeros(0, 0)), torch.slogdet(-a[0])


def triangular(torch):
    a, b = spd(torch).tril(), values(torch, 4, 2)
    return (
        torch.linalg.solve_triangular(a, b, upper=False),
        torch.linalg.solve_triangular(a.T, b, upper=True),
        torch.linalg.solve_triangular(a, b.T, upper=False, left=False),
        torch.triangular_solve(b, a, upper=False).solution,
        torch.linalg.solve_triangular(a, b, upper=False, unitriangular=True),
    )


def factored_once(torch):
    a = values(torch, 4, 4)
    lu, pivots = torch.linalg.lu_factor(a)
    p, lower, upper = torch.lu_unpack(lu, pivots)
    solved = torch.linalg.lu_solve(lu, pivots, values(torch, 4, 1))
    return (
        pivots,
        (p @ lower @ upper - a).abs().max() < 1e-12,
        solved,
        torch.linalg.lu(a).L,
        pivots.dtype == torch.int32,
    )


def powers(torch):
    a = values(torch, 3, 3)
    return (
        [torch.linalg.matrix_power(a, n) for n in (0, 1, 5, -2)],
        torch.matrix_exp(a),
        torch.linalg.multi_dot([a, a, a[0]]),
    )


def singular_is_an_error(torch):
    zero = torch.zeros(2, 2)
    return {
        "inverse": raised(lambda: torch.linalg.inv(zero), torch.linalg.LinAlgError),
        "solve": raised(lambda: torch.linalg.solve(zero, zero), torch.linalg.LinAlgError),
        "cholesky": raised(lambda: torch.linalg.cholesky(zero - 1), torch.linalg.LinAlgError),
        "old": raised(lambda: torch.inverse(zero), torch.linalg.LinAlgError),
        "ex": torch.linalg.inv_ex(zero).info,
        "not square": raised(lambda: torch.linalg.inv(torch.ones(2, 3))),
        "integers": raised(lambda: torch.linalg.inv(torch.eye(2, dtype=torch.int64))),
        "sizes": raised(lambda: torch.ones(2, 3) @ torch.ones(2, 3)),
        "dtypes": raised(lambda: torch.ones(2, 2) @ torch.ones(2, 2, dtype=torch.float64)),
    }


def products_of_all_shapes(torch):
    v, m, b = values(torch, 3), values(torch, 3, 3), values(torch, 2, 3, 3)
    return {
        "vv": v @ v,
        "mv": m @ v,
        "vm": v @ m,
        "bv": b @ v,
        "vb": v @ b,
        "mb": torch.matmul(m, b).shape,
        "broadcast": (values(torch, 5, 1, 2, 3) @ values(torch, 4, 3, 2)).shape,
        "empty": torch.ones(2, 0) @ torch.ones(0, 3),
        "vdot": torch.linalg.vecdot(m, v),
        "ints": torch.arange(4).view(2, 2) @ torch.arange(4).view(2, 2),
    }


def accumulate_products(torch):
    c, a, b = values(torch, 2, 2), values(torch, 2, 3), values(torch, 3, 2)
    made = torch.addmm(c, a, b, beta=0.5, alpha=2.0)
    return (
        made,
        torch.addmv(c[0], a, b[:, 0]),
        torch.baddbmm(c, a.expand(2, 2, 3), b.expand(2, 3, 2), beta=0),
        torch.addbmm(c, a.expand(4, 2, 3), b.expand(4, 3, 2)),
        torch.addr(c, c[0], c[1], alpha=3),
        c.clone().addmm_(a, b),
        torch.addmm(torch.full((2, 2), float("nan"), dtype=a.dtype), a, b, beta=0),
    )


def outer_and_kron(torch):
    a, b = torch.tensor([1, 2]), torch.tensor([3.0, 4.0, 5.0])
    cross = torch.linalg.cross(torch.tensor([[1.0, 0, 0]]), torch.tensor([[0.0, 1, 0], [0, 0, 1]]))
    return torch.outer(a, b), torch.kron(a, a), torch.kron(torch.eye(2), b.view(1, 3)), cross, torch.tensordot(b, b, 1)


def gradient_of_logdet(torch):
    a = spd(torch).requires_grad_()
    torch.logdet(a).backward()
    return torch.allclose(a.grad, torch.linalg.inv(a.detach()).T), a.grad


def gradient_through_eigh(torch):
    a = spd(torch).requires_grad_()
    w = torch.linalg.eigvalsh(a)
    (first,) = torch.autograd.grad((w**2).sum(), a)
    return first, 2 * a.detach(), torch.autograd.gradcheck(lambda m: torch.linalg.eigvalsh(m + m.T), (a,))


def covariance(torch):
    x = values(torch, 3, 6)
    weights = torch.tensor([1, 2, 1, 0, 1, 1])
    return torch.cov(x), torch.cov(x, fweights=weights), torch.corrcoef(x), torch.cov(x[0]), torch.cov(x, correction=0)


def mahalanobis(torch):
    x = values(torch, 6, 2)
    mean, inverse = x.mean(0), torch.linalg.inv(torch.cov(x.T))
    d = x - mean
    return torch.einsum("ni,ij,nj->n", d, inverse, d).sqrt(), torch.sqrt((d @ inverse * d).sum(1))


def householder(torch):
    a = values(torch, 4, 3)
    h, tau = torch.geqrf(a)
    q = torch.linalg.householder_product(h, tau)
    return (q @ h[:3].triu() - a).abs().max() < 1e-12, torch.linalg.vander(torch.tensor([1.0, 2, 3]), N=4), tau.shape


def tensor_equations(torch):
    a = (torch.eye(6, dtype=torch.float64) * 2 + values(torch, 6, 6) * 0.1).reshape(2, 3, 6)
    b = values(torch, 2, 3)
    return (
        torch.linalg.tensorsolve(a, b),
        torch.linalg.tensorinv(a.reshape(6, 2, 3), ind=1).shape,
        torch.linalg.matrix_norm(a),
    )
