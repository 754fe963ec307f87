"""Contractions written as einsum, each next to the same without."""

from fixed import noise


def run(torch):
    a, b, q = (
        noise(torch, 2, 3, 4, seed=1).double(),
        noise(torch, 2, 4, 5, seed=2).double(),
        noise(torch, 4, 4).double(),
    )
    batch = torch.einsum("bij,bjk->bik", a, b)
    bilinear = torch.einsum("bid,de,bje->bij", a, q, a)
    outer = torch.einsum("i,j->ij", q[0], q[1])
    trace = torch.einsum("ii", q)
    heads = torch.einsum("b h d, b k d -> b h k", a, a)
    checks = [
        torch.allclose(batch, a @ b),
        torch.allclose(bilinear, a @ q @ a.transpose(1, 2)),
        torch.allclose(outer, torch.outer(q[0], q[1])),
        torch.allclose(trace, q.diagonal().sum()),
        torch.allclose(torch.einsum("...ij->...ji", a), a.mT),
    ]
    return {"batch": batch, "bilinear": bilinear, "outer": outer, "trace": trace, "heads": heads, "checks": checks}
