"""Stop and go on: an optimizer restored from its state takes the same steps."""

import copy

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    x, y = noise(torch, 6, 3).double(), noise(torch, 6, 1, seed=1).double()

    def steps(net, optimizer, n):
        for _ in range(n):
            optimizer.zero_grad()
            nn.functional.mse_loss(net(x), y).backward()
            optimizer.step()

    net = settle(torch, nn.Linear(3, 1)).double()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    steps(net, optimizer, 4)
    saved, weights = copy.deepcopy(optimizer.state_dict()), copy.deepcopy(net.state_dict())
    steps(net, optimizer, 4)
    other = nn.Linear(3, 1).double()
    other.load_state_dict(weights)
    resumed = torch.optim.Adam(other.parameters(), lr=1.0)
    resumed.load_state_dict(saved)
    steps(other, resumed, 4)
    return {
        "weight": net.weight,
        "same": torch.equal(net.weight, other.weight) and torch.equal(net.bias, other.bias),
        "keys": sorted(saved),
        "indices": saved["param_groups"][0]["params"],
        "entry": sorted(saved["state"][0]),
        "step": float(saved["state"][0]["step"]),
        "average": saved["state"][1]["exp_avg"],
        "lr": resumed.param_groups[0]["lr"],
        "state_of": resumed.state[other.weight]["exp_avg_sq"],
    }
