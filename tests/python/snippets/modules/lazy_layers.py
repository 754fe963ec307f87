"""Lazy layers learn their input size from the first batch."""

from fixed import noise


def run(torch):
    nn = torch.nn
    net = nn.Sequential(nn.LazyConv2d(4, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(2))
    before = repr(net)
    lazy = isinstance(net[3].weight, nn.parameter.UninitializedParameter)
    out = net(noise(torch, 2, 3, 5, 5))
    return {
        "before": before,
        "lazy": lazy,
        "after": repr(net),
        "shape": out.shape,
        "weights": [list(p.shape) for p in net.parameters()],
        "kind": [type(m).__name__ for m in net],
    }
