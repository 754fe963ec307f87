"""Rates that shrink from the head down, built by a loop over layers; shown as a table."""


def run(torch):
    nn = torch.nn
    layers = nn.ModuleList(nn.Linear(2, 2, bias=i % 2 == 0) for i in range(4))
    base, factor = 0.1, 0.5
    groups = [
        {"params": list(layer.parameters()), "lr": base * factor ** (len(layers) - 1 - i), "name": f"layer{i}"}
        for i, layer in enumerate(layers)
    ]
    optimizer = torch.optim.AdamW(groups)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    scheduler.step()
    return {
        "table": "\n".join(f"{g['name']:8s}{len(g['params']):3d}{g['lr']:10.5f}" for g in optimizer.param_groups),
        "initial": [g["initial_lr"] for g in optimizer.param_groups],
        "betas": optimizer.param_groups[0]["betas"],
        "default": optimizer.defaults["weight_decay"],
    }
