"""Dropout and batch norm behave differently in training; running statistics."""

from fixed import noise


def run(torch):
    nn = torch.nn
    net = nn.Sequential(nn.BatchNorm1d(3, momentum=0.2), nn.Dropout(0.5))
    x = noise(torch, 16, 3) * 2 + 1
    net.train()
    torch.manual_seed(1)
    y = net(x)
    dropped = (y == 0).float().mean().item()
    for _ in range(3):
        net(x)
    norm = net[0]
    net.eval()
    evaluated = net(x)
    return {
        "some_dropped": 0.2 < dropped < 0.8,
        "scaled": torch.allclose(
            y[y != 0], (2 * nn.functional.batch_norm(x, None, None, training=True))[y != 0], atol=1e-5
        ),
        "mean": norm.running_mean,
        "var": norm.running_var,
        "batches": norm.num_batches_tracked,
        "evaluated": evaluated,
        "modes": [net.training, net[1].training],
        "kept": torch.equal(nn.functional.dropout(x, 0.9, training=False), x),
        "all_dropped": nn.functional.dropout(x, 1.0).abs().sum(),
    }
