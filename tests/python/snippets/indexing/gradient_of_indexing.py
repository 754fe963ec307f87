"""Gradients go back through slices, masks, integer arrays and assignment."""

from fixed import noise


def run(torch):
    x = noise(torch, 4, 5).double().requires_grad_()
    weights = torch.arange(1.0, 6.0, dtype=torch.float64)
    y = x[1:, ::2].pow(2).sum() + (x[[0, 0, 3]] * weights).sum() + x[x > 0].exp().sum()
    y.backward()
    first = x.grad.clone()
    x.grad.zero_()
    z = x * 2
    z[0] = 0
    z[:, 1] = z[:, 2] * 3
    z[2, [0, 4]] *= weights[:2]
    z.sum().backward()
    return {"first": first, "assigned": x.grad, "z": z}
