"""Layers derived from layers, mixins, properties, methods other than forward."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn

    class Counted:
        def count(self):
            return sum(p.numel() for p in self.parameters())

    class CausalConv(nn.Conv1d):
        def __init__(self, channels, kernel):
            super().__init__(channels, channels, kernel)

        def forward(self, x):
            return super().forward(nn.functional.pad(x, (self.kernel_size[0] - 1, 0)))

    class Net(Counted, nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = CausalConv(2, 3)

        @property
        def width(self):
            return self.conv.in_channels

        def embed(self, x):
            return self.conv(x).mean(-1)

        def forward(self, x, *, scale=1.0):
            return self.embed(x) * scale

    net = settle(torch, Net())
    x = noise(torch, 1, 2, 6)
    changed = x.clone()
    changed[..., -1] += 1
    return {
        "out": net(x),
        "scaled": net(x, scale=2.0),
        "causal": torch.equal(net.conv(x)[..., :-1], net.conv(changed)[..., :-1]),
        "width": net.width,
        "count": net.count(),
        "kind": isinstance(net.conv, nn.Conv1d),
        "text": repr(net),
    }
