"""A Q-network with a replay of fixed transitions, a target network and Huber loss."""

from fixed import noise, settle


def run(torch):
    import copy

    nn = torch.nn
    online = settle(torch, nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2)))
    target = copy.deepcopy(online).requires_grad_(False)
    optimizer = torch.optim.RMSprop(online.parameters(), lr=1e-2)
    state, following = noise(torch, 6, 3), noise(torch, 6, 3, seed=1)
    action, reward = torch.tensor([0, 1, 1, 0, 1, 0]), noise(torch, 6, seed=2)
    done = torch.tensor([0, 0, 1, 0, 1, 0], dtype=torch.bool)
    losses = []
    for step in range(4):
        q = online(state).gather(1, action[:, None])[:, 0]
        with torch.no_grad():
            best = online(following).argmax(1, keepdim=True)
            goal = reward + 0.9 * target(following).gather(1, best)[:, 0].masked_fill(done, 0)
        loss = nn.functional.smooth_l1_loss(q, goal)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(online.parameters(), 1.0)
        optimizer.step()
        for p, t in zip(online.parameters(), target.parameters()):
            t.lerp_(p, 0.05)
        losses.append(loss.item())
    return {"losses": losses, "q": q, "target": target[0].bias}
