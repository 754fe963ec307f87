"""A target network behind detach, as in Q-learning: its weights get no gradient."""

from fixed import noise, settle


def run(torch):
    nn, F = torch.nn, torch.nn.functional
    online, target = settle(torch, nn.Linear(4, 3)), settle(torch, nn.Linear(4, 3), seed=9)
    state, after = noise(torch, 5, 4, seed=1), noise(torch, 5, 4, seed=2)
    action = torch.tensor([0, 2, 1, 1, 0])
    reward, done = torch.tensor([1.0, 0, 0.5, -1, 2]), torch.tensor([0.0, 0, 1, 0, 1])
    q = online(state).gather(1, action.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        best = target(after).max(dim=1).values
        goal = reward + 0.9 * (1 - done) * best
    loss = F.smooth_l1_loss(q, goal)
    loss.backward()
    return {
        "loss": loss,
        "goal": goal,
        "gradient": online.weight.grad,
        "untouched": target.weight.grad is None,
        "same": torch.equal(goal, (reward + 0.9 * (1 - done) * target(after).amax(1)).detach()),
    }
