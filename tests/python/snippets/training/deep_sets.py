"""Sets of different sizes: a net for elements, masked sum, a net for the sum."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    sizes = torch.tensor([2, 4, 1, 3, 4])
    x = noise(torch, 5, 4, 2).double()
    mask = (torch.arange(4)[None, :] < sizes[:, None]).double().unsqueeze(-1)
    target = (x.amax(-1, keepdim=True) * mask).sum(1)
    phi = settle(torch, nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 6))).double()
    rho = settle(torch, nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1)), seed=4).double()
    optimizer = torch.optim.Adam(list(phi.parameters()) + list(rho.parameters()), lr=0.02)

    def model(x):
        return rho((phi(x) * mask).sum(dim=1))

    losses = []
    for _ in range(15):
        loss = nn.functional.l1_loss(model(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    swapped = x.clone()
    swapped[1] = x[1, [3, 1, 0, 2]]
    return {"losses": torch.stack(losses), "invariant": torch.allclose(model(x), model(swapped)), "out": model(x)}
