"""A pendulum by Runge-Kutta, differentiated with respect to where it starts."""


def run(torch):
    torch.set_default_dtype(torch.float64)
    start = torch.tensor([1.0, 0.0], requires_grad=True)

    def slope(y):
        return torch.stack([y[1], -torch.sin(y[0])])

    y, h, path = start, 0.1, []
    for _ in range(20):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        path.append(y)
    (g,) = torch.autograd.grad(y[0], start)
    energy = torch.stack([p[1] ** 2 / 2 - torch.cos(p[0]) for p in path])
    return {"end": y, "sensitivity": g, "drift": (energy.max() - energy.min()) < 1e-6, "path": torch.stack(path)[::5]}
