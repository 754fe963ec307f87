"""Gaussian and Poisson likelihoods; a variance that is learned."""

from fixed import noise


def run(torch):
    F = torch.nn.functional
    target = noise(torch, 12).double() * 2 + 1
    mean = torch.zeros((), dtype=torch.float64, requires_grad=True)
    log_var = torch.zeros((), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([mean, log_var], lr=0.1)
    losses = []
    for _ in range(25):
        optimizer.zero_grad()
        loss = F.gaussian_nll_loss(mean.expand(12), target, log_var.exp().expand(12))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    counts = torch.tensor([0.0, 1, 3, 2])
    return {
        "losses": torch.tensor(losses, dtype=torch.float64),
        "mean": mean,
        "variance": log_var.exp(),
        "full": F.gaussian_nll_loss(torch.zeros(2), torch.ones(2), torch.full((2,), 0.5), full=True),
        "poisson": F.poisson_nll_loss(torch.tensor([0.1, 0.2, 1.0, 0.5]), counts),
        "poisson_rate": F.poisson_nll_loss(torch.tensor([0.1, 0.2, 1.0, 0.5]), counts, log_input=False, full=True),
    }
