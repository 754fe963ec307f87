"""OneCycleLR with momentum cycling, step by step."""


def run(torch):
    w = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([w], lr=0.01, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.5, total_steps=12, pct_start=0.3)
    rates, momenta = [], []
    for _ in range(12):
        rates.append(optimizer.param_groups[0]["lr"])
        momenta.append(optimizer.param_groups[0]["momentum"])
        optimizer.step()
        if scheduler.last_epoch < 11:
            scheduler.step()
    return {"rates": torch.tensor(rates, dtype=torch.float64), "momenta": torch.tensor(momenta, dtype=torch.float64)}
