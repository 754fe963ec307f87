"""Cut pictures into patches as a vision transformer does, and put them together again."""

from fixed import noise


def run(torch):
    x = noise(torch, 2, 3, 8, 12)
    p = 4
    patches = x.unfold(2, p, p).unfold(3, p, p)
    tokens = patches.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)
    by_reshape = x.reshape(2, 3, 2, p, 3, p).permute(0, 2, 4, 1, 3, 5).reshape(2, 6, -1)
    folded = tokens.view(2, 2, 3, 3, p, p).permute(0, 3, 1, 4, 2, 5).reshape(2, 3, 8, 12)
    return {
        "shape": tokens.shape,
        "equal": torch.equal(tokens, by_reshape),
        "round_trip": torch.equal(folded, x),
        "means": tokens.mean(-1),
        "first": tokens[0, 0, :8],
    }
