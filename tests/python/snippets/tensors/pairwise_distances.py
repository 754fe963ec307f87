"""Squared distances between two sets of points, by broadcasting and by the product trick; nearest neighbours."""

from fixed import noise


def run(torch):
    a, b = noise(torch, 12, 3, seed=1).double(), noise(torch, 7, 3, seed=2).double()
    direct = ((a[:, None, :] - b[None, :, :]) ** 2).sum(-1)
    product = a.pow(2).sum(1, keepdim=True) - 2 * a @ b.T + b.pow(2).sum(1)
    values, nearest = direct.sqrt().min(dim=1)
    return {
        "direct": direct,
        "difference": bool((direct - product).abs().max() < 1e-12),
        "nearest": nearest,
        "values": values,
        "three_closest": direct.topk(3, dim=1, largest=False).indices,
    }
