"""Second and third derivatives by create_graph, and a Hessian row by row."""


def run(torch):
    x = torch.tensor([0.3, -0.7, 1.1], dtype=torch.float64, requires_grad=True)
    y = (x**4 + x[0] * x[1] * x[2]).sum() + (x[0] * x[1]).sin()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    rows = [torch.autograd.grad(g[i], x, retain_graph=True)[0] for i in range(3)]
    (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    (third,) = torch.autograd.grad(h.sum(), x)
    return {"g": g, "hessian": torch.stack(rows), "h": h, "third": third}
