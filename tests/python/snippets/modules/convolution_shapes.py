"""Convolutions and pools with stride, padding, dilation and groups: shapes, values, receptive fields."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    x = noise(torch, 1, 4, 9, 9)
    layers = [
        nn.Conv2d(4, 2, 3),
        nn.Conv2d(4, 2, 3, stride=2, padding=1),
        nn.Conv2d(4, 4, (1, 5), padding="same", bias=False),
        nn.Conv2d(4, 8, 3, dilation=2, groups=4, padding=2),
        nn.Conv2d(4, 4, 3, padding=1, padding_mode="circular"),
        nn.MaxPool2d(3, stride=2, padding=1),
        nn.AvgPool2d(2, ceil_mode=True),
        nn.AdaptiveAvgPool2d((3, None)),
        nn.Conv2d(4, 3, 1),
    ]
    outs = [settle(torch, m)(x) for m in layers]
    line = settle(torch, nn.Conv1d(2, 3, 4, stride=3))(noise(torch, 2, 2, 13))
    return {
        "shapes": [list(o.shape) for o in outs],
        "sums": torch.stack([o.sum() for o in outs]),
        "corner": [o[0, 0, 0, :3] for o in outs],
        "line": line,
        "texts": [repr(m) for m in layers],
        "weights": [list(m.weight.shape) for m in layers if hasattr(m, "weight")],
    }
