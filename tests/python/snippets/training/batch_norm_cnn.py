"""Convolution, batch norm and global pooling: training, then evaluation with running statistics."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    net = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Conv2d(4, 6, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(6),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(6, 3),
    )
    settle(torch, net).double()
    x, y = noise(torch, 9, 2, 6, 6).double(), torch.arange(9) % 3
    x[y == 1] *= 2
    x[y == 2] += 0.5
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    losses = []
    net.train()
    for _ in range(8):
        optimizer.zero_grad()
        loss = nn.CrossEntropyLoss()(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    net.eval()
    with torch.no_grad():
        out = net(x[:2])
    return {"losses": torch.stack(losses), "out": out, "mean": net[1].running_mean, "var": net[4].running_var}
