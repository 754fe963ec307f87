"""Schedules of learning rates as users write them: decay, cycles, warm-up, plateaus, resuming, averages."""

from program_helpers import problem, raised


def rates(torch, make, n=8, lr=1.0, groups=1):
    o = torch.optim.SGD(
        [{"params": [torch.nn.Parameter(torch.ones(1))], "lr": lr * (i + 1)} for i in range(groups)], lr=lr
    )
    s = make(o)
    made = [s.get_last_lr()]
    for _ in range(n):
        o.step()
        s.step()
        made.append(s.get_last_lr())
    return made


def decaying(torch):
    S = torch.optim.lr_scheduler
    return {
        "step": rates(torch, lambda o: S.StepLR(o, 3, gamma=0.1), groups=2),
        "multi": rates(torch, lambda o: S.MultiStepLR(o, [2, 5], gamma=0.5)),
        "exponential": rates(torch, lambda o: S.ExponentialLR(o, 0.9)),
        "polynomial": rates(torch, lambda o: S.PolynomialLR(o, total_iters=5, power=2.0)),
        "lambda": rates(torch, lambda o: S.LambdaLR(o, [lambda e: 0.95**e, lambda e: 1 / (e + 1)]), groups=2),
        "multiplied": rates(torch, lambda o: S.MultiplicativeLR(o, lambda e: 0.5 if e % 2 else 1.0)),
        "constant": rates(torch, lambda o: S.ConstantLR(o, factor=0.5, total_iters=3)),
        "linear": rates(torch, lambda o: S.LinearLR(o, start_factor=0.25, total_iters=4)),
    }


def cyclic(torch):
    S = torch.optim.lr_scheduler
    return {
        "cosine": rates(torch, lambda o: S.CosineAnnealingLR(o, T_max=5, eta_min=0.1)),
        "restarts": rates(torch, lambda o: S.CosineAnnealingWarmRestarts(o, T_0=3, T_mult=2), n=10),
        "triangle": rates(torch, lambda o: S.CyclicLR(o, 0.1, 1.0, step_size_up=2, cycle_momentum=False)),
        "range": rates(
            torch, lambda o: S.CyclicLR(o, 0.1, 1.0, step_size_up=2, mode="exp_range", gamma=0.9, cycle_momentum=False)
        ),
        "one": rates(torch, lambda o: S.OneCycleLR(o, max_lr=1.0, total_steps=9, cycle_momentum=False)),
        "linear": rates(
            torch,
            lambda o: S.OneCycleLR(
                o, 1.0, epochs=3, steps_per_epoch=3, anneal_strategy="linear", three_phase=True, cycle_momentum=False
            ),
        ),
    }


def warm_up_then_cosine(torch):
    S = torch.optim.lr_scheduler

    def both(o):
        return S.SequentialLR(o, [S.LinearLR(o, 0.1, total_iters=3), S.CosineAnnealingLR(o, 5)], milestones=[3])

    def chain(o):
        return S.ChainedScheduler([S.ConstantLR(o, 0.1, total_iters=2), S.ExponentialLR(o, 0.9)], optimizer=o)

    return rates(torch, both), rates(torch, chain)


def plateau(torch):
    o = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    s = torch.optim.lr_scheduler.ReduceLROnPlateau(o, factor=0.1, patience=1, cooldown=1, min_lr=1e-3)
    made = []
    for metric in [1.0, 0.9, 0.95, 0.93, 0.92, 0.91, 0.5, 0.6, 0.6, 0.6, 0.6]:
        s.step(metric)
        made.append(o.param_groups[0]["lr"])
    best = torch.optim.lr_scheduler.ReduceLROnPlateau(o, mode="max", threshold=0.1, threshold_mode="abs", patience=0)
    for metric in (0.5, torch.tensor(0.55)):
        best.step(metric)
    return (
        made,
        s.num_bad_epochs,
        s.best,
        best.best,
        o.param_groups[0]["lr"],
        raised(lambda: torch.optim.lr_scheduler.ReduceLROnPlateau(o, factor=1.5), ValueError),
    )


def momentum_cycles(torch):
    o = torch.optim.Adam([torch.nn.Parameter(torch.ones(1))], lr=1.0, betas=(0.9, 0.99))
    s = torch.optim.lr_scheduler.OneCycleLR(o, max_lr=0.5, total_steps=6)
    made = []
    for _ in range(5):
        made.append((o.param_groups[0]["lr"], *o.param_groups[0]["betas"]))
        o.step()
        s.step()
    return made, sorted(k for k in o.param_groups[0] if "lr" in k or "momentum" in k)


def schedule_resumed(torch):
    def new():
        o = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        return o, torch.optim.lr_scheduler.CosineAnnealingLR(o, 10)

    o, s = new()
    for _ in range(4):
        o.step()
        s.step()
    o2, s2 = new()
    o2.load_state_dict(o.state_dict())
    s2.load_state_dict(s.state_dict())
    o.step(), o2.step(), s.step(), s2.step()
    return s.get_last_lr(), s2.get_last_lr(), s2.last_epoch, o.param_groups[0]["initial_lr"], s.base_lrs


def schedule_errors(torch):
    S = torch.optim.lr_scheduler
    o = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    return {
        "optimizer": raised(lambda: S.StepLR(1, 1), TypeError),
        "resume": raised(lambda: S.StepLR(o, 1, last_epoch=3), KeyError),
        "lambdas": raised(lambda: S.LambdaLR(o, [lambda e: 1, lambda e: 1]), ValueError),
        "milestones": raised(lambda: S.SequentialLR(o, [S.StepLR(o, 1)], milestones=[1, 2]), ValueError),
        "steps": raised(lambda: S.OneCycleLR(o, 1.0), ValueError),
        "factor": raised(lambda: S.ConstantLR(o, factor=2.0), ValueError),
        "momentum": raised(
            lambda: S.CyclicLR(torch.optim.Adagrad([torch.nn.Parameter(torch.ones(1))]), 0.1, 1.0), ValueError
        ),
        "T_0": raised(lambda: S.CosineAnnealingWarmRestarts(o, T_0=0), ValueError),
    }


def rate_as_a_tensor(torch):
    p, loss = problem(torch)
    o = torch.optim.SGD([p], lr=torch.tensor(0.1))
    s = torch.optim.lr_scheduler.ExponentialLR(o, 0.5)
    loss().backward()
    o.step()
    s.step()
    return p.detach(), o.param_groups[0]["lr"], isinstance(o.param_groups[0]["lr"], torch.Tensor)


def averaged_models(torch):
    net = torch.nn.Linear(2, 1, bias=False)
    torch.nn.init.zeros_(net.weight)
    mean = torch.optim.swa_utils.AveragedModel(net)
    moving = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.5))
    for k in (1.0, 2.0, 6.0):
        torch.nn.init.constant_(net.weight, k)
        mean.update_parameters(net)
        moving.update_parameters(net)
    return (
        mean.module.weight.detach(),
        moving.module.weight.detach(),
        mean.n_averaged,
        mean(torch.ones(1, 2)).detach(),
        list(mean.state_dict()),
    )


def averaged_rates(torch):
    o = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    s = torch.optim.swa_utils.SWALR(o, swa_lr=0.05, anneal_epochs=4, anneal_strategy="linear")
    made = []
    for _ in range(6):
        o.step()
        s.step()
        made.append(s.get_last_lr()[0])
    return made
