"""A linear-chain CRF: the partition function forwards, the best path by Viterbi, gradients as marginals."""

from fixed import noise


def run(torch):
    n, k = 5, 3
    emit, move = noise(torch, n, k).requires_grad_(), noise(torch, k, k, seed=2)
    alpha = emit[0]
    for t in range(1, n):
        alpha = torch.logsumexp(alpha[:, None] + move, 0) + emit[t]
    partition = alpha.logsumexp(0)
    partition.backward()
    score, back = emit.detach()[0], []
    for t in range(1, n):
        best, at = (score[:, None] + move).max(0)
        score = best + emit.detach()[t]
        back.append(at)
    path = [score.argmax().item()]
    for at in reversed(back):
        path.append(at[path[-1]].item())
    return {
        "partition": partition,
        "marginals": emit.grad,
        "sums": emit.grad.sum(1),
        "path": path[::-1],
        "score": score.max(),
    }
