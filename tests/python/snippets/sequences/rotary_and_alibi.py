"""Rotary position embedding, ALiBi slopes, relative position buckets."""

from fixed import noise


def run(torch):
    t, d = 5, 8
    x = noise(torch, 2, t, d)
    inverse = 1.0 / (10000 ** (torch.arange(0, d, 2).float() / d))
    angles = torch.outer(torch.arange(t).float(), inverse)
    cos, sin = angles.cos().repeat_interleave(2, -1), angles.sin().repeat_interleave(2, -1)
    half = torch.stack((-x[..., 1::2], x[..., ::2]), -1).reshape_as(x)
    rotated = x * cos + half * sin
    slopes = torch.pow(2.0, -8.0 * torch.arange(1, 5) / 4)
    distance = torch.arange(t)[None] - torch.arange(t)[:, None]
    bias = slopes[:, None, None] * distance.tril()
    buckets = torch.where(distance.abs() < 2, distance.abs(), 2 + (distance.abs().float() / 2).log2().long()).clamp(
        max=3
    )
    return {
        "rotated": rotated,
        "norm": (rotated.norm(dim=-1) - x.norm(dim=-1)).abs().max() < 1e-5,
        "bias": bias,
        "buckets": buckets,
    }
