"""Masks of attention: lower triangle, a window, and both with the softmax over what is left."""

from fixed import noise


def run(torch):
    n = 6
    scores = noise(torch, 2, n, n)
    causal = torch.ones(n, n, dtype=torch.bool).tril()
    future = torch.triu(torch.full((n, n), float("-inf")), diagonal=1)
    i = torch.arange(n)
    window = (i[:, None] - i[None, :]).abs() <= 1
    local = causal & window
    masked = scores.masked_fill(~local, float("-inf")).softmax(-1)
    return {
        "additive": (scores + future).softmax(-1),
        "boolean": scores.masked_fill(causal.logical_not(), -1e9).softmax(-1),
        "window": masked,
        "allowed": local.sum(-1),
        "rows": masked.sum(-1),
        "entropy": torch.special.entr((scores + future).softmax(-1)).sum(-1),
    }
