"""R squared, correlation, errors and quantiles of residuals."""

from fixed import noise


def run(torch):
    target = noise(torch, 50).double().cumsum(0)
    guess = target + 0.3 * noise(torch, 50, seed=1).double()
    residual = target - guess
    r2 = 1 - residual.pow(2).sum() / (target - target.mean()).pow(2).sum()
    stacked = torch.stack([target, guess])
    return {
        "r2": r2,
        "rmse": residual.pow(2).mean().sqrt(),
        "mae": residual.abs().mean(),
        "median": residual.abs().median(),
        "correlation": torch.corrcoef(stacked),
        "covariance": torch.cov(stacked),
        "quantiles": residual.quantile(torch.tensor([0.05, 0.5, 0.95], dtype=torch.float64)),
        "histogram": torch.histc(residual, bins=5, min=-0.3, max=0.3),
        "largest": residual.abs().max(dim=0).indices,
    }
