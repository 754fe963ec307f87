"""A network pruned by magnitude, trained on, and made dense again."""

import importlib

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    prune = importlib.import_module(torch.__name__ + ".nn.utils.prune")
    net = settle(torch, nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)))
    prune.l1_unstructured(net[0], "weight", amount=0.5)
    prune.ln_structured(net[2], "weight", amount=2, n=2, dim=1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    x, losses = noise(torch, 8, 4), []
    for _ in range(5):
        loss = (net(x) - x[:, :2]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    keys = sorted(net.state_dict())
    zeros = [int((net[i].weight == 0).sum()) for i in (0, 2)]
    prune.remove(net[0], "weight")
    return {
        "losses": losses,
        "keys": keys,
        "zeros": zeros,
        "pruned": prune.is_pruned(net),
        "weight": net[0].weight,
        "mask": net[2].weight_mask,
        "after": sorted(net[0].state_dict()),
    }
