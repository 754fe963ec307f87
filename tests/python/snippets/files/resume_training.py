"""A checkpoint of net, optimizer, scheduler and epoch; resumed training equals training without a stop."""

import os
import tempfile

from fixed import noise, settle


def run(torch):
    nn, F = torch.nn, torch.nn.functional
    x, y = noise(torch, 10, 4).double(), torch.arange(10) % 3

    def make():
        net = settle(torch, nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))).double()
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.02)
        return net, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

    def epoch(net, optimizer, scheduler):
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        return loss.item()

    straight = make()
    whole = [epoch(*straight) for _ in range(6)]
    net, optimizer, scheduler = make()
    losses = [epoch(net, optimizer, scheduler) for _ in range(3)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoint.pt")
        checkpoint = {
            "epoch": 3,
            "net": net.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
            "best": min(losses),
        }
        torch.save(checkpoint, path)
        loaded = torch.load(path, map_location="cpu")
    net, optimizer, scheduler = make()
    net.load_state_dict(loaded["net"])
    optimizer.load_state_dict(loaded["optimizer"])
    scheduler.load_state_dict(loaded["scheduler"])
    losses += [epoch(net, optimizer, scheduler) for _ in range(loaded["epoch"], 6)]
    return {
        "losses": torch.tensor(losses, dtype=torch.float64),
        "same": losses == whole,
        "best": loaded["best"],
        "keys": list(loaded),
    }
