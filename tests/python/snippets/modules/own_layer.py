"""A layer of one's own with a parameter, a buffer and extra_repr; names, shapes, printing."""

from fixed import noise


def run(torch):
    nn = torch.nn

    class Scale(nn.Module):
        def __init__(self, width, eps=1e-5):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(width))
            self.register_buffer("calls", torch.zeros((), dtype=torch.long))
            self.register_buffer("scratch", torch.zeros(2), persistent=False)
            self.eps = eps

        def forward(self, x):
            self.calls += 1
            return x * self.weight / (x.norm(dim=-1, keepdim=True) + self.eps)

        def extra_repr(self):
            return f"{self.weight.numel()}, eps={self.eps}"

    layer = Scale(4)
    net = nn.Sequential(nn.Linear(3, 4), layer)
    with torch.no_grad():
        net[0].weight.copy_(noise(torch, 4, 3))
        net[0].bias.zero_()
    out = net(noise(torch, 2, 3, seed=5))
    net(torch.zeros(1, 3))
    return {
        "out": out,
        "calls": layer.calls,
        "parameters": [(name, list(p.shape)) for name, p in net.named_parameters()],
        "buffers": [name for name, _ in net.named_buffers()],
        "state": list(net.state_dict()),
        "text": repr(net),
        "count": sum(p.numel() for p in net.parameters()),
    }
