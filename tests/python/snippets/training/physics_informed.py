"""A net solves y'' = -y with y(0) = 0, y'(0) = 1: derivatives by the input inside the loss."""

from fixed import settle


def run(torch):
    nn = torch.nn
    net = settle(
        torch, nn.Sequential(nn.Linear(1, 10), nn.Tanh(), nn.Linear(10, 10), nn.Tanh(), nn.Linear(10, 1))
    ).double()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    t = torch.linspace(0, 2, 12, dtype=torch.float64).unsqueeze(1).requires_grad_()
    losses = []
    for _ in range(25):
        y = net(t)
        (dy,) = torch.autograd.grad(y, t, torch.ones_like(y), create_graph=True)
        (ddy,) = torch.autograd.grad(dy, t, torch.ones_like(dy), create_graph=True)
        loss = (ddy + y).pow(2).mean() + y[0].pow(2).sum() + (dy[0] - 1).pow(2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return {"losses": torch.stack(losses)[::4], "y": net(t)[::3], "curvature": ddy[::3]}
