"""StepLR, MultiStepLR, ExponentialLR, ConstantLR: the rates epoch by epoch."""


def run(torch):
    S = torch.optim.lr_scheduler
    makers = {
        "step": lambda o: S.StepLR(o, step_size=3, gamma=0.5),
        "multi": lambda o: S.MultiStepLR(o, milestones=[2, 5], gamma=0.1),
        "exponential": lambda o: S.ExponentialLR(o, gamma=0.9),
        "constant": lambda o: S.ConstantLR(o, factor=0.3, total_iters=4),
        "linear": lambda o: S.LinearLR(o, start_factor=0.25, total_iters=4),
        "cosine": lambda o: S.CosineAnnealingLR(o, T_max=8, eta_min=0.01),
        "polynomial": lambda o: S.PolynomialLR(o, total_iters=6, power=2.0),
    }
    results = {}
    for name, make in makers.items():
        p = torch.nn.Parameter(torch.zeros(1))
        optimizer = torch.optim.SGD(
            [{"params": [p]}, {"params": [torch.nn.Parameter(torch.zeros(1))], "lr": 0.2}], lr=1.0
        )
        scheduler = make(optimizer)
        rates = []
        for _ in range(9):
            rates.append([g["lr"] for g in optimizer.param_groups])
            optimizer.step()
            scheduler.step()
        assert scheduler.get_last_lr() == [g["lr"] for g in optimizer.param_groups]
        results[name] = torch.tensor(rates, dtype=torch.float64)
    return results
