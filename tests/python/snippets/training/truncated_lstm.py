"""An LSTM cell by hand over a long series, cut into pieces with detached states."""

import math

from fixed import settle


def run(torch):
    nn = torch.nn
    series = torch.sin(torch.arange(61, dtype=torch.float64) * 2 * math.pi / 15).unsqueeze(1)
    hidden = 6
    cell, head = (
        settle(torch, nn.Linear(1 + hidden, 4 * hidden)).double(),
        settle(torch, nn.Linear(hidden, 1), seed=3).double(),
    )
    optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.02)
    losses = []
    for epoch in range(3):
        h = c = torch.zeros(hidden, dtype=torch.float64)
        for start in range(0, 60, 15):
            h, c = h.detach(), c.detach()
            loss = 0.0
            for t in range(start, start + 15):
                i, f, g, o = cell(torch.cat([series[t], h])).chunk(4)
                c = f.sigmoid() * c + i.sigmoid() * g.tanh()
                h = o.sigmoid() * c.tanh()
                loss = loss + (head(h) - series[t + 1]).pow(2).mean() / 15
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return {"losses": torch.tensor(losses, dtype=torch.float64), "state": h, "cell": c}
