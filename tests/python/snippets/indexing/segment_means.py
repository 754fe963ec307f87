"""Means of groups, as in graph networks and for prototypes of classes."""

from fixed import noise


def run(torch):
    x = noise(torch, 9, 4)
    group = torch.tensor([0, 2, 1, 0, 2, 2, 1, 0, 2])
    count = torch.bincount(group, minlength=3)
    sums = torch.zeros(3, 4).index_add_(0, group, x)
    mean = sums / count[:, None]
    centred = x - mean[group]
    member = torch.nn.functional.one_hot(group, 3).float()
    by_product = (member.T @ x) / member.sum(0)[:, None]
    edges = torch.tensor([[0, 1, 2, 3, 8], [1, 2, 0, 4, 5]])
    received = torch.zeros_like(x).index_add(0, edges[1], x[edges[0]])
    return {
        "mean": mean,
        "centred": centred,
        "same": torch.allclose(mean, by_product, atol=1e-6),
        "received": received,
        "assigned": (x[:, None] - mean).square().sum(-1).argmin(1),
    }
