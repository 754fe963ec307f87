"""Rewards to discounted returns, by a loop and by a reversed cumulative sum."""


def run(torch):
    rewards = torch.tensor([1.0, 0.0, -2.0, 3.0, 0.5], dtype=torch.float64)
    gamma = 0.9
    looped = torch.zeros_like(rewards)
    running = 0.0
    for t in reversed(range(len(rewards))):
        running = rewards[t] + gamma * running
        looped[t] = running
    powers = gamma ** torch.arange(len(rewards), dtype=torch.float64)
    summed = (rewards * powers).flip(0).cumsum(0).flip(0) / powers
    advantage = (summed - summed.mean()) / summed.std()
    return {
        "returns": looped,
        "same": torch.allclose(looped, summed),
        "advantage": advantage,
        "best_so_far": rewards.cummax(0).values,
        "growth": (1 + rewards / 10).cumprod(0),
        "total": running,
    }
