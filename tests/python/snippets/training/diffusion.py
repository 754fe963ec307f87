"""Denoising diffusion of points: the noise schedule, training at fixed times, one sampling step."""

import math

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    steps = 10
    beta = torch.linspace(1e-3, 0.2, steps, dtype=torch.float64)
    alpha_bar = torch.cumprod(1 - beta, dim=0)

    class Denoiser(nn.Module):
        def __init__(self):
            super().__init__()
            self.time = nn.Embedding(steps, 4)
            self.net = nn.Sequential(nn.Linear(6, 16), nn.SiLU(), nn.Linear(16, 2))

        def forward(self, x, t):
            return self.net(torch.cat([x, self.time(t)], dim=-1))

    angle = torch.arange(16, dtype=torch.float64) * 2 * math.pi / 16
    x = torch.stack([angle.cos(), angle.sin()], dim=1)
    model = settle(torch, Denoiser()).double()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    losses = []
    for i in range(10):
        t, eps = (torch.arange(16) * 3 + i) % steps, noise(torch, 16, 2, seed=i).double()
        keep = alpha_bar[t].unsqueeze(1)
        noisy = keep.sqrt() * x + (1 - keep).sqrt() * eps
        loss = nn.functional.mse_loss(model(noisy, t), eps)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    t = torch.full((16,), steps - 1)
    with torch.no_grad():
        step = (noisy - beta[t, None] / (1 - alpha_bar[t, None]).sqrt() * model(noisy, t)) / (1 - beta[t, None]).sqrt()
    return {"losses": torch.stack(losses), "alpha_bar": alpha_bar, "step": step[:4]}
