"""Layer, group, instance-like, RMS and batch norm over one input, each against its formula."""

from fixed import noise


def run(torch):
    nn = torch.nn
    x = noise(torch, 2, 4, 3, 3)
    layer = nn.LayerNorm([4, 3, 3])(x)
    group = nn.GroupNorm(2, 4)(x)
    each = nn.GroupNorm(4, 4, affine=False)(x)
    rms = nn.RMSNorm(3, eps=1e-6)(x)
    batch = nn.BatchNorm2d(4, affine=False, track_running_stats=False)(x)
    centred = x - x.mean((2, 3), keepdim=True)
    by_hand = centred / (x.var((2, 3), unbiased=False, keepdim=True) + 1e-5).sqrt()
    return {
        "layer": layer[0, 0],
        "group": group[0, 1],
        "each": torch.allclose(each, by_hand, atol=1e-5),
        "rms": rms[1],
        "batch": batch[:, 2],
        "texts": [repr(nn.LayerNorm(4)), repr(nn.GroupNorm(2, 4)), repr(nn.BatchNorm2d(4)), repr(nn.RMSNorm(3))],
        "moments": [layer.mean(), layer.var(unbiased=False)],
    }
