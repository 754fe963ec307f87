"""The best approximation of a rank, principal components, and random projections of a matrix of low rank."""

from fixed import noise


def run(torch):
    torch.set_default_dtype(torch.float64)
    A = noise(torch, 8, 3).double() @ noise(torch, 3, 6, seed=1).double()
    u, s, v = torch.svd_lowrank(A, q=4)
    scores, values, axes = torch.pca_lowrank(A, q=3)
    largest, _ = torch.lobpcg(A @ A.T + torch.diag(torch.arange(8.0)), k=2, tol=1e-10)
    return {
        "s": s[:3],
        "again": (u * s @ v.T - A).abs().max() < 1e-8,
        "values": values,
        "variance": (values**2).cumsum(0) / (values**2).sum(),
        "largest": largest,
        "best": torch.linalg.matrix_norm(A - s[0] * torch.outer(u[:, 0], v[:, 0])) - s[1:].square().sum().sqrt(),
    }
