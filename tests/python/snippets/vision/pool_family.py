"""Pooling: with indices, adaptive, fractional sizes of ceil_mode, unpooling, by norm."""

from fixed import noise


def run(torch):
    F = torch.nn.functional
    x = noise(torch, 2, 3, 7, 7)
    pooled, indices = F.max_pool2d(x, 2, return_indices=True)
    return {
        "max": pooled,
        "indices": indices,
        "back": F.max_unpool2d(pooled, indices, 2, output_size=(7, 7)),
        "ceil": F.avg_pool2d(x, 3, 2, padding=1, ceil_mode=True, count_include_pad=False),
        "divisor": F.avg_pool2d(x, 2, divisor_override=3),
        "adaptive": F.adaptive_avg_pool2d(x, (3, None)).shape,
        "adaptive_max": F.adaptive_max_pool2d(x, 2),
        "lp": F.lp_pool2d(x, 2.0, 2),
        "global": torch.nn.AdaptiveAvgPool2d(1)(x).flatten(1),
        "1d": F.avg_pool1d(x[0], 3, 1),
        "3d": F.max_pool3d(x[None], 2, stride=1).sum(),
    }
