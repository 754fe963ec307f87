"""An epoch over a permutation, minibatch after minibatch, by indexing."""


def run(torch):
    n, size = 23, 5
    x = torch.arange(n, dtype=torch.float32).unsqueeze(1) * torch.tensor([1.0, -1.0])
    order = torch.arange(n) * 10 % n
    assert order.sort().values.equal(torch.arange(n))
    sums, sizes = [], []
    for start in range(0, n, size):
        batch = x[order[start : start + size]]
        sums.append(batch.sum(0))
        sizes.append(batch.shape[0])
    drawn = torch.randperm(n)
    return {
        "sums": torch.stack(sums),
        "sizes": sizes,
        "split": [len(part) for part in order.split(size)],
        "permutation": torch.equal(drawn.sort().values, torch.arange(n)),
        "dtype": str(drawn.dtype),
    }
