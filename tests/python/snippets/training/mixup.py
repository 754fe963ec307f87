"""Mixup of samples and labels with fixed shares; soft cross entropy; float32."""

from fixed import noise, settle


def run(torch):
    nn, F = torch.nn, torch.nn.functional
    x, y = noise(torch, 12, 4), torch.arange(12) % 3
    net = settle(torch, nn.Sequential(nn.Linear(4, 8), nn.SiLU(), nn.Linear(8, 3)))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.2)
    losses = []
    for share in (0.9, 0.6, 0.75, 0.5):
        other = torch.arange(12).flip(0)
        mixed = share * x + (1 - share) * x[other]
        labels = share * F.one_hot(y, 3) + (1 - share) * F.one_hot(y[other], 3)
        out = net(mixed)
        loss = F.cross_entropy(out, labels)
        same = share * F.cross_entropy(out, y) + (1 - share) * F.cross_entropy(out, y[other])
        assert torch.allclose(loss, same, atol=1e-6)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    cut = x.clone()
    cut[:, 1:3] = x[other, 1:3]
    return {"losses": torch.stack(losses), "labels": labels, "labels_dtype": str(labels.dtype), "cut": cut[0]}
