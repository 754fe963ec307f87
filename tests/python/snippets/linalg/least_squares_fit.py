"""Polynomials fitted by lstsq, by QR, by normal equations and by the pseudo-inverse."""

from fixed import noise


def run(torch):
    x = torch.linspace(-1, 1, 9, dtype=torch.float64)
    y = 1 - 2 * x + 0.5 * x**3 + noise(torch, 9).double() * 0.01
    A = torch.vander(x, 4, increasing=True)
    q, r = torch.linalg.qr(A)
    solution = torch.linalg.lstsq(A, y[:, None])
    return {
        "lstsq": solution.solution[:, 0],
        "rank": solution.rank,
        "qr": torch.linalg.solve_triangular(r, q.T @ y[:, None], upper=True)[:, 0],
        "normal": torch.linalg.solve(A.T @ A, A.T @ y),
        "pinv": torch.linalg.pinv(A) @ y,
        "cholesky": torch.cholesky_solve((A.T @ y)[:, None], torch.linalg.cholesky(A.T @ A))[:, 0],
        "condition": torch.linalg.cond(A),
    }
