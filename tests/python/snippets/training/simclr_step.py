"""Contrastive training of an encoder over two views with a projection head."""

from fixed import noise, settle


def run(torch):
    nn, F = torch.nn, torch.nn.functional
    encoder = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU())
    projector = nn.Linear(8, 4)
    model = settle(torch, nn.Sequential(encoder, projector)).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x = noise(torch, 7, 6).double()
    losses = []
    for step in range(6):
        views = torch.cat([x + 0.1 * noise(torch, 7, 6, seed=10 + step).double(), x.roll(1, dims=1) * 0.5 + x * 0.5])
        z = F.normalize(model(views), dim=1)
        similarity = z @ z.t() / 0.5
        similarity = similarity.masked_fill(torch.eye(14, dtype=torch.bool), -1e9)
        target = torch.arange(14).roll(7)
        loss = F.cross_entropy(similarity, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return {"losses": torch.stack(losses), "target": target, "embedding": encoder.eval()(x)[:2]}
