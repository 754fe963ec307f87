"""The valley of Rosenbrock with Adam and a decaying rate."""


def run(torch):
    point = torch.tensor([-1.0, 1.5], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([point], lr=0.2)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.98)
    values = []
    for step in range(60):
        optimizer.zero_grad()
        value = (1 - point[0]) ** 2 + 100 * (point[1] - point[0] ** 2) ** 2
        value.backward()
        optimizer.step()
        scheduler.step()
        if step % 10 == 9:
            values.append(value.item())
    return {"values": torch.tensor(values, dtype=torch.float64), "point": point, "lr": scheduler.get_last_lr()[0]}
