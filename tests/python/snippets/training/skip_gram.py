"""Word vectors by skip-gram with negative samples from a fixed table."""

from fixed import noise


def run(torch):
    F = torch.nn.functional
    words = "a b c a b d a c b d c a".split()
    number = {w: i for i, w in enumerate(sorted(set(words)))}
    ids = [number[w] for w in words]
    pairs = [(ids[i], ids[j]) for i in range(len(ids)) for j in (i - 1, i + 1) if 0 <= j < len(ids)]
    centre, context = (torch.tensor(column) for column in zip(*pairs))
    negative = (centre[:, None] + torch.tensor([1, 2])) % len(number)
    inner, outer = torch.nn.Embedding(len(number), 3), torch.nn.Embedding(len(number), 3)
    with torch.no_grad():
        inner.weight.copy_(noise(torch, len(number), 3, seed=1))
        outer.weight.copy_(noise(torch, len(number), 3, seed=2))
    parameters = list(inner.parameters()) + list(outer.parameters())
    optimizer = torch.optim.Adagrad(parameters, lr=0.1)
    losses = []
    for _ in range(6):
        u = inner(centre)
        right = (u * outer(context)).sum(1)
        wrong = torch.bmm(outer(negative), u.unsqueeze(2)).squeeze(2)
        loss = -(F.logsigmoid(right) + F.logsigmoid(-wrong).sum(1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": torch.tensor(losses), "vectors": inner.weight, "pairs": len(pairs)}
