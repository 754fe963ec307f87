"""Context windows of words: pairs of centre and neighbour for skip-grams, made with views and masks."""


def run(torch):
    tokens = torch.tensor([3, 1, 4, 1, 5, 9, 2, 6])
    n, radius = len(tokens), 2
    offsets = torch.tensor([d for d in range(-radius, radius + 1) if d])
    position = torch.arange(n)[:, None] + offsets
    valid = (position >= 0) & (position < n)
    centre = tokens[:, None].expand_as(position)[valid]
    context = tokens[position.clamp(0, n - 1)][valid]
    together = torch.zeros(10, 10, dtype=torch.int32)
    together.index_put_((centre, context), torch.ones(len(centre), dtype=torch.int32), accumulate=True)
    return {
        "pairs": torch.stack([centre, context], dim=1),
        "together": together,
        "symmetric": torch.equal(together, together.T),
        "inputs": tokens.unfold(0, 4, 1)[:, :-1],
        "targets": tokens.unfold(0, 4, 1)[:, -1],
    }
