"""Newton's method in one dimension with derivatives from autograd."""


def run(torch):
    def f(x):
        return x**3 - 2 * x - 5

    x = torch.tensor(2.0, dtype=torch.float64)
    steps = []
    for _ in range(6):
        x = x.detach().requires_grad_(True)
        y = f(x)
        (slope,) = torch.autograd.grad(y, x)
        x = x - y / slope
        steps.append(x.item())
    return {"steps": torch.tensor(steps, dtype=torch.float64), "root": f(x).abs().item() < 1e-12}
