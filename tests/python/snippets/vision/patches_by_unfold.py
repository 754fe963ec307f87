"""Convolution as a matrix product over unfolded patches, and folding them back."""

from fixed import noise


def run(torch):
    F = torch.nn.functional
    x, w = noise(torch, 2, 3, 6, 6), noise(torch, 4, 3, 3, 3, seed=1)
    columns = F.unfold(x, 3, padding=1, stride=2)
    y = (w.flatten(1) @ columns).view(2, 4, 3, 3)
    count = F.fold(F.unfold(torch.ones_like(x), 3), (6, 6), 3)
    return {
        "columns": columns.shape,
        "agrees": (y - F.conv2d(x, w, padding=1, stride=2)).abs().max() < 1e-5,
        "fold": F.fold(columns, (6, 6), 3, padding=1, stride=2),
        "count": count[0, 0],
        "shuffle": F.pixel_shuffle(noise(torch, 1, 8, 2, 2), 2),
        "unshuffle": F.pixel_unshuffle(x, 2).shape,
        "channel_shuffle": F.channel_shuffle(noise(torch, 1, 4, 1, 2), 2).flatten(),
    }
