"""A straight line fitted by gradient descent written out with no_grad."""

from fixed import noise


def run(torch):
    x = torch.linspace(-1, 1, 30, dtype=torch.float64)
    y = 3 * x - 0.5 + 0.1 * noise(torch, 30).double()
    slope = torch.zeros((), dtype=torch.float64, requires_grad=True)
    offset = torch.zeros((), dtype=torch.float64, requires_grad=True)
    losses = []
    for _ in range(40):
        loss = (slope * x + offset - y).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            slope -= 0.3 * slope.grad
            offset -= 0.3 * offset.grad
        slope.grad = offset.grad = None
        losses.append(loss.detach())
    return {"losses": torch.stack(losses), "slope": slope, "offset": offset}
