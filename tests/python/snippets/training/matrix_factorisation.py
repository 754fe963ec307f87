"""Ratings from two embeddings with biases; only known entries count."""

from fixed import noise


def run(torch):
    nn = torch.nn

    class Ratings(nn.Module):
        def __init__(self, users, items, width):
            super().__init__()
            self.user, self.item = nn.Embedding(users, width), nn.Embedding(items, width)
            self.user_bias, self.item_bias = nn.Embedding(users, 1), nn.Embedding(items, 1)
            for i, p in enumerate(self.parameters()):
                p.data = noise(torch, *p.shape, seed=i) * 0.3

        def forward(self, u, i):
            return (self.user(u) * self.item(i)).sum(-1) + (self.user_bias(u) + self.item_bias(i)).squeeze(-1)

    known = [(u, i) for u in range(6) for i in range(5) if (u * 3 + i * 2) % 4]
    u, i = torch.tensor(known).T
    rating = ((u * 7 + i * 3) % 5).float() - 2
    model = Ratings(6, 5, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, weight_decay=1e-3)
    losses = []
    for _ in range(10):
        loss = nn.functional.mse_loss(model(u, i), rating)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    full = model.user.weight @ model.item.weight.T + model.user_bias.weight + model.item_bias.weight.T
    return {"losses": torch.tensor(losses), "full": full, "known": len(known)}
