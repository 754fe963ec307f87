"""Gradient ascent with maximize=True; two players, one after the other."""


def run(torch):
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    y = torch.tensor(-0.5, dtype=torch.float64, requires_grad=True)
    low = torch.optim.SGD([x], lr=0.1)
    high = torch.optim.SGD([y], lr=0.1, maximize=True)
    path = []
    for _ in range(15):
        for optimizer in (low, high):
            optimizer.zero_grad()
            value = x * y + 0.5 * x**2 - 0.5 * y**2
            value.backward()
            optimizer.step()
        path.append(torch.stack([x, y]).detach())
    return {"path": torch.stack(path), "value": value}
