"""Accuracy among the first k guesses, whole and by class."""

from fixed import noise


def run(torch):
    scores = noise(torch, 30, 6)
    target = (torch.arange(30) * 5) % 6
    _, guesses = scores.topk(3, dim=1, largest=True, sorted=True)
    hit = guesses.eq(target.view(-1, 1).expand_as(guesses))
    accuracy = [hit[:, :k].reshape(-1).float().sum() / len(target) * 100 for k in (1, 3)]
    by_class = torch.zeros(6).index_add_(0, target, hit[:, 0].float()) / torch.bincount(target)
    rank = (scores > scores.gather(1, target[:, None])).sum(1) + 1
    return {
        "accuracy": torch.stack(accuracy),
        "by_class": by_class,
        "reciprocal": (1 / rank).mean(),
        "guesses": guesses[:4],
    }
