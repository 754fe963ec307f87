"""One head of attention written out learns to copy the item that a query points at."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn

    class Head(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(width, width, bias=False) for _ in range(3))

        def forward(self, query, items):
            scores = self.q(query) @ self.k(items).transpose(-2, -1) / items.size(-1) ** 0.5
            weights = scores.softmax(-1)
            return weights @ self.v(items), weights

    items = noise(torch, 4, 5, 6).double()
    pick = torch.tensor([0, 3, 2, 4])
    target = items[torch.arange(4), pick].unsqueeze(1)
    head = settle(torch, Head(6)).double()
    optimizer = torch.optim.Adam(head.parameters(), lr=0.05)
    losses = []
    for _ in range(25):
        out, weights = head(target + 0.1, items)
        loss = (out - target).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return {"losses": torch.stack(losses)[::4], "weights": weights.squeeze(1), "pick": weights.argmax(-1).flatten()}
