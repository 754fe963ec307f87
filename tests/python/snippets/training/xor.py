"""The exclusive or with one hidden layer."""

from fixed import settle


def run(torch):
    nn = torch.nn
    x = torch.tensor([[0.0, 0], [0, 1], [1, 0], [1, 1]], dtype=torch.float64)
    y = torch.tensor([[0.0], [1], [1], [0]], dtype=torch.float64)
    net = settle(torch, nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1), nn.Sigmoid())).double()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    criterion = nn.BCELoss()
    for epoch in range(150):
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
    return {"loss": loss, "out": net(x), "right": bool(((net(x) > 0.5) == (y > 0.5)).all())}
