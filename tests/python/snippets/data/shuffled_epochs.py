"""Shuffling with a generator: every sample once an epoch, other order, repeatable."""


def run(torch):
    DataLoader, TensorDataset = torch.utils.data.DataLoader, torch.utils.data.TensorDataset

    dataset = TensorDataset(torch.arange(17))

    def epochs(seed):
        generator = torch.Generator().manual_seed(seed)
        loader = DataLoader(dataset, batch_size=5, shuffle=True, generator=generator)
        return [torch.cat([x for (x,) in loader]) for _ in range(2)]

    first, second = epochs(3)
    again, _ = epochs(3)
    other, _ = epochs(4)
    return {
        "once_each": [torch.equal(e.sort().values, torch.arange(17)) for e in (first, second, other)],
        "repeatable": torch.equal(first, again),
        "differ": [torch.equal(first, second), torch.equal(first, other), torch.equal(first, torch.arange(17))],
        "kind": type(DataLoader(dataset, shuffle=True).sampler).__name__,
    }
