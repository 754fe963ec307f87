"""An MLP fits a sine with Adam and a cosine schedule; the error on points between."""

import math

from fixed import settle


def run(torch):
    nn = torch.nn
    x = torch.linspace(-math.pi, math.pi, 40, dtype=torch.float64).unsqueeze(1)
    y = torch.sin(x)
    net = settle(
        torch, nn.Sequential(nn.Linear(1, 16), nn.GELU(), nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 1))
    ).double()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=60)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.detach())
    net.eval()
    with torch.no_grad():
        between = (x[1:] + x[:-1]) / 2
        error = (net(between) - between.sin()).abs().max()
    return {"losses": torch.stack(losses)[::10], "error": error, "lr": optimizer.param_groups[0]["lr"]}
