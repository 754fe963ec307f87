"""Segments reduced by scatter_reduce, index_add, index_reduce and bincount."""

from fixed import noise


def run(torch):
    x, at = noise(torch, 7), torch.tensor([0, 2, 1, 0, 2, 2, 3])
    out = {"sum": torch.zeros(5).index_add(0, at, x), "count": torch.bincount(at, minlength=5)}
    for how in ("sum", "prod", "mean", "amax", "amin"):
        out[how + "_scatter"] = torch.ones(5).scatter_reduce(0, at, x, how, include_self=how == "prod")
    m = noise(torch, 3, 4)
    out["rows"] = m.index_reduce(0, torch.tensor([1, 1, 0]), noise(torch, 3, 4, seed=2), "amax")
    out["gather"] = m.gather(1, torch.tensor([[0], [3], [1]]))
    out["scatter"] = torch.zeros(3, 4).scatter_(1, torch.tensor([[1, 2], [0, 3], [2, 2]]), 1.0, reduce="add")
    w = x.clone().requires_grad_()
    torch.zeros(5).scatter_reduce(0, at, w, "amax", include_self=False).sum().backward()
    out["gradient"] = w.grad
    out["put"] = torch.zeros(6).put_(torch.tensor([1, 4, 1]), torch.tensor([1.0, 2.0, 3.0]), accumulate=True)
    return out
