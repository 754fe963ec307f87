"""Freezing batch norm and splitting weight decay by asking for base classes."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.ConvTranspose2d(4, 2, 3),
        nn.InstanceNorm2d(2, affine=True),
        nn.Flatten(),
        nn.LazyLinear(3),
        nn.LayerNorm(3),
    )
    norms = (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm)
    settle(torch, net.eval()(torch.zeros(1, 1, 6, 6)) is not None and net)
    for m in net.modules():
        if isinstance(m, nn.modules.batchnorm._BatchNorm):
            m.eval()
            m.requires_grad_(False)
    decay, plain = [], []
    for name, m in net.named_modules():
        for key, p in m.named_parameters(recurse=False):
            if not p.requires_grad:
                continue
            (plain if isinstance(m, norms) or key == "bias" else decay).append(f"{name}.{key}")
    groups = [
        {"params": [dict(net.named_parameters())[n] for n in decay], "weight_decay": 0.1},
        {"params": [dict(net.named_parameters())[n] for n in plain]},
    ]
    optimizer = torch.optim.AdamW(groups, lr=0.1, weight_decay=0.0)
    net(noise(torch, 2, 1, 6, 6)).square().mean().backward()
    optimizer.step()
    sync = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    return {
        "decay": decay,
        "plain": plain,
        "convs": sum(isinstance(m, nn.modules.conv._ConvNd) for m in net),
        "weight": net[0].weight,
        "sync": type(sync[1]).__name__,
        "pair": nn.modules.utils._pair(3),
    }
