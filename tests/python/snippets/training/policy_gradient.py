"""REINFORCE on a bandit of three arms with a baseline; actions come from a fixed table."""


def run(torch):
    logits = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    pay = torch.tensor([0.1, 0.9, 0.4], dtype=torch.float64)
    optimizer = torch.optim.SGD([logits], lr=0.5)
    draws = (torch.arange(80) * 37 % 101).double() / 101
    baseline, chosen = 0.0, []
    for u in draws:
        probabilities = logits.softmax(0)
        action = int((probabilities.detach().cumsum(0) < u).sum())
        reward = pay[action].item()
        entropy = -(probabilities * probabilities.log()).sum()
        loss = -probabilities[action].log() * (reward - baseline) - 0.01 * entropy
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        baseline += 0.1 * (reward - baseline)
        chosen.append(action)
    return {"policy": logits.softmax(0), "last": torch.tensor(chosen[-20:]).bincount(minlength=3), "baseline": baseline}
