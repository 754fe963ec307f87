"""A linear-chain model: the forward algorithm in log space, its gradient, the best path."""

from fixed import noise


def run(torch):
    labels = torch.tensor([0, 1, 1, 2, 0, 2])
    scores = noise(torch, 6, 3).double().requires_grad_()
    moves = noise(torch, 3, 3, seed=1).double().requires_grad_()

    def log_partition():
        alpha = scores[0]
        for step in scores[1:]:
            alpha = torch.logsumexp(alpha.unsqueeze(1) + moves, dim=0) + step
        return alpha.logsumexp(0)

    def path_score(path):
        return scores[torch.arange(6), path].sum() + moves[path[:-1], path[1:]].sum()

    losses = []
    for _ in range(10):
        loss = log_partition() - path_score(labels)
        ds, dm = torch.autograd.grad(loss, (scores, moves))
        with torch.no_grad():
            scores -= 0.3 * ds
            moves -= 0.3 * dm
        losses.append(loss.detach())
    with torch.no_grad():
        best, back = scores[0], []
        for step in scores[1:]:
            best, index = (best.unsqueeze(1) + moves).max(dim=0)
            best = best + step
            back.append(index)
        path = [best.argmax().item()]
        for index in reversed(back):
            path.append(index[path[-1]].item())
    return {"losses": torch.stack(losses), "path": path[::-1], "marginals": ds, "moves": moves}
