"""L1 and L2 penalties, orthogonality, total variation, added to a loss."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    net = settle(torch, nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)))
    x = noise(torch, 5, 4)
    data_loss = net(x).square().mean()
    l1 = sum(p.abs().sum() for p in net.parameters() if p.dim() > 1)
    l2 = sum((p**2).sum() for name, p in net.named_parameters() if "bias" not in name)
    w = net[0].weight
    orthogonal = (w @ w.T - torch.eye(3)).norm() ** 2
    (data_loss + 0.01 * l1 + 0.1 * l2 + 0.5 * orthogonal).backward()
    image = noise(torch, 1, 1, 5, 5)
    variation = image.diff(dim=-1).abs().mean() + image.diff(dim=-2).abs().mean()
    spectral = torch.stack([p.detach().norm() for p in net.parameters()])
    return {"terms": torch.stack([data_loss, l1, l2, orthogonal, variation]), "gradient": w.grad, "norms": spectral}
