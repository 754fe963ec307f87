"""A normalising flow of affine couplings: log determinant, likelihood, inverse."""

import math

from fixed import noise, settle


def run(torch):
    nn = torch.nn

    class Coupling(nn.Module):
        def __init__(self, flip):
            super().__init__()
            self.flip = flip
            self.net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 2))

        def forward(self, x, inverse=False):
            a, b = x.chunk(2, 1)[:: -1 if self.flip else 1]
            scale, shift = self.net(a).chunk(2, 1)
            scale = torch.tanh(scale)
            b = (b - shift) * torch.exp(-scale) if inverse else b * torch.exp(scale) + shift
            return torch.cat([b, a] if self.flip else [a, b], 1), scale.squeeze(1)

    flow = settle(torch, nn.ModuleList(Coupling(i % 2 == 1) for i in range(3))).double()
    x = noise(torch, 20, 2).double() * torch.tensor([2.0, 0.5], dtype=torch.float64) + 1
    optimizer = torch.optim.Adam(flow.parameters(), lr=0.02)
    losses = []
    for _ in range(15):
        z, log_det = x, 0
        for layer in flow:
            z, step = layer(z)
            log_det = log_det + step
        loss = (0.5 * z.pow(2).sum(1) + math.log(2 * math.pi) - log_det).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    with torch.no_grad():
        z = x
        for layer in flow:
            z, _ = layer(z)
        for layer in reversed(flow):
            z, _ = layer(z, inverse=True)
    return {"losses": torch.stack(losses), "inverted": (z - x).abs().max().item() < 1e-9}
