"""A scheduler saved and restored in the middle goes on with the same rates."""


def run(torch):
    S = torch.optim.lr_scheduler

    def make():
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.4, momentum=0.9)
        return optimizer, S.CosineAnnealingLR(optimizer, T_max=10)

    optimizer, scheduler = make()
    for _ in range(4):
        optimizer.step()
        scheduler.step()
    saved = scheduler.state_dict(), optimizer.state_dict()
    other_optimizer, other = make()
    other.load_state_dict(saved[0])
    other_optimizer.load_state_dict(saved[1])
    rates = []
    for _ in range(4):
        for o, s in ((optimizer, scheduler), (other_optimizer, other)):
            o.step()
            s.step()
        rates.append([scheduler.get_last_lr()[0], other.get_last_lr()[0]])
    return {
        "rates": torch.tensor(rates, dtype=torch.float64),
        "epoch": saved[0]["last_epoch"],
        "base": saved[0]["base_lrs"],
        "initial": optimizer.param_groups[0]["initial_lr"],
    }
