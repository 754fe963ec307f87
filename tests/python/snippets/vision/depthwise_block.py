"""An inverted bottleneck: grouped convolutions, batch norm, squeeze and excitation, stochastic input."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn

    class SqueezeExcite(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.fc1, self.fc2 = nn.Conv2d(c, c // 4, 1), nn.Conv2d(c // 4, c, 1)

        def forward(self, x):
            s = x.mean((2, 3), keepdim=True)
            return x * torch.sigmoid(self.fc2(nn.functional.silu(self.fc1(s))))

    class Block(nn.Module):
        def __init__(self, c, expand=2):
            super().__init__()
            h = c * expand
            self.body = nn.Sequential(
                nn.Conv2d(c, h, 1, bias=False),
                nn.BatchNorm2d(h),
                nn.Hardswish(),
                nn.Conv2d(h, h, 3, padding=1, groups=h, bias=False),
                nn.BatchNorm2d(h),
                nn.Hardswish(),
                SqueezeExcite(h),
                nn.Conv2d(h, c, 1, bias=False),
                nn.BatchNorm2d(c),
            )

        def forward(self, x):
            return x + self.body(x)

    net = settle(torch, nn.Sequential(Block(4), Block(4)))
    x = noise(torch, 2, 4, 6, 6).requires_grad_()
    y = net(x)
    y.mean().backward()
    net.eval()
    return {
        "y": y,
        "gradient": x.grad,
        "eval": net(x).sum(),
        "count": sum(p.numel() for p in net.parameters()),
        "text": str(net[0].body[3]),
        "names": [n for n, _ in net.named_buffers()][:3],
    }
