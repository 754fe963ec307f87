"""Warm-up then decay with SequentialLR; two schedulers at once by calling both."""


def run(torch):
    S = torch.optim.lr_scheduler
    w = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([w], lr=1.0)
    warm = S.LinearLR(optimizer, start_factor=0.1, total_iters=3)
    decay = S.ExponentialLR(optimizer, gamma=0.8)
    scheduler = S.SequentialLR(optimizer, schedulers=[warm, decay], milestones=[3])
    sequential = []
    for _ in range(8):
        sequential.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    other = torch.optim.SGD([w], lr=1.0)
    first, second = S.StepLR(other, 2, 0.5), S.ExponentialLR(other, 0.9)
    both = []
    for _ in range(6):
        both.append(other.param_groups[0]["lr"])
        other.step()
        first.step()
        second.step()
    return {
        "sequential": torch.tensor(sequential, dtype=torch.float64),
        "both": torch.tensor(both, dtype=torch.float64),
    }
