"""Confidence against accuracy in bins, expected calibration error, a temperature fitted."""

from fixed import noise


def run(torch):
    logits = noise(torch, 60, 4).double() * 5
    target = torch.where(torch.arange(60) % 3 == 0, (logits.argmax(1) + 1) % 4, logits.argmax(1))

    def error(logits):
        confidence, guess = logits.softmax(1).max(1)
        right = (guess == target).double()
        total = torch.zeros((), dtype=torch.float64)
        edges = torch.linspace(0, 1, 6)
        for low, high in zip(edges[:-1], edges[1:]):
            inside = (confidence > low) & (confidence <= high)
            if inside.any():
                total += inside.double().mean() * (right[inside].mean() - confidence[inside].mean()).abs()
        return total

    log_t = torch.zeros((), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([log_t], lr=0.2)
    for _ in range(50):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(logits / log_t.exp(), target).backward()
        optimizer.step()
    return {"before": error(logits), "after": error(logits / log_t.exp().detach()), "temperature": log_t.exp()}
