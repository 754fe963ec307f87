"""Logistic regression on two features, full batch, written without a module."""

from fixed import noise


def run(torch):
    x = noise(torch, 60, 2).double()
    y = (x @ torch.tensor([2.0, -1.0], dtype=torch.float64) + 0.3 > 0).double()
    w = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    b = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([w, b], lr=1.0)
    losses = []
    for _ in range(50):
        probability = torch.sigmoid(x @ w + b)
        loss = -(y * probability.log() + (1 - y) * (1 - probability).log()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        accuracy = ((x @ w + b > 0) == (y > 0.5)).double().mean()
    return {"losses": torch.tensor(losses, dtype=torch.float64), "w": w, "b": b, "accuracy": accuracy}
