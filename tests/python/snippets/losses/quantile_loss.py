"""A pinball loss of one's own: fits quantiles of a small sample."""

from fixed import noise


def run(torch):
    data = noise(torch, 40).double()
    levels = torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64)
    guess = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([guess], lr=0.05)
    for _ in range(60):
        optimizer.zero_grad()
        error = data[:, None] - guess
        loss = torch.maximum(levels * error, (levels - 1) * error).mean()
        loss.backward()
        optimizer.step()
    return {
        "guess": guess,
        "loss": loss,
        "quantile": torch.quantile(data, levels),
        "below": (data[:, None] < guess).double().mean(0),
    }
