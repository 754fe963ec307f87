"""cat, stack, split, chunk, unbind: taking apart and putting together."""


def run(torch):
    x = torch.arange(24.0).view(4, 6)
    q, k, v = x.chunk(3, dim=1)
    parts = x.split([1, 3], dim=0)
    uneven = torch.arange(10).split(4)
    stacked = torch.stack([q, k, v], dim=1)
    return {
        "stacked": stacked,
        "sizes": [list(p.shape) for p in parts],
        "uneven": [len(p) for p in uneven],
        "again": torch.equal(torch.cat([q, k, v], dim=1), x),
        "rows": torch.vstack([parts[1], parts[0]]),
        "columns": torch.hstack([v, q])[0],
        "averaged": sum(stacked.unbind(1)) / 3,
        "mixed": torch.cat([torch.ones(2), torch.zeros(2, dtype=torch.int64)]),
        "rolled": x.roll(1, dims=0)[0],
        "swapped": x.view(4, 2, 3).movedim(2, 0).shape,
    }
