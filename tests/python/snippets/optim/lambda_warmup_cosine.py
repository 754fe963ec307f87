"""Warm-up and cosine decay as a function of the step, the usual recipe of transformers."""

import math


def run(torch):
    warmup, total = 5, 20

    def rate(step):
        if step < warmup:
            return (step + 1) / warmup
        progress = (step - warmup) / (total - warmup)
        return 0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * progress))

    w = torch.nn.Parameter(torch.ones(2, dtype=torch.float64))
    optimizer = torch.optim.SGD([w], lr=0.2, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=rate)
    rates, values = [], []
    for _ in range(total):
        optimizer.zero_grad()
        (w * torch.tensor([1.0, 2.0])).pow(2).sum().backward()
        optimizer.step()
        rates.append(scheduler.get_last_lr()[0])
        values.append(w.detach().clone())
        scheduler.step()
    return {
        "rates": torch.tensor(rates, dtype=torch.float64),
        "values": torch.stack(values),
        "epoch": scheduler.last_epoch,
    }
