"""Standardise the columns of a table and clip outliers, as done before training."""

from fixed import noise


def run(torch):
    table = noise(torch, 40, 5) * torch.tensor([1.0, 10.0, 0.1, 100.0, 5.0]) + torch.arange(5.0)
    mean = table.mean(dim=0, keepdim=True)
    std = table.std(dim=0, keepdim=True)
    scaled = ((table - mean) / (std + 1e-8)).clamp(-1.5, 1.5)
    low, high = table.amin(0), table.amax(0)
    unit = (table - low) / (high - low)
    return {
        "mean": mean.squeeze(0),
        "var_population": table.var(0, unbiased=False),
        "scaled": scaled[:6],
        "clipped": int((scaled.abs() == 1.5).sum()),
        "unit_mean": unit.mean(0),
        "back": torch.allclose(unit * (high - low) + low, table, atol=1e-4),
    }
