"""Losses of regression and their gradients, side by side, with every reduction."""

from fixed import noise


def run(torch):
    nn = torch.nn
    y = noise(torch, 6, seed=2).double()
    results = {}
    for loss in (
        nn.MSELoss(),
        nn.L1Loss(),
        nn.SmoothL1Loss(beta=0.5),
        nn.HuberLoss(delta=0.7),
        nn.MSELoss(reduction="sum"),
    ):
        x = (noise(torch, 6).double() * 2).requires_grad_()
        value = loss(x, y)
        value.backward()
        results[f"{type(loss).__name__} {loss.reduction}"] = [value, x.grad]
    results["none"] = nn.functional.huber_loss(x.detach(), y, reduction="none")
    results["log_cosh"] = torch.log(torch.cosh(x.detach() - y)).mean()
    return results
