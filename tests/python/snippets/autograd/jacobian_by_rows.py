"""A Jacobian with one backward for each output, and a product of Hessian and vector without the Hessian."""

from fixed import noise


def run(torch):
    a = noise(torch, 3, 4).double()
    x = noise(torch, 4, seed=3).double().requires_grad_()
    y = (a @ x).tanh()
    jacobian = torch.stack([torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(3)])
    exact = (1 - y.detach() ** 2)[:, None] * a
    v = torch.tensor([1.0, -1.0, 0.5, 2.0], dtype=torch.float64)
    f = (x**3).sum() * (a @ x).sum()
    (g,) = torch.autograd.grad(f, x, create_graph=True)
    (hv,) = torch.autograd.grad(g @ v, x)
    return {"jacobian": jacobian, "same": torch.allclose(jacobian, exact), "hessian_vector": hv}
