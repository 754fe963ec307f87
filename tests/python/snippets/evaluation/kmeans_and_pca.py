"""k-means by broadcasting, and the main axis by power iteration: evaluation of embeddings."""

from fixed import noise


def run(torch):
    centres = torch.tensor([[2.0, 0.0], [-2.0, 1.0], [0.0, -2.0]], dtype=torch.float64)
    x = centres[torch.arange(30) % 3] + 0.5 * noise(torch, 30, 2).double()
    means = x[:3].clone()
    for _ in range(5):
        nearest = torch.cdist(x, means).argmin(1)
        means = torch.stack([x[nearest == k].mean(0) for k in range(3)])
    centred = x - x.mean(0)
    covariance = centred.T @ centred / (len(x) - 1)
    v = torch.ones(2, dtype=torch.float64)
    for _ in range(50):
        v = covariance @ v
        v = v / v.norm()
    spread = ((x - means[nearest]) ** 2).sum(1)
    return {
        "means": means,
        "sizes": torch.bincount(nearest),
        "covariance": covariance,
        "axis": v,
        "explained": (v @ covariance @ v) / covariance.trace(),
        "inertia": spread.sum(),
    }
