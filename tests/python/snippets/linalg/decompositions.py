"""The factors of every decomposition multiply to the matrix again."""

from fixed import noise


def run(torch):
    torch.set_default_dtype(torch.float64)
    A = noise(torch, 4, 4).double()
    S = A @ A.T + torch.eye(4)
    u, s, vh = torch.linalg.svd(A)
    values, vectors = torch.linalg.eigh(S)
    w, V = torch.linalg.eig(A)
    P, L, U = torch.linalg.lu(A)
    lu, pivots = torch.linalg.lu_factor(A)
    return {
        "svd": (u * s @ vh - A).abs().max() < 1e-9,
        "s": s,
        "eigh": values,
        "eig": ((A.to(w.dtype) @ V) - V * w).abs().max() < 1e-9,
        "sum": w.sum().real - A.trace(),
        "lu": (P @ L @ U - A).abs().max() < 1e-9,
        "pivots": pivots,
        "det": torch.linalg.det(A),
        "inverse": torch.linalg.inv(S),
        "expm": torch.matrix_exp(A),
        "power": torch.linalg.matrix_power(A, -2),
        "rank": torch.linalg.matrix_rank(A[:, :2] @ A[:2]),
        "norms": torch.stack([torch.linalg.norm(A, o) for o in (1, 2, "fro", "nuc")]),
    }
