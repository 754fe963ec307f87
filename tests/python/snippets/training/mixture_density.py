"""A net that gives a mixture of Gaussians: log-sum-exp of components as its loss."""

import math

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    x = torch.linspace(-1, 1, 24, dtype=torch.float64).unsqueeze(1)
    y = torch.where(torch.arange(24).unsqueeze(1) % 2 == 0, x, -x) + 0.05 * noise(torch, 24, 1).double()
    net = settle(torch, nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 9))).double()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    losses = []
    for _ in range(25):
        weight, mean, log_scale = net(x).chunk(3, dim=1)
        log_scale = log_scale.clamp(-4, 2)
        density = -0.5 * ((y - mean) / log_scale.exp()) ** 2 - log_scale - 0.5 * math.log(2 * math.pi)
        loss = -torch.logsumexp(weight.log_softmax(1) + density, dim=1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return {"losses": torch.stack(losses)[::4], "weights": weight.softmax(1)[::8], "means": mean[::8]}
