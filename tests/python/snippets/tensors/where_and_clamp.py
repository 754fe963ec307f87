"""Choose elementwise: where with numbers, clamping, filling what is not finite."""


def run(torch):
    x = torch.tensor([-2.0, -0.5, 0.0, 0.5, 2.0, float("nan"), float("inf"), -float("inf")])
    leaky = torch.where(x > 0, x, 0.1 * x)
    filled = torch.nan_to_num(x, nan=0.0, posinf=9.0, neginf=-9.0)
    huber = torch.where(filled.abs() < 1, 0.5 * filled**2, filled.abs() - 0.5)
    return {
        "leaky": leaky,
        "filled": filled,
        "huber": huber,
        "finite": x.isfinite(),
        "nans": torch.isnan(x).sum().item(),
        "limits": filled.clamp(min=-1).clamp_(max=torch.tensor(1.5)),
        "sign": filled.sign(),
        "positions": torch.where(filled > 0)[0],
        "fmax": torch.fmax(x, torch.zeros(())),
        "nansum": x[:6].nansum(),
    }
