"""Four ways to repeat: expand without memory, repeat, tile, repeat_interleave."""


def run(torch):
    x = torch.tensor([[1, 2, 3]])
    expanded = x.expand(3, -1)
    per_item = torch.tensor([2, 0, 3])
    return {
        "expanded": expanded,
        "strides": expanded.stride(),
        "repeat": x.repeat(2, 2),
        "tile": torch.tile(x, (2,)),
        "interleave": x.repeat_interleave(2, dim=1),
        "by_count": torch.repeat_interleave(torch.arange(3), per_item),
        "expand_as": torch.tensor([[5], [6]]).expand_as(torch.zeros(2, 4)),
        "broadcast": [list(t.shape) for t in torch.broadcast_tensors(torch.zeros(3, 1), torch.zeros(1, 4))],
        "to": torch.broadcast_to(torch.tensor(7), (2, 2)),
    }
