"""Groups with their own rates and decay: biases and norms without decay, a head with a larger rate."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    net = settle(torch, nn.Sequential(nn.Linear(4, 5), nn.LayerNorm(5), nn.ReLU(), nn.Linear(5, 2))).double()
    head = [p for n, p in net.named_parameters() if n.startswith("3.")]
    decay = [p for n, p in net.named_parameters() if p.dim() > 1 and not n.startswith("3.")]
    rest = [p for n, p in net.named_parameters() if p.dim() == 1 and not n.startswith("3.")]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.1}, {"params": rest}, {"params": head, "lr": 0.05}],
        lr=0.01,
        weight_decay=0.0,
    )
    x, y = noise(torch, 6, 4).double(), torch.arange(6) % 2
    for _ in range(5):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    optimizer.param_groups[0]["lr"] *= 0.5
    optimizer.add_param_group({"params": [nn.Parameter(torch.zeros(1))], "lr": 1.0})
    return {
        "rates": [g["lr"] for g in optimizer.param_groups],
        "decays": [g["weight_decay"] for g in optimizer.param_groups],
        "sizes": [len(g["params"]) for g in optimizer.param_groups],
        "keys": sorted(
            k for k in optimizer.param_groups[0] if k in ("params", "lr", "betas", "eps", "weight_decay", "amsgrad")
        ),
        "body": net[0].weight,
        "norm": net[1].weight,
        "head": net[3].bias,
    }
