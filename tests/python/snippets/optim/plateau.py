"""ReduceLROnPlateau: patience, threshold, cooldown, a floor; best so far."""


def run(torch):
    w = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.Adam([w], lr=0.1)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, cooldown=1, min_lr=0.02)
    metric = [1.0, 0.8, 0.81, 0.82, 0.83, 0.7, 0.71, 0.72, 0.73, 0.74, 0.75, 0.76, 0.77]
    rates = []
    for value in metric:
        optimizer.step()
        scheduler.step(value)
        rates.append(optimizer.param_groups[0]["lr"])
    return {
        "rates": torch.tensor(rates, dtype=torch.float64),
        "best": scheduler.best,
        "bad": scheduler.num_bad_epochs,
        "last": scheduler.get_last_lr(),
    }
