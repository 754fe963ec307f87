"""Clipping by norm and by value between backward and step; the norm that is returned."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    net = settle(torch, nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))).double()
    x = noise(torch, 6, 4).double()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    norms = []
    for i in range(4):
        optimizer.zero_grad()
        (net(x) * 10 ** (i - 1)).pow(2).mean().backward()
        norms.append(nn.utils.clip_grad_norm_(net.parameters(), max_norm=0.5))
        optimizer.step()
    after = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
    optimizer.zero_grad()
    (net(x) * 100).sum().backward()
    nn.utils.clip_grad_value_(net.parameters(), 2.0)
    largest = max(p.grad.abs().max().item() for p in net.parameters())
    infinite = nn.utils.clip_grad_norm_(net.parameters(), 1.0, norm_type=float("inf"))
    return {
        "norms": torch.stack(norms),
        "after": after,
        "largest": largest,
        "infinite": infinite,
        "weight": net[2].weight,
    }
