"""Power iteration, conjugate gradients, Gram-Schmidt and a random walk's limit."""

from fixed import noise


def run(torch):
    torch.set_default_dtype(torch.float64)
    A = noise(torch, 6, 6).double()
    S = A @ A.T + 0.5 * torch.eye(6)
    v = torch.ones(6)
    for _ in range(300):
        v = S @ v
        v /= v.norm()
    b, x = torch.arange(6.0), torch.zeros(6)
    r = b - S @ x
    p = r.clone()
    for _ in range(6):
        Sp = S @ p
        a = r.dot(r) / p.dot(Sp)
        x += a * p
        new = r - a * Sp
        p = new + new.dot(new) / r.dot(r) * p
        r = new
    basis = []
    for column in A.T:
        for q in basis:
            column = column - q.dot(column) * q
        basis.append(column / column.norm())
    Q = torch.stack(basis, 1)
    P = torch.softmax(A, 1)
    return {
        "eigenvalue": v @ S @ v,
        "x": x,
        "orthogonal": (Q.T @ Q - torch.eye(6)).abs().max() < 1e-9,
        "limit": torch.linalg.matrix_power(P, 60)[0],
    }
