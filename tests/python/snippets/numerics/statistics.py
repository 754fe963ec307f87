"""Moments, medians, modes, covariance, correlation, histograms, weighted means."""

from fixed import noise


def run(torch):
    x = noise(torch, 5, 8)
    k = torch.tensor([3, 1, 2, 3, 3, 1, 0, 2])
    counts, edges = torch.histogram(x.flatten(), bins=4, range=(-1.0, 1.0))
    var, mean = torch.var_mean(x, dim=1, correction=0)
    values, index = x.kthvalue(3, dim=1)
    return {
        "cov": torch.cov(x),
        "corr": torch.corrcoef(x),
        "weighted": torch.cov(x, fweights=k),
        "median": x.median(1).values,
        "mode": torch.mode(k).values,
        "counts": counts,
        "edges": edges,
        "var": var,
        "mean": mean,
        "kth": values,
        "index": index,
        "skew": ((x - mean[:, None]) ** 3).mean(1) / var**1.5,
        "quantile": x.quantile(0.3, dim=0, interpolation="midpoint"),
        "nan": torch.nanmean(torch.tensor([1.0, float("nan"), 3.0])),
        "minmax": torch.stack(torch.aminmax(x, dim=1)),
        "average": (x * k).sum(1) / k.sum(),
    }
