"""jacobian, hessian, hvp, vjp, jvp, vhp of autograd.functional."""


def run(torch):
    A = torch.autograd.functional

    def f(x):
        return (x**3).sum() + x[0] * x[1]

    def g(x, y):
        return torch.stack([x[0] * y[1], (x * y).sum(), x[1].sin()])

    x, y, v = torch.tensor([0.5, -1.0]), torch.tensor([2.0, 3.0]), torch.tensor([1.0, 0.5])
    return {
        "jacobian": list(A.jacobian(g, (x, y))),
        "hessian": A.hessian(f, x),
        "hvp": A.hvp(f, x, v)[1],
        "vhp": A.vhp(f, x, v)[1],
        "vjp": list(A.vjp(g, (x, y), torch.tensor([1.0, 2.0, 3.0]))[1]),
        "jvp": A.jvp(g, (x, y), (v, v))[1],
    }
