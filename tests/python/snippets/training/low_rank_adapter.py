"""LoRA: a frozen layer with a trained low-rank addition, merged afterwards."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn

    class LoRA(nn.Module):
        def __init__(self, base, r=2, alpha=4.0):
            super().__init__()
            self.base, self.scale = base.requires_grad_(False), alpha / r
            self.A = nn.Parameter(noise(torch, r, base.in_features))
            self.B = nn.Parameter(torch.zeros(base.out_features, r))

        def forward(self, x):
            return self.base(x) + self.scale * (x @ self.A.T @ self.B.T)

        @torch.no_grad()
        def merge(self):
            self.base.weight += self.scale * self.B @ self.A
            return self.base

    net = nn.Sequential(settle(torch, nn.Linear(4, 6)), nn.GELU(), settle(torch, nn.Linear(6, 2), seed=3))
    for name, child in list(net.named_children()):
        if isinstance(child, nn.Linear):
            setattr(net, name, LoRA(child))
    trained = [n for n, p in net.named_parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=5e-2)
    x = noise(torch, 8, 4, seed=9)
    for _ in range(3):
        loss = nn.functional.mse_loss(net(x), x[:, :2])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    before = net(x).detach()
    for name, child in list(net.named_children()):
        if isinstance(child, LoRA):
            setattr(net, name, child.merge())
    return {
        "trained": trained,
        "loss": loss.item(),
        "same": torch.allclose(net(x), before, atol=1e-5),
        "text": str(net),
    }
