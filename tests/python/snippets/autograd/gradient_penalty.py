"""A penalty on the size of the gradient by the input, trained through: double backward in use."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    critic = settle(torch, nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))).double()
    real, fake = noise(torch, 6, 4, seed=1).double(), noise(torch, 6, 4, seed=2).double()
    mix = torch.linspace(0, 1, 6, dtype=torch.float64).unsqueeze(1)
    between = (mix * real + (1 - mix) * fake).requires_grad_(True)
    out = critic(between)
    (slope,) = torch.autograd.grad(out, between, torch.ones_like(out), create_graph=True)
    penalty = ((slope.norm(2, dim=1) - 1) ** 2).mean()
    loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
    loss.backward()
    return {"penalty": penalty, "loss": loss, "gradients": [p.grad for p in critic.parameters() if p.grad is not None]}
