"""A GAN whose critic has spectral norms of fixed vectors: three steps of both."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    sn = torch.nn.utils.parametrizations.spectral_norm
    G = settle(torch, nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 3)))
    D = settle(torch, nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1)))
    for layer in (D[0], D[2]):
        sn(layer, n_power_iterations=200)
    g = torch.optim.Adam(G.parameters(), lr=1e-2, betas=(0.5, 0.9))
    d = torch.optim.Adam(D.parameters(), lr=1e-2, betas=(0.5, 0.9))
    losses = []
    for step in range(3):
        real, z = noise(torch, 6, 3, seed=step) + 1, noise(torch, 6, 2, seed=step + 50)
        critic = torch.relu(1 - D(real)).mean() + torch.relu(1 + D(G(z).detach())).mean()
        d.zero_grad()
        critic.backward()
        d.step()
        cheat = -D(G(z)).mean()
        g.zero_grad()
        cheat.backward()
        g.step()
        losses += [critic.item(), cheat.item()]
    top = torch.linalg.matrix_norm(D[0].weight.detach(), 2)
    return {"losses": torch.tensor(losses), "top": (top - 1).abs() < 1e-2, "keys": sorted(D.state_dict())[:4]}
